//! The RTSP control connection (CCZ-S5): requests and answers as messages of usual sizes.

use super::parameters::Parameters;
use crate::des::{ConnectionId, End, FlowSpec, Io, Label, Media, Phase};

/// RTSP of RealServer.
const SERVER_PORT: u16 = 554;
const CLIENT_PORT: u16 = 40_000;

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

impl Message {
    /// Bytes of the message: RealPlayer's requests carry its identity and challenge, the description the streams.
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

#[derive(Debug, Default)]
pub struct Control {
    pub connection: ConnectionId,
    /// What was said; a message's tag is its index.
    said: Vec<Message>,
}

impl Control {
    pub fn open(&mut self, io: &mut Io, parameters: &Parameters) {
        let spec = FlowSpec::new("control", Media::Control, SERVER_PORT, CLIENT_PORT);
        self.connection = io.open_tcp(spec, &parameters.server_tcp, &parameters.client_tcp);
    }

    pub fn say(&mut self, io: &mut Io, from: End, message: Message) {
        let tag = self.said.len() as u64;
        // A full send buffer means that nothing gets through: what is said now would be of no use when it does.
        if io.write(self.connection, from, message.bytes(), tag, Label::of(Phase::Signalling)) {
            self.said.push(message);
        }
    }

    /// The message that has arrived.
    pub fn heard(&self, tag: u64) -> Option<Message> {
        self.said.get(tag as usize).copied()
    }
}
