//! What RealPlayer 8 and its server say on the control connection (CCZ-S5).

use crate::source::rtsp::{self, ControlMessage};

pub type Control = rtsp::Control<Message>;

/// What the player tells the server while media comes over TCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    pub playhead_s: f64,
    pub playing: bool,
    /// Level that the player wants.
    pub level: usize,
}

/// What is said on the control connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message {
    Describe,
    Description,
    SetUp,
    SetUpDone,
    Play { level: usize },
    Playing,
    Status(Status),
}

impl ControlMessage for Message {
    /// RealPlayer's requests carry its identity and challenge, the description the streams.
    fn bytes(self) -> u32 {
        match self {
            Self::Describe => 480,
            Self::Description => 1400,
            Self::SetUp => 420,
            Self::SetUpDone => 300,
            Self::Play { .. } => 260,
            Self::Playing => 320,
            Self::Status(_) => 90,
        }
    }
}
