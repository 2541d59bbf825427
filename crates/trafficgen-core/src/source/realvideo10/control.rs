//! What RealPlayer 10 and the Helix server say on the control connection.

use crate::source::rtsp::{self, ControlMessage};

pub type Control = rtsp::Control<Message>;

/// What is said on the control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    Describe,
    Description,
    SetUp,
    SetUpDone,
    Play,
    Playing,
    /// The server has sent the last packet.
    EndOfStream,
}

impl ControlMessage for Message {
    /// The requests carry the player's identity and challenge, the description the streams.
    fn bytes(self) -> u32 {
        match self {
            Self::Describe => 480,
            Self::Description => 1400,
            Self::SetUp => 420,
            Self::SetUpDone | Self::Playing => 300,
            Self::Play => 260,
            Self::EndOfStream => 180,
        }
    }
}
