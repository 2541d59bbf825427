//! Acknowledgements that come in bunches, as over Wi-Fi: what arrived beyond the bandwidth is room
//! in the window, so that the sender does not fall silent between two bunches.

use super::super::Sampled;
use super::Time;

/// Rounds over which, and seconds of the bandwidth up to which, bunches count.
const ROUNDS: u32 = 5;
const LONGEST_S: f64 = 0.1;
const MOST_SEGMENTS: f64 = (1 << 20) as f64;

/// The largest bunch of each of two halves of the recent past, segments.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Bunches {
    most: [f64; 2],
    half: usize,
    rounds: u32,
    began: Time,
    acknowledged: f64,
}

impl Bunches {
    /// Segments that a bunch held beyond a rate in bytes per second.
    pub fn segments(&self, rate: f64, mss: f64) -> f64 {
        self.most[0].max(self.most[1]).min(rate * LONGEST_S / mss)
    }

    /// Takes a sample of a path with that rate, of a window in segments.
    pub fn take(&mut self, sample: &Sampled, rate: f64, mss: f64, window: f64, new_round: bool) {
        let known = sample.rate.is_some_and(|rate| rate.bytes_per_s.is_some());
        if !known || sample.acknowledged_bytes == 0 {
            return;
        }
        let segments = sample.acknowledged_bytes as f64 / mss;
        if new_round {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.half = 1 - self.half;
                self.most[self.half] = 0.0;
            }
        }
        let mut expected = rate * (sample.now - self.began) as f64 / 1e9 / mss;
        if self.acknowledged <= expected || self.acknowledged + segments >= MOST_SEGMENTS {
            self.restart(sample.now);
            expected = 0.0;
        }
        self.acknowledged = (self.acknowledged + segments).min(MOST_SEGMENTS);
        let most = &mut self.most[self.half];
        *most = most.max((self.acknowledged - expected).min(window));
    }

    /// Counts from now on.
    pub fn restart(&mut self, now: Time) {
        self.began = now;
        self.acknowledged = 0.0;
    }
}
