//! What a source says about a packet for the packet table; the path never reads it.

/// Phase of the source, in the order of the packet table's dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    Silence,
    Probe,
    Buffering,
    Playout,
    Rebuffering,
    Thinned,
    AudioOnly,
    Signalling,
    End,
}

/// What a flow carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Media {
    Audio,
    Video,
    Mixed,
    Control,
    Bulk,
    Unknown,
}

impl Phase {
    /// All of them, in their order.
    pub const ALL: [Self; 9] = [
        Self::Silence,
        Self::Probe,
        Self::Buffering,
        Self::Playout,
        Self::Rebuffering,
        Self::Thinned,
        Self::AudioOnly,
        Self::Signalling,
        Self::End,
    ];
}

impl Media {
    /// Whether packets of such a flow to the client count as media packets.
    pub fn is_media(self) -> bool {
        matches!(self, Self::Audio | Self::Video | Self::Mixed)
    }
}

/// RTP header fields (RFC 3550).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtp {
    pub sequence: u16,
    pub timestamp: u32,
    pub marker: bool,
}

/// Facts of a packet that end up in columns of the packet table.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    pub phase: Phase,
    /// Index into the session's ladder; negative where there is none.
    pub level: i16,
    pub retransmission: bool,
    pub rtp: Option<Rtp>,
}

impl Label {
    /// A packet of this phase, without level and RTP header.
    pub fn of(phase: Phase) -> Self {
        Self { phase, level: -1, retransmission: false, rtp: None }
    }
}
