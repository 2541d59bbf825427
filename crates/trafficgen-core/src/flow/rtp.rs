//! RTP streams: recognised by their own consistency, counted as RFC 3550 A.1, A.3 and A.8 say.

use super::row::PacketRow;

/// Clock rates that payload formats use (RFC 3551 and its successors), Hz. Jitter is kept for each
/// until the clock is known.
pub const CLOCK_CANDIDATES_HZ: [u32; 10] =
    [8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 90000];
/// Steps forward beyond this are a restart (MAX_DROPOUT of RFC 3550 A.1).
const MAX_DROPOUT: u16 = 3000;
/// Steps back within this are reordering (MAX_MISORDER there has 100; captures of several queues
/// are worse).
const MAX_MISORDER: u16 = 1000;
/// Sequence numbers below the highest that are remembered, to tell a late packet from a duplicate.
const HISTORY_BITS: u64 = 1024;
const HISTORY_WORDS: usize = (HISTORY_BITS / 64) as usize;
/// Packets below which nothing is called RTP, and the share of steps that must be progress.
const MIN_PACKETS: u64 = 5;
const MIN_PROGRESS: f64 = 0.8;
/// How far the measured timestamp rate may be from a clock rate.
const CLOCK_TOLERANCE: f64 = 0.1;
const MIN_CLOCK_SPAN_NS: i64 = 200_000_000;

/// What is known of one synchronisation source in one direction of a flow.
#[derive(Clone, Debug)]
pub struct RtpStream {
    pub ssrc: u32,
    pub payload_type: u8,
    /// 0: from the flow's initiator, 1: to it.
    pub direction: usize,
    pub packets: u64,
    payload_bytes: u64,
    /// Packets with the timestamp of the one before: parts of one frame.
    same_timestamp: u64,
    progress: u64,
    sequence: SequenceCount,
    first: (i64, u32),
    last: (i64, u32),
    /// Sum of timestamp steps: the extended timestamp less the first.
    elapsed_ticks: i64,
    jitter: Jitter,
}

/// A synchronisation source that may prove to be RTP. Until it has packets enough for that, they
/// are kept as they are: random bytes that look like RTP must not cost what a stream does.
#[derive(Clone, Debug)]
pub enum RtpCandidate {
    Few(Vec<PacketRow>),
    Stream(Box<RtpStream>),
}

impl RtpCandidate {
    pub(super) fn new(row: &PacketRow) -> Self {
        Self::Few(vec![*row])
    }

    /// Whether a packet has the same source and direction.
    #[inline]
    pub(super) fn is_of(&self, row: &PacketRow) -> bool {
        let (ssrc, direction) = match self {
            Self::Few(rows) => (rows[0].ssrc_or_sequence, rows[0].direction()),
            Self::Stream(stream) => (stream.ssrc, stream.direction),
        };
        ssrc == row.ssrc_or_sequence && direction == row.direction()
    }

    #[inline]
    pub(super) fn add(&mut self, row: &PacketRow) {
        match self {
            Self::Stream(stream) => stream.add(row),
            Self::Few(rows) if rows.len() as u64 + 1 < MIN_PACKETS => rows.push(*row),
            Self::Few(rows) => {
                let mut stream = Box::new(RtpStream::new(&rows[0]));
                for earlier in &rows[1..] {
                    stream.add(earlier);
                }
                stream.add(row);
                *self = Self::Stream(stream);
            }
        }
    }

    /// The stream, once it has packets enough to be one.
    pub(super) fn stream(&self) -> Option<&RtpStream> {
        match self {
            Self::Few(_) => None,
            Self::Stream(stream) => Some(stream),
        }
    }
}

/// What an RTP stream amounts to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RtpSummary {
    pub ssrc: u32,
    pub payload_type: u8,
    pub direction: usize,
    pub packets: u64,
    pub payload_bytes: u64,
    pub same_timestamp: u64,
    pub span_ns: i64,
    pub expected: u64,
    pub lost: u64,
    pub reordered: u64,
    pub duplicates: u64,
    /// As the timestamps ran against the arrival times; `None` where that tells nothing.
    pub measured_clock_hz: Option<u32>,
    /// Mean over packets of the RFC 3550 estimate for each of [`CLOCK_CANDIDATES_HZ`], s.
    pub jitter_s: [f64; CLOCK_CANDIDATES_HZ.len()],
}

impl RtpStream {
    pub(super) fn new(row: &PacketRow) -> Self {
        let at = (row.time_ns, row.timestamp_or_acknowledgement);
        Self {
            ssrc: row.ssrc_or_sequence,
            payload_type: row.payload_type_or_flags,
            direction: row.direction(),
            packets: 1,
            payload_bytes: row.payload_bytes.into(),
            same_timestamp: 0,
            progress: 0,
            sequence: SequenceCount::new(row.sequence_or_window as u16),
            first: at,
            last: at,
            elapsed_ticks: 0,
            jitter: Jitter::default(),
        }
    }

    #[inline]
    pub(super) fn add(&mut self, row: &PacketRow) {
        let timestamp = row.timestamp_or_acknowledgement;
        let step_ticks = timestamp.wrapping_sub(self.last.1) as i32;
        let step_ns = row.time_ns.saturating_sub(self.last.0);
        self.packets += 1;
        self.payload_bytes += u64::from(row.payload_bytes);
        self.same_timestamp += u64::from(step_ticks == 0);
        self.progress += u64::from(self.sequence.add(row.sequence_or_window as u16));
        self.elapsed_ticks += i64::from(step_ticks);
        self.jitter.add(step_ns, step_ticks);
        self.last = (row.time_ns, timestamp);
    }

    /// Whether the packets are consistent enough to be RTP.
    pub fn is_rtp(&self) -> bool {
        self.packets >= MIN_PACKETS
            && self.progress as f64 >= MIN_PROGRESS * (self.packets - 1) as f64
    }

    pub fn summary(&self) -> RtpSummary {
        RtpSummary {
            ssrc: self.ssrc,
            payload_type: self.payload_type,
            direction: self.direction,
            packets: self.packets,
            payload_bytes: self.payload_bytes,
            same_timestamp: self.same_timestamp,
            span_ns: self.last.0.saturating_sub(self.first.0),
            expected: self.sequence.expected(),
            lost: self.sequence.expected().saturating_sub(self.sequence.received),
            reordered: self.sequence.reordered,
            duplicates: self.sequence.duplicates,
            measured_clock_hz: self.measured_clock_hz(),
            jitter_s: self.jitter.means_s(),
        }
    }

    fn measured_clock_hz(&self) -> Option<u32> {
        let span_ns = self.last.0.saturating_sub(self.first.0);
        if span_ns < MIN_CLOCK_SPAN_NS || self.elapsed_ticks <= 0 {
            return None;
        }
        let rate_hz = self.elapsed_ticks as f64 / (span_ns as f64 * 1e-9);
        let distance = |clock_hz: u32| (rate_hz / f64::from(clock_hz) - 1.0).abs();
        CLOCK_CANDIDATES_HZ
            .into_iter()
            .min_by(|&a, &b| distance(a).total_cmp(&distance(b)))
            .filter(|&clock_hz| distance(clock_hz) < CLOCK_TOLERANCE)
    }
}

/// Extended sequence numbers with a short memory of what arrived.
#[derive(Clone, Debug)]
struct SequenceCount {
    /// Extended numbers of the run that goes on; a restart begins a new run.
    lowest: i64,
    highest: i64,
    history: [u64; HISTORY_WORDS],
    expected_before: u64,
    received: u64,
    reordered: u64,
    duplicates: u64,
    /// The number that would make a jump a restart (two in sequence, RFC 3550 A.1).
    restart_at: Option<u16>,
}

impl SequenceCount {
    fn new(sequence: u16) -> Self {
        let start = i64::from(sequence);
        let mut count = Self {
            lowest: start,
            highest: start,
            history: [0; HISTORY_WORDS],
            expected_before: 0,
            received: 1,
            reordered: 0,
            duplicates: 0,
            restart_at: None,
        };
        count.mark(start);
        count
    }

    /// Counts a packet; true where it makes plausible progress.
    #[inline]
    fn add(&mut self, sequence: u16) -> bool {
        let step = sequence.wrapping_sub(self.highest as u16);
        if step == 0 {
            self.duplicates += 1;
            return true;
        }
        if step < MAX_DROPOUT {
            self.move_up(i64::from(step));
            return true;
        }
        self.add_unusual(sequence, step)
    }

    #[inline]
    fn move_up(&mut self, step: i64) {
        for skipped in self.highest + 1..self.highest + step.min(HISTORY_BITS as i64) {
            self.clear(skipped);
        }
        self.highest += step;
        self.mark(self.highest);
        self.received += 1;
        self.restart_at = None;
    }

    #[cold]
    fn add_unusual(&mut self, sequence: u16, step: u16) -> bool {
        let back = i64::from(step.wrapping_neg());
        if back <= i64::from(MAX_MISORDER) {
            self.add_late(self.highest - back);
            return true;
        }
        if self.restart_at == Some(sequence) {
            // The packet before belonged to the new run already: count it now.
            self.expected_before += self.expected_of_run();
            self.lowest = i64::from(sequence) - 1;
            self.highest = self.lowest;
            self.history = [0; HISTORY_WORDS];
            self.mark(self.highest);
            self.received += 1;
            self.move_up(1);
            return true;
        }
        self.restart_at = Some(sequence.wrapping_add(1));
        false
    }

    fn add_late(&mut self, number: i64) {
        if number < self.lowest {
            // Packets before the first one seen: the run began earlier.
            for unseen in number..self.lowest {
                self.clear(unseen);
            }
            self.lowest = number;
        } else if self.is_marked(number) {
            self.duplicates += 1;
            return;
        }
        self.mark(number);
        self.received += 1;
        self.reordered += 1;
    }

    fn expected_of_run(&self) -> u64 {
        (self.highest - self.lowest + 1) as u64
    }

    fn expected(&self) -> u64 {
        self.expected_before + self.expected_of_run()
    }

    #[inline]
    fn place(number: i64) -> (usize, u64) {
        let bit = number.rem_euclid(HISTORY_BITS as i64) as u64;
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    #[inline]
    fn mark(&mut self, number: i64) {
        let (word, bit) = Self::place(number);
        self.history[word] |= bit;
    }

    #[inline]
    fn clear(&mut self, number: i64) {
        let (word, bit) = Self::place(number);
        self.history[word] &= !bit;
    }

    fn is_marked(&self, number: i64) -> bool {
        let (word, bit) = Self::place(number);
        self.history[word] & bit != 0
    }
}

/// Interarrival jitter (RFC 3550, A.8) for every candidate clock at once, in ticks.
#[derive(Clone, Debug, Default)]
struct Jitter {
    now: [f64; CLOCK_CANDIDATES_HZ.len()],
    sum: [f64; CLOCK_CANDIDATES_HZ.len()],
    steps: u64,
}

impl Jitter {
    #[inline]
    fn add(&mut self, step_ns: i64, step_ticks: i32) {
        let (step_s, ticks) = (step_ns as f64 * 1e-9, f64::from(step_ticks));
        let sums = self.now.iter_mut().zip(&mut self.sum);
        for ((now, sum), clock_hz) in sums.zip(CLOCK_CANDIDATES_HZ) {
            let transit = step_s * f64::from(clock_hz) - ticks;
            *now += (transit.abs() - *now) / 16.0;
            *sum += *now;
        }
        self.steps += 1;
    }

    fn means_s(&self) -> [f64; CLOCK_CANDIDATES_HZ.len()] {
        let steps = self.steps.max(1) as f64;
        std::array::from_fn(|index| self.sum[index] / steps / f64::from(CLOCK_CANDIDATES_HZ[index]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(sequences: &[u16]) -> RtpStream {
        let row = |index: usize, sequence: u16| PacketRow {
            time_ns: index as i64 * 20_000_000,
            timestamp_or_acknowledgement: index as u32 * 160,
            sequence_or_window: u32::from(sequence),
            marks: PacketRow::FORWARD | PacketRow::RTP,
            ..PacketRow::default()
        };
        let mut stream = RtpStream::new(&row(0, sequences[0]));
        for (index, &sequence) in sequences.iter().enumerate().skip(1) {
            stream.add(&row(index, sequence));
        }
        stream
    }

    fn counts(sequences: &[u16]) -> (u64, u64, u64, u64) {
        let summary = stream(sequences).summary();
        (summary.expected, summary.lost, summary.reordered, summary.duplicates)
    }

    #[test]
    fn losses_reordering_and_duplicates_are_told_apart() {
        assert_eq!(counts(&[1, 2, 3, 4]), (4, 0, 0, 0));
        assert_eq!(counts(&[1, 2, 5, 6]), (6, 2, 0, 0));
        assert_eq!(counts(&[1, 3, 2, 4]), (4, 0, 1, 0));
        assert_eq!(counts(&[1, 2, 2, 3, 1]), (3, 0, 0, 2));
        assert_eq!(counts(&[5, 4, 6]), (3, 0, 1, 0));
        assert_eq!(counts(&[3, 1, 4]), (4, 1, 1, 0));
    }

    #[test]
    fn sequence_numbers_wrap() {
        assert_eq!(counts(&[65534, 65535, 0, 1, 3]), (6, 1, 0, 0));
        assert_eq!(counts(&[65535, 1, 0, 2]), (4, 0, 1, 0));
    }

    #[test]
    fn a_restart_is_not_a_loss() {
        assert_eq!(counts(&[10, 11, 12, 30000, 30001, 30002]), (6, 0, 0, 0));
    }

    #[test]
    fn clock_and_jitter_follow_the_timestamps() {
        let summary = stream(&(0..100).collect::<Vec<u16>>()).summary();
        assert_eq!(summary.measured_clock_hz, Some(8000));
        assert!(summary.jitter_s[0] < 1e-9);
        assert!(summary.jitter_s[9] > 1e-3);
    }

    proptest! {
        #[test]
        fn expected_less_lost_is_what_arrived_once(
            drops in prop::collection::vec(any::<bool>(), 10..400),
            start: u16
        ) {
            let kept: Vec<u16> = (0..drops.len())
                .filter(|&index| !drops[index] || index == 0)
                .map(|index| start.wrapping_add(index as u16))
                .collect();
            let (expected, lost, reordered, duplicates) = counts(&kept);
            prop_assert_eq!(expected - lost, kept.len() as u64);
            prop_assert_eq!((reordered, duplicates), (0, 0));
        }
    }
}
