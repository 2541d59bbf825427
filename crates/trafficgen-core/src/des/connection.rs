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

/// Where messages end in a stream, with a value of each, in their order. The first one is looked at
/// for every packet, and lies where it needs no pointer.
#[derive(Debug)]
struct Ends<T> {
    first: Option<(u64, T)>,
    later: VecDeque<(u64, T)>,
}

impl<T> Default for Ends<T> {
    fn default() -> Self {
        Self { first: None, later: VecDeque::new() }
    }
}

impl<T: Copy> Ends<T> {
    fn push(&mut self, end: u64, value: T) {
        match self.first {
            None => self.first = Some((end, value)),
            Some(_) => self.later.push_back((end, value)),
        }
    }

    /// Take the first one away where it ends at `offset` or before.
    fn take_first(&mut self, offset: u64) -> Option<T> {
        let (_, value) = self.first.filter(|(end, _)| *end <= offset)?;
        self.first = self.later.pop_front();
        Some(value)
    }

    /// That of the message that holds the byte at `offset`.
    fn at(&self, offset: u64) -> Option<T> {
        match self.first {
            Some((end, value)) if end > offset => Some(value),
            _ => {
                let index = self.later.partition_point(|(end, _)| *end <= offset);
                self.later.get(index).map(|(_, value)| *value)
            }
        }
    }
}

/// What one end has written into a stream: where each message ends in it.
#[derive(Debug, Default)]
pub struct Written {
    stream: StreamId,
    pub bytes: u64,
    /// Tags of messages that the other end has not got yet.
    tags: Ends<u64>,
    /// Labels of messages that are not acknowledged yet.
    labels: Ends<Label>,
}

impl Written {
    pub fn add(&mut self, bytes: u64, message: Option<(u64, Label)>) {
        self.bytes += bytes;
        if let Some((tag, label)) = message {
            self.tags.push(self.bytes, tag);
            self.labels.push(self.bytes, label);
        }
    }

    /// Label of the message that holds the byte at `offset`.
    pub fn label_at(&self, offset: u64) -> Option<Label> {
        self.labels.at(offset)
    }

    /// Forget labels below `offset`.
    pub fn acknowledged(&mut self, offset: u64) {
        while self.labels.take_first(offset).is_some() {}
    }

    /// Tag of the next message that is whole where all below `offset` has come.
    pub fn next_whole(&mut self, offset: u64) -> Option<u64> {
        self.tags.take_first(offset)
    }
}

/// One end of a connection.
#[derive(Debug)]
pub struct Side {
    pub endpoint: Endpoint,
    /// In the last stream, which is that of most packets; TCP has no other.
    last: Written,
    /// In earlier streams, in their order.
    earlier: Vec<Written>,
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
            last: Written::default(),
            earlier: Vec::new(),
            refused: false,
            send_buffer_bytes,
            armed_at: NEVER,
            told_connected: false,
            received_bytes: 0,
            held: false,
        }
    }

    /// What was written into a stream.
    pub fn written(&mut self, stream: StreamId) -> &mut Written {
        if stream == self.last.stream {
            return &mut self.last;
        }
        if stream > self.last.stream {
            let last = Written { stream, ..Written::default() };
            self.earlier.push(std::mem::replace(&mut self.last, last));
            return &mut self.last;
        }
        let place = self.earlier.binary_search_by_key(&stream, |written| written.stream);
        let place = place.unwrap_or_else(|place| {
            self.earlier.insert(place, Written { stream, ..Written::default() });
            place
        });
        &mut self.earlier[place]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn label(level: i16) -> Label {
        Label { level, ..Label::of(Phase::Playout) }
    }

    #[test]
    fn bytes_have_the_label_of_their_message_until_it_is_acknowledged() {
        let mut written = Written::default();
        (0..3).for_each(|number| written.add(100, Some((number, label(number as i16)))));
        written.add(50, None);
        let levels = |written: &Written| {
            [0, 99, 100, 250, 300].map(|offset| written.label_at(offset).map(|one| one.level))
        };
        assert_eq!(levels(&written), [Some(0), Some(0), Some(1), Some(2), None]);
        written.acknowledged(199);
        assert_eq!(levels(&written), [Some(1), Some(1), Some(1), Some(2), None]);
        written.acknowledged(300);
        assert_eq!(levels(&written), [None; 5]);
    }

    #[test]
    fn a_message_is_whole_once_and_in_its_turn() {
        let mut written = Written::default();
        (7..10).for_each(|tag| written.add(100, Some((tag, label(0)))));
        assert_eq!(written.next_whole(99), None);
        assert_eq!(written.next_whole(250), Some(7));
        assert_eq!(written.next_whole(250), Some(8));
        assert_eq!(written.next_whole(250), None);
        assert_eq!(written.next_whole(300), Some(9));
        assert_eq!(written.next_whole(300), None);
    }

    #[test]
    fn streams_are_apart_in_whatever_order_they_are_written() {
        let config = tcp::TcpConfig::default();
        let mut side = Side::new(Endpoint::Tcp(tcp::Endpoint::new(&config)), 0);
        let streams = [0, 8, 4, 8, 0, 12, 4, 2];
        streams
            .into_iter()
            .for_each(|stream| side.written(stream).add(u64::from(stream) + 1, None));
        let bytes = [0, 2, 4, 8, 12].map(|stream| side.written(stream).bytes);
        assert_eq!(bytes, [2, 3, 10, 18, 13]);
    }
}
