//! An RTSP control connection: requests and answers as messages of usual sizes.

use crate::des::{ConnectionId, End, FlowSpec, Io, Label, Media, Phase};
use crate::transport::TcpConfig;

/// Of RTSP (RFC 2326 1.3).
const SERVER_PORT: u16 = 554;
const CLIENT_PORT: u16 = 40_000;

/// Something that is said on a control connection.
pub trait ControlMessage: Copy {
    /// Bytes of the message.
    fn bytes(self) -> u32;
}

#[derive(Debug)]
pub struct Control<M> {
    pub connection: ConnectionId,
    /// What was said; a message's tag is its index.
    said: Vec<M>,
}

impl<M> Default for Control<M> {
    fn default() -> Self {
        Self { connection: ConnectionId::default(), said: Vec::new() }
    }
}

impl<M: ControlMessage> Control<M> {
    pub fn open(&mut self, io: &mut Io, server: &TcpConfig, client: &TcpConfig) {
        let spec = FlowSpec::new("control", Media::Control, SERVER_PORT, CLIENT_PORT);
        self.connection = io.open_tcp(spec, server, client);
    }

    pub fn say(&mut self, io: &mut Io, from: End, message: M) {
        let tag = self.said.len() as u64;
        // A full send buffer means that nothing gets through: what is said now would be of no use
        // when it does.
        if io.write(self.connection, from, message.bytes(), tag, Label::of(Phase::Signalling)) {
            self.said.push(message);
        }
    }

    /// The message that has arrived.
    pub fn heard(&self, tag: u64) -> Option<M> {
        self.said.get(tag as usize).copied()
    }
}
