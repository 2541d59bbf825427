//! One end of a TCP connection.

use super::outbox::Outbox;
use super::receiver::{Receiver, NEVER};
use super::sender::Sender;
use super::{flag, SackBlocks, Segment, TcpConfig, TcpStatistics, Time, Timestamps};

/// SYNs that are repeated before a connection is given up; tcp_syn_retries of Linux.
const SYN_REPETITIONS: u32 = 6;
const TIMESTAMPS_BYTES: u32 = 12;
const BLOCKS_BESIDE_TIMESTAMPS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    /// Data may flow; FINs are the business of sender and receiver.
    Established,
}

/// One end of a full-duplex TCP connection.
///
/// Everything that is to be sent is appended to the `out` of a call, in order. Not modelled:
/// simultaneous open, urgent data, path MTU changes, TIME-WAIT (a closed end still acknowledges
/// what comes late).
#[derive(Debug)]
pub struct Endpoint {
    state: State,
    sender: Sender,
    receiver: Receiver,
    statistics: TcpStatistics,
    wants_sack: bool,
    /// Offered before the handshake, agreed after it.
    timestamps: bool,
    /// Offered before the handshake, agreed after it.
    ecn: bool,
    /// Of the first SYN; it doubles.
    syn_timeout_ns: Time,
    syn_timer: Time,
    syn_repetitions: u32,
    syn_sent: Time,
}

impl Endpoint {
    /// A closed end; `connect` or `listen` comes next.
    #[must_use]
    pub fn new(config: &TcpConfig) -> Self {
        let options = if config.timestamps { TIMESTAMPS_BYTES } else { 0 };
        let mss = u64::from(config.mss_bytes.saturating_sub(options).max(1));
        Self {
            state: State::Closed,
            sender: Sender::new(config, mss),
            receiver: Receiver::new(config, mss),
            statistics: TcpStatistics::default(),
            wants_sack: config.sack,
            timestamps: config.timestamps,
            ecn: false,
            syn_timeout_ns: config.initial_rto_ns,
            syn_timer: NEVER,
            syn_repetitions: 0,
            syn_sent: 0,
        }
    }

    /// Offers explicit congestion notification (RFC 3168) in the handshake that is to come.
    pub fn offer_ecn(&mut self) {
        self.ecn = true;
    }

    /// Opens actively: sends the SYN.
    pub fn connect(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.state == State::Closed {
            self.state = State::SynSent;
            self.send_syn(now, out);
        }
    }

    /// Opens passively: waits for a SYN.
    pub fn listen(&mut self) {
        if self.state == State::Closed {
            self.state = State::Listen;
        }
    }

    /// Takes a segment of the other end; what is to be sent in answer is appended to `out`.
    pub fn on_segment(&mut self, now: Time, segment: &Segment, out: &mut Vec<Segment>) {
        if segment.has(flag::RST) {
            self.give_up();
            return;
        }
        match self.state {
            State::Closed => return,
            State::Listen => {
                if segment.has(flag::SYN) {
                    self.take_options(segment);
                    self.state = State::SynReceived;
                    self.send_syn(now, out);
                }
                return;
            }
            State::SynSent => {
                if !segment.has(flag::SYN | flag::ACK) {
                    return;
                }
                self.take_options(segment);
                self.establish(now, segment);
                self.receiver.request_ack();
            }
            State::SynReceived => {
                if segment.has(flag::SYN) {
                    self.send_syn(now, out); // our answer was lost
                    return;
                }
                if !segment.has(flag::ACK) {
                    return;
                }
                self.establish(now, segment);
            }
            State::Established => {}
        }
        self.exchange(now, segment, out);
    }

    fn exchange(&mut self, now: Time, segment: &Segment, out: &mut Vec<Segment>) {
        if segment.has(flag::SYN) {
            self.receiver.request_ack();
        } else {
            self.receiver.note_timestamp(segment);
        }
        if segment.has(flag::ACK) && !self.sender.acknowledge(now, segment, &mut self.statistics) {
            self.receiver.request_ack();
        }
        if self.ecn && !segment.has(flag::SYN) {
            self.receiver.note_marks(segment);
            if segment.has(flag::ECE) {
                self.sender.hear_of_congestion();
            }
        }
        if segment.payload_bytes > 0 || segment.has(flag::FIN) {
            self.receiver.accept(now, segment, self.sender.timeout_ns());
        }
        self.send(now, out);
    }

    /// Sends what may be sent, and an acknowledgement if none of it carried one that is due.
    fn send(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.state != State::Established {
            return;
        }
        let (sender, mut outbox) = self.split(now, out);
        sender.transmit(&mut outbox);
        outbox.acknowledge(sender.next_offset());
    }

    fn split<'a>(
        &'a mut self,
        now: Time,
        out: &'a mut Vec<Segment>,
    ) -> (&'a mut Sender, Outbox<'a>) {
        let Self { sender, receiver, statistics, timestamps, .. } = self;
        (sender, Outbox { now, receiver, statistics, timestamps: *timestamps, out })
    }

    fn send_syn(&mut self, now: Time, out: &mut Vec<Segment>) {
        let answers = self.state == State::SynReceived;
        let mut segment = Segment { flags: flag::SYN, ..Segment::default() };
        segment.retransmission = self.syn_timer != NEVER;
        self.receiver.acknowledge(&mut segment);
        if answers {
            segment.flags |= flag::ACK;
        }
        if self.ecn {
            // RFC 3168 6.1.1: an answer has ECE alone
            segment.flags |= if answers { flag::ECE } else { flag::ECE | flag::CWR };
        }
        if self.timestamps {
            segment.timestamps = Some(Timestamps { value: now, echo: self.receiver.echo() });
        }
        segment.sack.permitted = self.wants_sack;
        segment.measure_header();
        self.statistics.segments_sent += 1;
        self.statistics.retransmissions += u64::from(segment.retransmission);
        if self.syn_timer == NEVER {
            self.syn_sent = now;
        }
        self.syn_timer = now + (self.syn_timeout_ns << self.syn_repetitions);
        out.push(segment);
    }

    fn take_options(&mut self, syn: &Segment) {
        self.timestamps &= syn.timestamps.is_some();
        self.wants_sack &= syn.sack.permitted;
        self.ecn &= syn.has(flag::ECE);
        self.receiver.note_timestamp(syn);
    }

    fn establish(&mut self, now: Time, segment: &Segment) {
        self.state = State::Established;
        self.syn_timer = NEVER;
        let round_trip_ns = (self.syn_repetitions == 0).then_some(now - self.syn_sent);
        self.sender.open(
            now,
            self.wants_sack,
            self.timestamps,
            round_trip_ns,
            segment.window_bytes,
        );
        let blocks = if self.timestamps { BLOCKS_BESIDE_TIMESTAMPS } else { SackBlocks::MAXIMUM };
        self.receiver.allow_sack_blocks(if self.wants_sack { blocks } else { 0 });
    }

    fn give_up(&mut self) {
        self.state = State::Closed;
        self.syn_timer = NEVER;
    }

    /// To be called when `next_timer` has come; harmless earlier.
    pub fn on_timer(&mut self, now: Time, out: &mut Vec<Segment>) {
        if now >= self.syn_timer {
            if self.syn_repetitions >= SYN_REPETITIONS {
                self.give_up();
            } else {
                self.syn_repetitions += 1;
                self.send_syn(now, out);
            }
        }
        if self.state != State::Established {
            return;
        }
        let (sender, mut outbox) = self.split(now, out);
        sender.on_timer(&mut outbox);
        outbox.receiver.on_timer(now);
        outbox.acknowledge(sender.next_offset());
        if self.sender.gave_up() {
            self.give_up();
        }
    }

    /// When `on_timer` wants to be called.
    #[must_use]
    pub fn next_timer(&self) -> Option<Time> {
        let next = match self.state {
            State::Closed | State::Listen => NEVER,
            State::SynSent | State::SynReceived => self.syn_timer,
            State::Established => self.sender.timer().min(self.receiver.timer()),
        };
        (next != NEVER).then_some(next)
    }

    /// Appends what fits of `bytes` to the send buffer: the bytes accepted. They wait for the
    /// handshake if need be.
    pub fn write(&mut self, now: Time, bytes: u64, out: &mut Vec<Segment>) -> u64 {
        let accepted = self.sender.write(bytes);
        self.send(now, out);
        accepted
    }

    /// Free space of the send buffer: its size less what is unacknowledged or unsent.
    #[must_use]
    pub fn space_bytes(&self) -> u64 {
        self.sender.space_bytes()
    }

    /// In-order stream bytes that have arrived, read or not.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        self.receiver.received_bytes()
    }

    /// The application takes up to `bytes` of what has arrived, which opens the window.
    pub fn read(&mut self, now: Time, bytes: u64, out: &mut Vec<Segment>) {
        if self.receiver.read(bytes) && self.state == State::Established {
            self.receiver.request_ack();
            let (sender, mut outbox) = self.split(now, out);
            outbox.acknowledge(sender.next_offset());
        }
    }

    /// No more data: a FIN follows what is queued. Before anything is established there is nothing
    /// to end.
    pub fn close(&mut self, now: Time, out: &mut Vec<Segment>) {
        match self.state {
            State::Listen | State::Closed => self.give_up(),
            _ => {
                self.sender.close();
                self.send(now, out);
            }
        }
    }

    /// Drops the connection at once; the other end is told by a RST.
    pub fn abort(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.state == State::Established {
            let (sender, mut outbox) = self.split(now, out);
            outbox.send(sender.next_offset(), 0, flag::RST, false);
        }
        self.give_up();
    }

    /// Whether the handshake is over and the connection was not reset or given up.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether the other end has sent its FIN, and everything before it has arrived.
    #[must_use]
    pub fn peer_has_closed(&self) -> bool {
        self.receiver.has_ended()
    }

    /// Both directions have ended, or the connection was given up, reset or never opened.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed || self.sender.has_ended() && self.receiver.has_ended()
    }

    #[must_use]
    pub fn statistics(&self) -> TcpStatistics {
        let mut statistics = self.statistics;
        self.sender.report(&mut statistics);
        statistics
    }
}
