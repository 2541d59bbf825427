//! A connection in a simulation: its two endpoints, and the messages that are in its byte streams.

use std::collections::VecDeque;

use super::agent::{End, FlowId};
use super::label::{Label, Phase};
use super::time::{Time, NEVER};
use crate::transport::quic::{self, StreamId};
use crate::transport::{self as tcp, Segment, TcpStatistics};

/// What a connection runs over, with the settings of both ends.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    Tcp { server: &'a tcp::TcpConfig, client: &'a tcp::TcpConfig },
    Quic(&'a quic::QuicConfig),
}

/// What endpoints send during a call.
#[derive(Debug, Default)]
pub struct Outgoing {
    pub segments: Vec<Segment>,
    pub packets: Vec<quic::Packet>,
}

/// One end of a connection over either transport.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // as many as connections, and looked at for every packet
pub enum Endpoint {
    Tcp(tcp::Endpoint),
    Quic(quic::Endpoint),
}

/// Calls the same method of either endpoint.
macro_rules! either {
    ($self:expr, $end:ident => $call:expr) => {
        match $self {
            Endpoint::Tcp($end) => $call,
            Endpoint::Quic($end) => $call,
        }
    };
}

impl Endpoint {
    pub fn connect(&mut self, now: Time, out: &mut Outgoing) {
        match self {
            Self::Tcp(end) => end.connect(now, &mut out.segments),
            Self::Quic(end) => end.connect(now, &mut out.packets),
        }
    }

    pub fn listen(&mut self) {
        either!(self, end => end.listen());
    }

    /// TCP has one stream only.
    pub fn write(&mut self, now: Time, stream: StreamId, bytes: u64, out: &mut Outgoing) -> u64 {
        match self {
            Self::Tcp(end) => end.write(now, bytes, &mut out.segments),
            Self::Quic(end) => end.write(now, stream, bytes, &mut out.packets),
        }
    }

    pub fn read(&mut self, now: Time, bytes: u64, out: &mut Outgoing) {
        match self {
            Self::Tcp(end) => end.read(now, bytes, &mut out.segments),
            Self::Quic(end) => end.read(now, bytes, &mut out.packets),
        }
    }

    pub fn close(&mut self, now: Time, out: &mut Outgoing) {
        match self {
            Self::Tcp(end) => end.close(now, &mut out.segments),
            Self::Quic(end) => end.close(now, &mut out.packets),
        }
    }

    pub fn on_timer(&mut self, now: Time, out: &mut Outgoing) {
        match self {
            Self::Tcp(end) => end.on_timer(now, &mut out.segments),
            Self::Quic(end) => end.on_timer(now, &mut out.packets),
        }
    }

    pub fn next_timer(&self) -> Option<Time> {
        either!(self, end => end.next_timer())
    }

    pub fn is_established(&self) -> bool {
        either!(self, end => end.is_established())
    }

    pub fn space_bytes(&self) -> u64 {
        either!(self, end => end.space_bytes())
    }

    pub fn received_bytes(&self) -> u64 {
        either!(self, end => end.received_bytes())
    }

    pub fn statistics(&self) -> TcpStatistics {
        either!(self, end => end.statistics())
    }
}

/// What one end has written into a stream: where each message ends in it.
#[derive(Debug, Default)]
pub struct Written {
    stream: StreamId,
    pub bytes: u64,
    /// End of each message that the other end has not got yet, with its tag.
    pub messages: VecDeque<(u64, u64)>,
    /// End of each message that is not acknowledged yet, with its label.
    labels: VecDeque<(u64, Label)>,
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
    /// By streams, in their order.
    written: Vec<Written>,
    /// A message was refused for lack of space: the agent wants to hear when there is some.
    pub refused: bool,
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
    fn new(endpoint: Endpoint, send_buffer_bytes: u64) -> Self {
        Self {
            endpoint,
            written: Vec::new(),
            refused: false,
            send_buffer_bytes,
            armed_at: NEVER,
            told_connected: false,
            received_bytes: 0,
            held: false,
        }
    }

    fn place(&self, stream: StreamId) -> Result<usize, usize> {
        match self.written.last() {
            Some(last) if last.stream == stream => Ok(self.written.len() - 1),
            _ => self.written.binary_search_by_key(&stream, |written| written.stream),
        }
    }

    /// What was written into a stream.
    pub fn written(&self, stream: StreamId) -> Option<&Written> {
        self.place(stream).ok().map(|place| &self.written[place])
    }

    pub fn written_mut(&mut self, stream: StreamId) -> &mut Written {
        let place = self.place(stream).unwrap_or_else(|place| {
            self.written.insert(place, Written { stream, ..Written::default() });
            place
        });
        &mut self.written[place]
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
    pub fn new(flow: FlowId, agent: u32, transport: Transport) -> Self {
        let (server, client) = match transport {
            Transport::Tcp { server, client } => {
                let side = |config: &tcp::TcpConfig| {
                    let endpoint = tcp::Endpoint::new(config);
                    Side::new(Endpoint::Tcp(endpoint), config.send_buffer_bytes)
                };
                (side(server), side(client))
            }
            Transport::Quic(config) => {
                let side = || {
                    let endpoint = quic::Endpoint::new(config);
                    Side::new(Endpoint::Quic(endpoint), config.send_buffer_bytes)
                };
                (side(), side())
            }
        };
        Self { flow, agent, label: Label::of(Phase::Playout), aborted: false, server, client }
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
