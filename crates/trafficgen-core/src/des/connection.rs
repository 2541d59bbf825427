//! A TCP connection in a simulation: its two endpoints, and the messages that are in its byte
//! streams.

use std::collections::VecDeque;

use super::agent::{End, FlowId};
use super::label::{Label, Phase};
use super::time::{Time, NEVER};
use crate::transport::{Endpoint, TcpConfig};

/// What one end has written: where each message ends in the stream.
#[derive(Debug, Default)]
pub struct Written {
    pub bytes: u64,
    /// End of each message that the other end has not got yet, with its tag.
    pub messages: VecDeque<(u64, u64)>,
    /// End of each message that is not acknowledged yet, with its label.
    labels: VecDeque<(u64, Label)>,
    /// A message was refused for lack of space: the agent wants to hear when there is some.
    pub refused: bool,
}

impl Written {
    pub fn add(&mut self, bytes: u64, message: Option<(u64, Label)>) {
        self.bytes += bytes;
        if let Some((tag, label)) = message {
            self.messages.push_back((self.bytes, tag));
            self.labels.push_back((self.bytes, label));
        }
    }

    /// Label of the message that holds the byte at `offset`.
    pub fn label_at(&self, offset: u64) -> Option<Label> {
        let index = self.labels.partition_point(|(end, _)| *end <= offset);
        self.labels.get(index).map(|(_, label)| *label)
    }

    /// Whether all written bytes are bulk data.
    pub fn is_unlabelled(&self) -> bool {
        self.labels.is_empty()
    }

    /// Forget labels below `offset`.
    pub fn acknowledged(&mut self, offset: u64) {
        while self.labels.front().is_some_and(|(end, _)| *end <= offset) {
            self.labels.pop_front();
        }
    }
}

/// One end of a connection.
#[derive(Debug)]
pub struct Side {
    pub endpoint: Endpoint,
    pub written: Written,
    pub send_buffer_bytes: u64,
    /// When the next timer event of this end is due; [`NEVER`]: none is.
    pub armed_at: Time,
    pub told_connected: bool,
    /// In-order bytes that were seen before.
    pub received_bytes: u64,
    /// The application does not read.
    pub held: bool,
}

impl Side {
    fn new(config: &TcpConfig) -> Self {
        Self {
            endpoint: Endpoint::new(config),
            written: Written::default(),
            send_buffer_bytes: config.send_buffer_bytes,
            armed_at: NEVER,
            told_connected: false,
            received_bytes: 0,
            held: false,
        }
    }
}

#[derive(Debug)]
pub struct Connection {
    pub flow: FlowId,
    pub agent: u32,
    /// Label of bytes that belong to no message.
    pub label: Label,
    /// Neither end sends any more.
    pub aborted: bool,
    server: Side,
    client: Side,
}

impl Connection {
    pub fn new(flow: FlowId, agent: u32, server: &TcpConfig, client: &TcpConfig) -> Self {
        Self {
            flow,
            agent,
            label: Label::of(Phase::Playout),
            aborted: false,
            server: Side::new(server),
            client: Side::new(client),
        }
    }

    pub fn side(&self, end: End) -> &Side {
        match end {
            End::Server => &self.server,
            End::Client => &self.client,
        }
    }

    pub fn side_mut(&mut self, end: End) -> &mut Side {
        match end {
            End::Server => &mut self.server,
            End::Client => &mut self.client,
        }
    }
}
