//! The cycle that looks for more bandwidth: go down, cruise, refill the pipe, go up.

use super::Time;

const SECOND_NS: Time = 1_000_000_000;
/// Rounds after which a Reno flow of the same window would have grown as much.
const MOST_RENO_ROUNDS: f64 = 63.0;
const MOST_DOUBLINGS: u32 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Down,
    Cruise,
    Refill,
    Up,
}

impl Phase {
    /// Gains of pacing and window.
    pub fn gains(self) -> (f64, f64) {
        match self {
            Self::Down => (0.9, 2.0),
            Self::Cruise | Self::Refill => (1.0, 2.0),
            Self::Up => (1.25, 2.25),
        }
    }
}

/// What acknowledgements tell of the last probe (ack_phase).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Feedback {
    #[default]
    None,
    Starting,
    Present,
    Stopping,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Probing {
    since: Time,
    wait_ns: Time,
    rounds_since: u32,
    feedback: Feedback,
    /// Whether what is under way was sent to probe (bw_probe_samples).
    is_sampled: bool,
    doublings: u32,
    acknowledged: f64,
    /// Bytes that must be acknowledged for the limit to rise by a segment (probe_up_cnt).
    step_bytes: f64,
    dice: u64,
}

impl Probing {
    pub fn is_sampled(&self) -> bool {
        self.is_sampled
    }

    pub fn end_samples(&mut self) {
        self.is_sampled = false;
    }

    pub fn count_round(&mut self) {
        self.rounds_since += 1;
    }

    /// The probe is over; the next comes in 2 to 3 seconds. The clock is the dice.
    pub fn stop(&mut self, now: Time) {
        let mixed = (self.dice ^ now as u64).wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.dice = (mixed ^ (mixed >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        self.rounds_since = (self.dice >> 63) as u32;
        self.wait_ns = 2 * SECOND_NS + ((self.dice >> 16) % SECOND_NS as u64) as Time;
        self.since = now;
        self.stop_samples();
    }

    pub fn stop_samples(&mut self) {
        self.feedback = Feedback::Stopping;
    }

    pub fn refill(&mut self) {
        self.doublings = 0;
        self.acknowledged = 0.0;
        self.feedback = Feedback::None;
    }

    pub fn start(&mut self, now: Time, window: f64, mss: f64) {
        self.is_sampled = true;
        self.feedback = Feedback::Starting;
        self.since = now;
        self.steepen(window, mss);
    }

    /// Whether the next probe is due, for a flow that holds so many segments.
    pub fn is_time(&self, now: Time, segments: f64) -> bool {
        let rounds = segments.min(MOST_RENO_ROUNDS);
        now > self.since + self.wait_ns || f64::from(self.rounds_since) >= rounds
    }

    /// Takes a round start; true where the bandwidth of the last probe is now known.
    pub fn hear(&mut self, is_round_start: bool) -> bool {
        if !is_round_start {
            return false;
        }
        let known = self.feedback == Feedback::Stopping;
        match self.feedback {
            Feedback::Starting => self.feedback = Feedback::Present,
            Feedback::Stopping => {
                self.is_sampled = false;
                self.feedback = Feedback::None;
            }
            Feedback::None | Feedback::Present => {}
        }
        known
    }

    /// Segments by which the long-term limit rises: twice as fast every round.
    pub fn climb(&mut self, acknowledged: f64, is_round_start: bool, window: f64, mss: f64) -> f64 {
        self.acknowledged += acknowledged;
        let steps = (self.acknowledged / self.step_bytes).floor();
        self.acknowledged -= steps * self.step_bytes;
        if is_round_start {
            self.steepen(window, mss);
        }
        steps
    }

    fn steepen(&mut self, window: f64, mss: f64) {
        let growth = f64::from(1u32 << self.doublings);
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
        self.step_bytes = (window / growth).max(mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_rises_twice_as_fast_every_round() {
        let mut probing = Probing::default();
        probing.refill();
        probing.start(0, 8000.0, 1000.0);
        for segments in [1.0, 2.0, 4.0, 8.0] {
            assert_eq!(probing.climb(8000.0, true, 8000.0, 1000.0), segments);
        }
    }

    #[test]
    fn small_flows_probe_as_often_as_reno_would_and_large_ones_after_seconds() {
        let mut probing = Probing::default();
        probing.stop(0);
        assert!(!probing.is_time(SECOND_NS, 10.0));
        (0..10).for_each(|_| probing.count_round());
        assert!(probing.is_time(SECOND_NS, 10.0));
        assert!(!probing.is_time(SECOND_NS, 1000.0));
        assert!(probing.is_time(3 * SECOND_NS, 1000.0));
    }
}
