//! Leaving slow start before it overflows a queue: HyStart, as CUBIC has it in Linux.
//!
//! S. Ha, I. Rhee: Taming the elephants: new TCP slow start, Computer Networks 55 (2011), with the
//! limits of Linux: acknowledgements that have come close together for half a round trip, or a
//! round whose shortest round trip is longer by an eighth.

use super::super::Time;
use super::Acknowledged;

const LEAST_WINDOW_SEGMENTS: f64 = 16.0;
/// Acknowledgements no farther apart are of one train.
const TRAIN_GAP_NS: Time = 2_000_000;
const SAMPLES: u32 = 8;
const LEAST_MARGIN_NS: Time = 4_000_000;
const GREATEST_MARGIN_NS: Time = 16_000_000;
const RTT_DIVISOR: Time = 8;

#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// The round is over when more than this is acknowledged.
    round_end: u64,
    round_start: Time,
    /// The last acknowledgement of the round's train.
    train_end: Time,
    shortest_ns: Time,
    samples: u32,
    is_over: bool,
}

impl Default for HyStart {
    fn default() -> Self {
        Self {
            round_end: 0,
            round_start: 0,
            train_end: 0,
            shortest_ns: Time::MAX,
            samples: 0,
            is_over: false,
        }
    }
}

impl HyStart {
    /// Takes an acknowledgement in slow start; whether slow start is to end at this `window`,
    /// segments.
    pub fn ends_at(&mut self, ack: &Acknowledged, window: f64) -> bool {
        let Some(rtt_ns) = ack.rtt_ns.filter(|_| !self.is_over) else { return false };
        if ack.una > self.round_end {
            self.round_end = ack.nxt;
            self.round_start = ack.now;
            self.train_end = ack.now;
            self.shortest_ns = Time::MAX;
            self.samples = 0;
        }
        if window < LEAST_WINDOW_SEGMENTS {
            return false;
        }
        if ack.now - self.train_end <= TRAIN_GAP_NS {
            self.train_end = ack.now;
            self.is_over |= ack.now - self.round_start > ack.shortest_rtt_ns / 2;
        }
        self.shortest_ns = self.shortest_ns.min(rtt_ns);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let margin_ns =
                (ack.shortest_rtt_ns / RTT_DIVISOR).clamp(LEAST_MARGIN_NS, GREATEST_MARGIN_NS);
            self.is_over |= self.shortest_ns > ack.shortest_rtt_ns.saturating_add(margin_ns);
        }
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = 1_000_000;

    /// Takes the acknowledgements of a round of `segments`, `gap_ns` apart; how many of them it
    /// takes until slow start ends.
    fn round(
        hystart: &mut HyStart,
        start: Time,
        segments: u64,
        gap_ns: Time,
        rtt_ns: Time,
    ) -> Option<u64> {
        let first = hystart.round_end;
        (1..=segments).find(|step| {
            let ack = Acknowledged {
                now: start + *step as Time * gap_ns,
                bytes: 1.0,
                una: first + step,
                nxt: first + segments,
                smoothed_rtt_ns: rtt_ns,
                rtt_ns: Some(rtt_ns),
                shortest_rtt_ns: 40 * MS,
                in_use: true,
                after_timeout: false,
            };
            hystart.ends_at(&ack, segments as f64)
        })
    }

    #[test]
    fn a_round_that_takes_longer_ends_slow_start_at_its_ninth_sample() {
        let mut hystart = HyStart::default();
        assert_eq!(round(&mut hystart, 0, 20, 5 * MS, 45 * MS), None);
        assert_eq!(round(&mut hystart, 100 * MS, 40, 5 * MS, 46 * MS), Some(9));
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let mut hystart = HyStart::default();
        assert_eq!(round(&mut hystart, 0, 20, MS, 40 * MS), None);
        assert_eq!(round(&mut hystart, 100 * MS, 40, MS, 40 * MS), Some(22));
    }

    #[test]
    fn small_windows_go_on() {
        let mut hystart = HyStart::default();
        assert_eq!(round(&mut hystart, 0, 15, MS, 90 * MS), None);
    }
}
