//! The RTSP control connection: requests and answers as messages of usual sizes.

use super::parameters::Parameters;
use crate::des::{ConnectionId, End, FlowSpec, Io, Label, Media, Phase};

/// RTSP of the Helix server.
const SERVER_PORT: u16 = 554;
const CLIENT_PORT: u16 = 40_000;

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

const MESSAGES: [Message; 7] = [
    Message::Describe,
    Message::Description,
    Message::SetUp,
    Message::SetUpDone,
    Message::Play,
    Message::Playing,
    Message::EndOfStream,
];

impl Message {
    /// Bytes of the message: the requests carry the player's identity and challenge, the description the streams.
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

#[derive(Debug, Default)]
pub struct Control {
    connection: ConnectionId,
}

impl Control {
    pub fn open(&mut self, io: &mut Io, parameters: &Parameters) {
        let spec = FlowSpec::new("control", Media::Control, SERVER_PORT, CLIENT_PORT);
        self.connection = io.open_tcp(spec, &parameters.server_tcp, &parameters.client_tcp);
    }

    /// The messages of a whole session fit the send buffer, so that none is refused.
    pub fn say(&self, io: &mut Io, from: End, message: Message) {
        io.write(self.connection, from, message.bytes(), message as u64, Label::of(Phase::Signalling));
    }

    /// The message that has arrived.
    pub fn heard(tag: u64) -> Option<Message> {
        MESSAGES.get(tag as usize).copied()
    }
}
