//! One end of a QUIC connection.

use super::super::{TcpStatistics, Time};
use super::packet::Packet;
use super::receiver::Receiver;
use super::sender::Sender;
use super::{QuicConfig, StreamId};
use crate::transport::receiver::NEVER;

/// What a client says first, and what ends its part of the handshake (RFC 8446, typical sizes).
const CLIENT_HELLO_BYTES: u32 = 300;
const FINISHED_BYTES: u32 = 52;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Listen,
    Shaking,
    /// Data may flow; with 0-RTT the handshake may go on beside it.
    Established,
}

/// One end of a QUIC connection.
///
/// Everything that is to be sent is appended to the `out` of a call, in order.
#[derive(Debug)]
pub struct Endpoint {
    state: State,
    is_client: bool,
    config: QuicConfig,
    sender: Sender,
    receiver: Receiver,
    statistics: TcpStatistics,
    /// Its part of the handshake was sent, and the handshake is over.
    has_answered: bool,
    is_confirmed: bool,
    closing: bool,
}

impl Endpoint {
    /// A closed end; `connect` or `listen` comes next.
    #[must_use]
    pub fn new(config: &QuicConfig) -> Self {
        Self {
            state: State::Closed,
            is_client: false,
            config: *config,
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            statistics: TcpStatistics::default(),
            has_answered: false,
            is_confirmed: false,
            closing: false,
        }
    }

    /// Opens actively: sends the first packet.
    pub fn connect(&mut self, now: Time, out: &mut Vec<Packet>) {
        if self.state != State::Closed {
            return;
        }
        self.is_client = true;
        self.state = State::Shaking;
        self.sender.write_handshake(CLIENT_HELLO_BYTES);
        self.send(now, out);
        if self.config.zero_rtt {
            self.establish();
        }
    }

    /// Opens passively: waits for a client.
    pub fn listen(&mut self) {
        if self.state == State::Closed {
            self.state = State::Listen;
        }
    }

    fn establish(&mut self) {
        self.state = State::Established;
        self.sender.open();
    }

    /// Takes a packet of the other end; what is to be sent in answer is appended to `out`.
    pub fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Vec<Packet>) {
        if self.state == State::Closed {
            return;
        }
        if packet.closes {
            self.state = State::Closed;
            return;
        }
        self.receiver.accept(now, packet);
        if let Some(ack) = &packet.ack {
            self.sender.acknowledge(now, ack, &mut self.receiver, &mut self.statistics);
        }
        self.sender.raise_credit(packet.most_data);
        if !self.is_confirmed {
            self.shake_hands();
        }
        self.send(now, out);
    }

    /// Goes on with the handshake as far as that of the other end has come.
    fn shake_hands(&mut self) {
        let came = self.receiver.handshake_bytes();
        if self.is_client {
            if came < u64::from(self.config.server_handshake_bytes) {
                return;
            }
            self.sender.write_handshake(FINISHED_BYTES);
            self.confirm();
            return;
        }
        if came >= u64::from(CLIENT_HELLO_BYTES) && !self.has_answered {
            self.has_answered = true;
            self.state = State::Shaking;
            self.sender.write_handshake(self.config.server_handshake_bytes);
            if self.config.zero_rtt {
                self.establish();
            }
        }
        if came >= u64::from(CLIENT_HELLO_BYTES + FINISHED_BYTES) {
            self.confirm();
        }
    }

    fn confirm(&mut self) {
        self.is_confirmed = true;
        self.sender.end_handshake();
        self.establish();
    }

    fn send(&mut self, now: Time, out: &mut Vec<Packet>) {
        if matches!(self.state, State::Closed | State::Listen) {
            return;
        }
        let Self { sender, receiver, statistics, .. } = self;
        sender.transmit(now, receiver, statistics, out);
        if self.closing && self.sender.streams.outstanding_bytes() == 0 {
            self.sender.send_close(now, &mut self.receiver, &mut self.statistics, out);
            self.state = State::Closed;
        }
    }

    /// To be called when `next_timer` has come; harmless earlier.
    pub fn on_timer(&mut self, now: Time, out: &mut Vec<Packet>) {
        if matches!(self.state, State::Closed | State::Listen) {
            return;
        }
        self.receiver.on_timer(now);
        if !self.sender.on_timer(now, &mut self.receiver, &mut self.statistics) {
            self.state = State::Closed;
        }
        self.send(now, out);
    }

    /// When `on_timer` wants to be called.
    #[must_use]
    pub fn next_timer(&self) -> Option<Time> {
        let next = match self.state {
            State::Closed | State::Listen => NEVER,
            State::Shaking | State::Established => self.sender.timer().min(self.receiver.timer()),
        };
        (next != NEVER).then_some(next)
    }

    /// Appends what fits of `bytes` to a stream: the bytes accepted. They wait for the handshake if
    /// need be.
    pub fn write(&mut self, now: Time, stream: StreamId, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        let accepted = if self.closing { 0 } else { self.sender.write(stream, bytes) };
        self.send(now, out);
        accepted
    }

    /// Free space of the send buffer: its size less what is unacknowledged or unsent.
    #[must_use]
    pub fn space_bytes(&self) -> u64 {
        self.sender.space_bytes()
    }

    /// Bytes of all streams that have arrived, each in its order.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        self.receiver.arrived_bytes()
    }

    /// A stream that has moved on since this was asked, and up to where it has arrived in order.
    pub fn next_advanced(&mut self) -> Option<(StreamId, u64)> {
        self.receiver.next_advanced()
    }

    /// Up to where the other end has a stream in order.
    #[must_use]
    pub fn acknowledged(&self, stream: StreamId) -> u64 {
        self.sender.streams.acknowledged(stream)
    }

    /// The application takes up to `bytes` of what has arrived, so that more may come.
    pub fn read(&mut self, now: Time, bytes: u64, out: &mut Vec<Packet>) {
        if self.receiver.read(bytes) {
            self.send(now, out);
        }
    }

    /// No more data: the connection is closed when all that was written has arrived.
    pub fn close(&mut self, now: Time, out: &mut Vec<Packet>) {
        if self.state == State::Listen {
            self.state = State::Closed;
        }
        self.closing = true;
        self.send(now, out);
    }

    /// Whether data may be sent.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    #[must_use]
    pub fn statistics(&self) -> TcpStatistics {
        let mut statistics = self.statistics;
        self.sender.report(&mut statistics);
        statistics
    }
}
