//! What server and player say to each other in datagrams.

/// Set in the tag of a media packet that is sent again.
pub const RESENT: u64 = 1 << 63;

/// What the server remembers of a packet, and the player reads from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaPacket {
    pub payload_bytes: u32,
    pub level: i16,
    /// Media payload rate of what it is part of, bit/s.
    pub encoding_bps: f64,
    /// Frames of video in a second of that.
    pub frames_per_s: f64,
    /// Where in the clip it ends, s.
    pub end_s: f64,
}

/// Regular word of the player.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// First sendings that came since the report before, and those that were passed over.
    pub received: u32,
    pub lost: u32,
    /// All media payload that came in that time.
    pub bytes: u64,
    pub interval_s: f64,
    pub playhead_s: f64,
    pub playing: bool,
    /// Largest rate of the train, IP bit/s.
    pub link_bps: Option<f64>,
}

impl Report {
    /// Share of the first sendings that was lost.
    pub fn loss(&self) -> f64 {
        f64::from(self.lost) / f64::from((self.received + self.lost).max(1))
    }

    /// Whether playback has begun.
    pub fn has_begun(&self) -> bool {
        self.playing || self.playhead_s > 0.0
    }

    /// Media payload that came, bit/s.
    pub fn goodput_bps(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.interval_s.max(1e-3)
    }
}

/// A datagram of the player.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Feedback {
    Report(Report),
    /// Packets from one number up to, but without, another did not come.
    Missing {
        from: u32,
        to: u32,
    },
}

impl Feedback {
    /// Payload of a report (counters, times, the estimate) and of a request for packets.
    pub fn payload_bytes(self) -> u32 {
        match self {
            Self::Report(_) => 48,
            Self::Missing { .. } => 16,
        }
    }
}
