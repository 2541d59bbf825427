//! What has arrived, what is said about it and when: acknowledgements, SACK blocks, the window.

use super::ranges::Ranges;
use super::{flag, SackBlock, SackBlocks, Segment, TcpConfig, Time};

/// No timer.
pub(super) const NEVER: Time = Time::MAX;

/// Acknowledgements that are not delayed after a pause, at most; TCP_MAX_QUICKACKS of Linux.
const QUICK_ACKS_AFTER_PAUSE: u32 = 16;

#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Next offset wanted; one beyond the stream once the FIN has arrived.
    next: u64,
    /// Bytes that the application has taken.
    read: u64,
    buffer_bytes: u64,
    mss: u64,
    /// Right edge of the window as last advertised; it never moves back.
    edge: u64,
    beyond: Ranges,
    /// An offset in each of the stretches beyond a hole that changed last, the latest first.
    recent: [u64; SackBlocks::MAXIMUM],
    recent_count: usize,
    fin: Option<u64>,
    sack_blocks: usize,
    /// Tell of what has come twice (RFC 2883), and at once of a full segment that ends a burst and
    /// that the application reads at once, as in Linux.
    of_linux: bool,
    duplicate_came: bool,
    delayed_acks: bool,
    delay_ns: Time,
    /// Acknowledgements that are not delayed: at first, after a pause, and those that are left.
    quick_acks: u32,
    quick_left: u32,
    last_came: Time,
    /// Largest payload so far: what a full segment of the other end is.
    full_bytes: u64,
    unacknowledged_bytes: u64,
    ack_due: bool,
    /// Duplicate acknowledgements count only without payload (RFC 5681 2).
    ack_bare: bool,
    timer: Time,
    timestamp: Option<Time>,
    last_acknowledged: u64,
    /// A mark has come that the sender has not answered yet.
    echoes_mark: bool,
}

impl Receiver {
    pub fn new(config: &TcpConfig, mss: u64) -> Self {
        Self {
            next: 0,
            read: 0,
            buffer_bytes: config.receive_buffer_bytes,
            mss,
            edge: config.receive_buffer_bytes,
            beyond: Ranges::default(),
            recent: [0; SackBlocks::MAXIMUM],
            recent_count: 0,
            fin: None,
            sack_blocks: 0,
            of_linux: config.uses_rack(),
            duplicate_came: false,
            delayed_acks: config.delayed_acks,
            delay_ns: config.delayed_ack_timeout_ns,
            quick_acks: config.quick_acks(),
            quick_left: config.quick_acks(),
            last_came: NEVER,
            full_bytes: 0,
            unacknowledged_bytes: 0,
            ack_due: false,
            ack_bare: false,
            timer: NEVER,
            timestamp: None,
            last_acknowledged: 0,
            echoes_mark: false,
        }
    }

    /// How many SACK blocks an acknowledgement may hold; 0 without the option.
    pub fn allow_sack_blocks(&mut self, blocks: usize) {
        self.sack_blocks = blocks.min(SackBlocks::MAXIMUM);
    }

    pub fn timer(&self) -> Time {
        self.timer
    }

    pub fn received_bytes(&self) -> u64 {
        self.next - u64::from(self.has_ended())
    }

    /// Whether everything up to the FIN has arrived.
    pub fn has_ended(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// The timestamp to echo (RFC 7323 4.3): that of the earliest segment since the last
    /// acknowledgement.
    pub fn note_timestamp(&mut self, segment: &Segment) {
        if let Some(stamp) = segment.timestamps {
            if segment.sequence <= self.last_acknowledged
                && self.timestamp.is_none_or(|last| stamp.value >= last)
            {
                self.timestamp = Some(stamp.value);
            }
        }
    }

    pub fn echo(&self) -> Time {
        self.timestamp.unwrap_or(0)
    }

    /// Repeats a mark in all acknowledgements until the sender has answered it (RFC 3168 6.1.3).
    pub fn note_marks(&mut self, segment: &Segment) {
        if segment.has(flag::CWR) {
            self.echoes_mark = false;
        }
        self.echoes_mark |= segment.marked;
    }

    /// Takes payload and FIN of a segment; what comes after more than `pause_ns` comes after a
    /// pause.
    pub fn accept(&mut self, now: Time, segment: &Segment, pause_ns: Time) {
        if self.last_came != NEVER && now - self.last_came > pause_ns {
            self.quick_left = self.quick_left.max(self.quick_acks.min(QUICK_ACKS_AFTER_PAUSE));
        }
        self.last_came = now;
        if segment.has(flag::FIN) && self.fin.is_none() {
            self.fin = Some(segment.sequence + u64::from(segment.payload_bytes));
        }
        let (start, end) = (segment.sequence.max(self.next), self.trimmed_end(segment));
        if start >= end {
            // old, or beyond the window: say where we are (RFC 9293 3.10.7.4)
            self.ack_due = true;
            self.duplicate_came |= self.of_linux && segment.end() <= self.next;
            return;
        }
        self.full_bytes = self.full_bytes.max(u64::from(segment.payload_bytes)).min(self.mss);
        if start == self.next {
            let is_full = u64::from(segment.payload_bytes) >= self.full_bytes;
            let ends_burst = is_full && segment.has(flag::PSH);
            self.ack_due |= self.of_linux && ends_burst && self.read == self.next;
            self.advance(now, end);
        } else {
            self.keep_beyond(start, end);
        }
    }

    /// End of what fits into the window; a FIN needs no room.
    fn trimmed_end(&self, segment: &Segment) -> u64 {
        let payload_end = segment.sequence + u64::from(segment.payload_bytes);
        if payload_end > self.edge {
            self.edge
        } else {
            segment.end()
        }
    }

    fn advance(&mut self, now: Time, end: u64) {
        self.unacknowledged_bytes += end - self.next;
        self.next = end;
        let fills_hole = !self.beyond.is_empty();
        if fills_hole {
            if let Some(range) = self.beyond.first().filter(|range| range.0 <= end) {
                self.next = end.max(range.1);
            }
            self.beyond.remove_below(self.next);
            self.forget_recent_below(self.next);
        }
        let enough = self.unacknowledged_bytes > self.full_bytes;
        let is_delayed = self.delayed_acks && self.quick_left == 0;
        if fills_hole || enough || !is_delayed || self.has_ended() {
            self.ack_due = true;
        } else if self.timer == NEVER {
            self.timer = now + self.delay_ns;
        }
    }

    fn keep_beyond(&mut self, start: u64, end: u64) {
        let new_bytes = self.beyond.insert(start, end);
        self.duplicate_came |= self.of_linux && new_bytes == 0;
        self.ack_due = true;
        self.ack_bare = true;
        let range = self.beyond.containing(start).unwrap_or((start, end));
        let older = self.recent;
        let others = older[..self.recent_count]
            .iter()
            .filter(|offset| **offset < range.0 || **offset >= range.1);
        let mut count = 1;
        self.recent[0] = start;
        for offset in others.take(SackBlocks::MAXIMUM - 1) {
            self.recent[count] = *offset;
            count += 1;
        }
        self.recent_count = count;
    }

    fn forget_recent_below(&mut self, offset: u64) {
        let mut count = 0;
        for index in 0..self.recent_count {
            if self.recent[index] >= offset {
                self.recent[count] = self.recent[index];
                count += 1;
            }
        }
        self.recent_count = count;
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

    pub fn request_ack(&mut self) {
        self.ack_due = true;
    }

    /// The application takes `bytes`; whether the other end should hear of the room (a window at
    /// least twice as large, as Linux has it, and by no silly step: RFC 9293 3.8.6.2.2).
    pub fn read(&mut self, bytes: u64) -> bool {
        self.read = self.received_bytes().min(self.read.saturating_add(bytes));
        let present = self.edge.saturating_sub(self.next);
        let possible = self.next_edge().saturating_sub(self.next);
        possible > present && possible >= 2 * present
    }

    /// The right edge to advertise now: moved only by a segment or half the buffer (RFC 9293
    /// 3.8.6.2.2).
    fn next_edge(&self) -> u64 {
        let possible = self.read + self.buffer_bytes;
        if possible >= self.edge + self.mss.min(self.buffer_bytes / 2).max(1) {
            possible
        } else {
            self.edge
        }
    }

    /// Fills acknowledgement, window and SACK blocks of a segment that is about to leave.
    pub fn acknowledge(&mut self, segment: &mut Segment) {
        self.edge = self.next_edge();
        segment.acknowledgement = self.next;
        if self.echoes_mark {
            segment.flags |= flag::ECE;
        }
        segment.window_bytes = self.edge.saturating_sub(self.next) as u32;
        let mut blocks = self.sack_blocks;
        if self.duplicate_came && blocks > 0 {
            segment.sack.reports_duplicate = true;
            blocks -= 1;
        }
        self.duplicate_came = false;
        for offset in &self.recent[..self.recent_count.min(blocks)] {
            if let Some((start, end)) = self.beyond.containing(*offset) {
                segment.sack.push(SackBlock {
                    start: (start - self.next) as u32,
                    end: (end - self.next) as u32,
                });
            }
        }
        if self.ack_due {
            self.quick_left = self.quick_left.saturating_sub(1);
        }
        self.last_acknowledged = self.next;
        self.unacknowledged_bytes = 0;
        self.timer = NEVER;
        self.ack_due = self.ack_bare && segment.payload_bytes > 0;
        self.ack_bare = self.ack_due;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn receiver(buffer_bytes: u64) -> Receiver {
        let config = TcpConfig {
            receive_buffer_bytes: buffer_bytes,
            quick_acks: Some(0),
            ..TcpConfig::default()
        };
        let mut receiver = Receiver::new(&config, u64::from(MSS));
        receiver.allow_sack_blocks(3);
        receiver
    }

    fn take(receiver: &mut Receiver, index: u64) {
        let segment = Segment {
            sequence: index * u64::from(MSS),
            payload_bytes: MSS,
            flags: flag::ACK,
            ..Segment::default()
        };
        receiver.accept(0, &segment, 1);
    }

    fn answer(receiver: &mut Receiver) -> Segment {
        let mut segment = Segment { flags: flag::ACK, ..Segment::default() };
        receiver.acknowledge(&mut segment);
        segment
    }

    #[test]
    fn every_second_segment_is_acknowledged_and_a_single_one_after_the_delay() {
        let mut receiver = receiver(100_000);
        take(&mut receiver, 0);
        assert!(!receiver.wants_ack());
        take(&mut receiver, 1);
        assert!(receiver.wants_ack());
        assert_eq!(answer(&mut receiver).acknowledgement, 2000);
        take(&mut receiver, 2);
        receiver.on_timer(39_999_999);
        assert!(!receiver.wants_ack());
        receiver.on_timer(40_000_000);
        assert!(receiver.wants_ack());
    }

    #[test]
    fn the_first_segments_and_those_after_a_pause_are_acknowledged_at_once() {
        let config = TcpConfig { quick_acks: Some(3), ..TcpConfig::default() };
        let mut receiver = Receiver::new(&config, u64::from(MSS));
        let mut quick = |sequences: std::ops::Range<u64>, now: Time| {
            let answers = sequences.map(|index| {
                let sequence = index * u64::from(MSS);
                let flags = flag::ACK;
                let segment = Segment { sequence, payload_bytes: MSS, flags, ..Segment::default() };
                receiver.accept(now, &segment, 1000);
                receiver.wants_ack() && {
                    answer(&mut receiver);
                    true
                }
            });
            answers.collect::<Vec<_>>()
        };
        assert_eq!(quick(0..7, 0), [true, true, true, false, true, false, true]);
        assert_eq!(quick(7..9, 1000), [false, true]);
        assert_eq!(quick(9..14, 2001), [true, true, true, false, true]);
    }

    #[test]
    fn the_end_of_a_burst_is_acknowledged_at_once_where_all_was_read() {
        let acknowledges = |rack, unread: u64| {
            let config =
                TcpConfig { quick_acks: Some(0), rack: Some(rack), ..TcpConfig::default() };
            let mut receiver = Receiver::new(&config, u64::from(MSS));
            take(&mut receiver, 0);
            take(&mut receiver, 1);
            answer(&mut receiver);
            receiver.read(u64::from(2 * MSS) - unread);
            let flags = flag::ACK | flag::PSH;
            let sequence = u64::from(2 * MSS);
            let last = Segment { sequence, payload_bytes: MSS, flags, ..Segment::default() };
            receiver.accept(0, &last, 1);
            receiver.wants_ack()
        };
        assert!(acknowledges(true, 0));
        assert!(!acknowledges(true, 1));
        assert!(!acknowledges(false, 0));
    }

    #[test]
    fn holes_are_reported_at_once_with_the_latest_block_first() {
        let mut receiver = receiver(100_000);
        for index in [0, 2, 4, 6, 8, 4] {
            take(&mut receiver, index);
            assert!(receiver.wants_ack() || index == 0);
        }
        let sack = answer(&mut receiver).sack; // the fifth segment had come before
        assert!(sack.reports_duplicate);
        let starts: Vec<_> = sack.as_slice().iter().map(|block| (block.start, block.end)).collect();
        assert_eq!(starts, [(3000, 4000), (7000, 8000)]);
        take(&mut receiver, 10);
        let sack = answer(&mut receiver).sack;
        let starts: Vec<_> = sack.as_slice().iter().map(|block| block.start).collect();
        assert_eq!((starts, sack.reports_duplicate), (vec![9000, 3000, 7000], false));
        take(&mut receiver, 1);
        assert!(receiver.wants_ack());
        assert_eq!(answer(&mut receiver).acknowledgement, 3000);
    }

    #[test]
    fn the_window_closes_with_unread_data_and_opens_by_no_silly_step() {
        let mut receiver = receiver(4000);
        (0..4).for_each(|index| take(&mut receiver, index));
        assert_eq!(answer(&mut receiver).window_bytes, 0);
        take(&mut receiver, 4);
        assert_eq!(receiver.received_bytes(), 4000);
        assert!(!receiver.read(999));
        assert_eq!(answer(&mut receiver).window_bytes, 0);
        assert!(receiver.read(1));
        assert_eq!(answer(&mut receiver).window_bytes, 1000);
    }

    #[test]
    fn a_fin_ahead_of_a_hole_waits_for_it() {
        let mut receiver = receiver(100_000);
        let fin = Segment { sequence: 1000, flags: flag::FIN | flag::ACK, ..Segment::default() };
        receiver.accept(0, &fin, 1);
        assert!(!receiver.has_ended());
        take(&mut receiver, 0);
        assert!(receiver.has_ended());
        assert_eq!(
            (receiver.received_bytes(), answer(&mut receiver).acknowledgement),
            (1000, 1001)
        );
    }
}
