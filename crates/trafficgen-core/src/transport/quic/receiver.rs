//! What has arrived: packets, to be acknowledged, and streams, each in its own order.

use super::super::ranges::Ranges;
use super::super::receiver::NEVER;
use super::super::Time;
use super::packet::{Ack, Packet, StreamFrame};
use super::{QuicConfig, StreamId, CRYPTO};

/// Ranges of packet numbers that are remembered; what lies below them counts as known (RFC 9000
/// 13.2.3).
const MOST_RANGES: usize = 32;

#[derive(Debug, Default)]
struct ReceiveStream {
    id: StreamId,
    /// Up to where it has arrived in order.
    next: u64,
    beyond: Ranges,
}

impl ReceiveStream {
    /// Takes a stretch; the bytes by which the stream has moved on.
    fn accept(&mut self, frame: &StreamFrame) -> u64 {
        let before = self.next;
        if frame.offset > self.next {
            self.beyond.insert(frame.offset, frame.end());
        } else if frame.end() > self.next {
            self.next = self.beyond.advance(frame.end());
        }
        self.next - before
    }
}

#[derive(Debug)]
pub(super) struct Receiver {
    numbers: Ranges,
    /// Numbers below are known, arrived or not.
    known_below: u64,
    largest_at: Time,
    /// Packets that came with a mark, and without.
    marked: u32,
    unmarked: u32,
    ack_every_packets: u32,
    ack_delay_ns: Time,
    /// Packets that want an acknowledgement and have none.
    unacknowledged: u32,
    has_news: bool,
    ack_due: bool,
    timer: Time,
    streams: Vec<ReceiveStream>,
    /// Streams that have moved on since the application looked.
    advanced: Vec<StreamId>,
    handshake_bytes: u64,
    /// Bytes in order of all streams, those that the application took, and what may come in all.
    arrived_bytes: u64,
    read_bytes: u64,
    limit_bytes: u64,
    buffer_bytes: u64,
}

impl Receiver {
    pub fn new(config: &QuicConfig) -> Self {
        Self {
            numbers: Ranges::default(),
            known_below: 0,
            largest_at: 0,
            marked: 0,
            unmarked: 0,
            ack_every_packets: config.ack_every_packets,
            ack_delay_ns: config.ack_delay_ns,
            unacknowledged: 0,
            has_news: false,
            ack_due: false,
            timer: NEVER,
            streams: Vec::new(),
            advanced: Vec::new(),
            handshake_bytes: 0,
            arrived_bytes: 0,
            read_bytes: 0,
            limit_bytes: config.receive_buffer_bytes,
            buffer_bytes: config.receive_buffer_bytes,
        }
    }

    pub fn timer(&self) -> Time {
        self.timer
    }

    pub fn arrived_bytes(&self) -> u64 {
        self.arrived_bytes
    }

    pub fn handshake_bytes(&self) -> u64 {
        self.handshake_bytes
    }

    /// Takes a packet; false where it is known already.
    pub fn accept(&mut self, now: Time, packet: &Packet) -> bool {
        let number = packet.number;
        if number < self.known_below || self.numbers.containing(number).is_some() {
            return false;
        }
        let expected = self.numbers.highest_end().unwrap_or(self.known_below);
        self.numbers.insert(number, number + 1);
        if number >= expected {
            self.largest_at = now;
        }
        while self.numbers.count() > MOST_RANGES {
            let lowest = self.numbers.first().map_or(0, |range| range.1);
            self.forget_below(lowest);
        }
        self.has_news = true;
        // RFC 9000 13.2.1: a mark is acknowledged at once.
        self.ack_due |= packet.marked;
        let count = if packet.marked { &mut self.marked } else { &mut self.unmarked };
        *count = count.saturating_add(1);
        if packet.is_eliciting {
            self.unacknowledged += 1;
            let is_handshake = packet.frames().iter().any(StreamFrame::is_crypto);
            // Out of order: at once (RFC 9000 13.2.1).
            if self.unacknowledged >= self.ack_every_packets || number != expected || is_handshake {
                self.ack_due = true;
            } else if self.timer == NEVER {
                self.timer = now + self.ack_delay_ns;
            }
        }
        packet.frames().iter().for_each(|frame| self.take_frame(frame));
        true
    }

    fn take_frame(&mut self, frame: &StreamFrame) {
        let id = frame.stream;
        let place = match self.streams.last() {
            Some(last) if last.id == id => Ok(self.streams.len() - 1),
            _ => self.streams.binary_search_by_key(&id, |stream| stream.id),
        };
        let place = place.unwrap_or_else(|place| {
            self.streams.insert(place, ReceiveStream { id, ..ReceiveStream::default() });
            place
        });
        let fresh = self.streams[place].accept(frame);
        if fresh == 0 {
            return;
        }
        if id == CRYPTO {
            self.handshake_bytes += fresh;
            return;
        }
        self.arrived_bytes += fresh;
        if self.advanced.last() != Some(&id) {
            self.advanced.push(id);
        }
    }

    /// A stream that has moved on since the application looked, and up to where it is in order.
    pub fn next_advanced(&mut self) -> Option<(StreamId, u64)> {
        let id = self.advanced.pop()?;
        let place = self.streams.binary_search_by_key(&id, |stream| stream.id).ok()?;
        Some((id, self.streams[place].next))
    }

    /// The application takes `bytes`; whether the other end should hear that more may come.
    pub fn read(&mut self, bytes: u64) -> bool {
        self.read_bytes = self.arrived_bytes.min(self.read_bytes.saturating_add(bytes));
        self.wants_to_raise()
    }

    /// Whether what may come is to be raised: half the buffer was read.
    pub fn wants_to_raise(&self) -> bool {
        self.read_bytes + self.buffer_bytes >= self.limit_bytes + self.buffer_bytes.div_ceil(2)
    }

    /// What may come in all, which the other end is about to hear.
    pub fn raise(&mut self) -> u64 {
        self.limit_bytes = self.read_bytes + self.buffer_bytes;
        self.limit_bytes
    }

    /// The last word on what may come got lost.
    pub fn raise_again(&mut self) {
        self.limit_bytes = self.limit_bytes.saturating_sub(self.buffer_bytes.div_ceil(2));
    }

    /// The delay of a held-back acknowledgement may be over.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.timer {
            self.timer = NEVER;
            self.ack_due = true;
        }
    }

    /// Whether an acknowledgement must go out although no data carries it.
    pub fn wants_ack(&self) -> bool {
        self.ack_due
    }

    /// The acknowledgement of what is new, if there is any.
    pub fn ack(&self, now: Time) -> Option<Ack> {
        let ranges = self.numbers.descending();
        let mut ack = self.has_news.then(|| Ack::new(ranges, now - self.largest_at)).flatten()?;
        (ack.marked, ack.unmarked) = (self.marked, self.unmarked);
        Some(ack)
    }

    /// The acknowledgement leaves.
    pub fn note_acknowledged(&mut self) {
        self.has_news = false;
        self.ack_due = false;
        self.unacknowledged = 0;
        self.timer = NEVER;
    }

    /// The other end knows of all packets below `number` (RFC 9000 13.2.4).
    pub fn forget_below(&mut self, number: u64) {
        self.known_below = self.known_below.max(number);
        self.numbers.remove_below(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u64, stream: StreamId, offset: u64) -> Packet {
        let mut packet = Packet { number, is_eliciting: true, ..Packet::default() };
        packet.add(StreamFrame { stream, offset, bytes: 1000, again: false });
        packet
    }

    #[test]
    fn every_second_packet_is_acknowledged_and_a_single_one_after_the_delay() {
        let mut receiver = Receiver::new(&QuicConfig::default());
        receiver.accept(0, &packet(0, 0, 0));
        assert!(!receiver.wants_ack());
        receiver.accept(0, &packet(1, 0, 1000));
        assert!(receiver.wants_ack());
        assert_eq!(receiver.ack(0).map(|ack| ack.largest), Some(1));
        receiver.note_acknowledged();
        assert!(receiver.ack(0).is_none());
        receiver.accept(0, &packet(2, 0, 2000));
        receiver.on_timer(24_999_999);
        assert!(!receiver.wants_ack());
        receiver.on_timer(25_000_000);
        assert!(receiver.wants_ack());
    }

    #[test]
    fn a_gap_is_acknowledged_at_once_and_a_packet_counts_once() {
        let mut receiver = Receiver::new(&QuicConfig::default());
        assert!(receiver.accept(0, &packet(0, 0, 0)));
        assert!(receiver.accept(0, &packet(2, 0, 2000)));
        assert!(receiver.wants_ack());
        assert!(!receiver.accept(0, &packet(2, 0, 2000)));
        let ranges: Vec<_> = receiver.ack(0).iter().flat_map(Ack::ranges).collect();
        assert_eq!(ranges, [(2, 3), (0, 1)]);
    }

    #[test]
    fn a_hole_holds_up_its_own_stream_only() {
        let mut receiver = Receiver::new(&QuicConfig::default());
        receiver.accept(0, &packet(0, 1, 1000));
        receiver.accept(0, &packet(1, 2, 0));
        assert_eq!(receiver.next_advanced(), Some((2, 1000)));
        assert_eq!(receiver.next_advanced(), None);
        receiver.accept(0, &packet(2, 1, 0));
        assert_eq!(receiver.next_advanced(), Some((1, 2000)));
    }

    #[test]
    fn a_stretch_over_several_that_have_come_moves_the_stream_to_the_end_of_the_last() {
        let mut receiver = Receiver::new(&QuicConfig::default());
        receiver.accept(0, &packet(0, 0, 700));
        receiver.accept(0, &packet(1, 0, 2500));
        let mut again = Packet { number: 2, is_eliciting: true, ..Packet::default() };
        again.add(StreamFrame { stream: 0, offset: 0, bytes: 2600, again: true });
        receiver.accept(0, &again);
        assert_eq!(receiver.next_advanced(), Some((0, 3500)));
    }

    #[test]
    fn more_may_come_when_half_the_buffer_was_read() {
        let config = QuicConfig { receive_buffer_bytes: 4000, ..QuicConfig::default() };
        let mut receiver = Receiver::new(&config);
        for number in 0..4 {
            receiver.accept(0, &packet(number, 0, 1000 * number));
        }
        assert!(!receiver.read(1999));
        assert!(receiver.read(1));
        assert_eq!(receiver.raise(), 6000);
        assert!(!receiver.wants_to_raise());
    }
}
