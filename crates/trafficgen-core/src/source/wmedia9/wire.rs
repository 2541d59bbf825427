//! What is written into packets and messages; a packet's tag is its number here.

/// Streams of a session: audio, video, and the low levels that are sent along.
pub const STREAMS: usize = 3;
pub const AUDIO: usize = 0;
pub const VIDEO: usize = 1;
pub const ALONG: usize = 2;

/// Tags of the packet pair begin here; those of media packets are below.
pub const PROBE_TAG: u64 = 1 << 63;

/// Control messages, by their tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Message {
    Describe,
    Description,
    /// SETUP, and the SET_PARAMETER that asks for the packet pair.
    Setup,
    SetupReply,
    Play,
    PlayReply,
    BufferFull,
    EndOfStream,
    Teardown,
}

impl Message {
    const ALL: [(Self, u32); 9] = [
        (Self::Describe, 350),
        (Self::Description, 1400),
        (Self::Setup, 700),
        (Self::SetupReply, 450),
        (Self::Play, 500),
        (Self::PlayReply, 400),
        (Self::BufferFull, 250),
        (Self::EndOfStream, 250),
        (Self::Teardown, 200),
    ];

    pub fn tag(self) -> u64 {
        self as u64
    }

    pub fn from_tag(tag: u64) -> Option<Self> {
        Self::ALL.get(tag as usize).map(|(message, _)| *message)
    }

    /// Size: that of such RTSP messages with their headers (RFC 2326).
    pub fn bytes(self) -> u32 {
        Self::ALL[self as usize].1
    }
}

/// What the player asks for in its PLAY.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayRequest {
    pub level: usize,
    /// Sending rate / playing rate while buffering.
    pub multiple: f64,
    pub accelerated: bool,
    /// Rate of low levels that are sent along while buffering, bit/s.
    pub along_bps: f64,
    /// Estimate of the packet pair.
    pub capacity_bps: Option<f64>,
}

/// Header of a media packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    pub stream: usize,
    pub sequence: usize,
    /// Media payload, without the RTP header.
    pub payload_bytes: u32,
    /// Playing time up to which the stream has been sent with this packet, s.
    pub position_s: f64,
    /// Playing time that its bytes stand for, s: those of all streams add up to the clip.
    pub media_s: f64,
    pub encoding_bps: f64,
    pub frames_per_s: f64,
}

/// A receiver report: packets asked for (a range of [`Wire::asked`]), and the loss once it is
/// known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    pub first: usize,
    pub end: usize,
    /// Median of the one-second losses of first sendings in the seconds of the verdict.
    pub loss: Option<f64>,
}

/// Contents of everything that was sent.
#[derive(Debug, Default)]
pub struct Wire {
    pub packets: Vec<Header>,
    pub reports: Vec<Report>,
    /// Stream and sequence number.
    pub asked: Vec<(usize, usize)>,
    pub play: Option<PlayRequest>,
}
