//! How fast packets leave: the rise after the quiet start, and the clip's own variation.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::des::{ns, seconds, Time};

/// Exponential rise of a rate from a lower one to its target.
#[derive(Clone, Copy, Debug)]
pub struct Rise {
    pub from_bps: f64,
    pub time_constant_s: f64,
    pub began: Time,
}

impl Rise {
    /// Bits sent until `elapsed_s` after the start of the rise towards `target_bps`.
    fn bits(&self, target_bps: f64, elapsed_s: f64) -> f64 {
        let decayed = 1.0 - (-elapsed_s / self.time_constant_s).exp();
        target_bps * elapsed_s - (target_bps - self.from_bps) * self.time_constant_s * decayed
    }

    /// How long from `now` until `bits` have been sent, s.
    pub fn wait_s(&self, target_bps: f64, now: Time, bits: f64) -> f64 {
        let elapsed_s = seconds(now - self.began);
        if elapsed_s > 20.0 * self.time_constant_s || target_bps <= self.from_bps {
            return bits / target_bps;
        }
        let before = self.bits(target_bps, elapsed_s);
        let (mut low, mut high) = (bits / target_bps, bits / self.from_bps.max(1.0));
        for _ in 0..30 {
            let middle = 0.5 * (low + high);
            if self.bits(target_bps, elapsed_s + middle) - before < bits {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// A deviation that wanders about 0: a Gaussian process with exponential autocorrelation.
#[derive(Debug)]
pub struct Variation {
    sigma: f64,
    /// Encoders of constant bit rate hold a bound.
    bound: f64,
    time_constant_s: f64,
    /// In standard deviations.
    state: f64,
    at: Time,
}

impl Variation {
    pub fn new(
        sigma: f64,
        bound: f64,
        time_constant_s: f64,
        now: Time,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        Self { sigma, bound, time_constant_s, state: rng.sample(StandardNormal), at: now }
    }

    pub fn deviation(&mut self, now: Time, rng: &mut ChaCha8Rng) -> f64 {
        let kept = (-seconds(now - self.at) / self.time_constant_s).exp();
        let fresh: f64 = rng.sample(StandardNormal);
        self.state = kept * self.state + (1.0 - kept * kept).sqrt() * fresh;
        self.at = now;
        (self.sigma * self.state).clamp(-self.bound, self.bound)
    }
}

/// Seconds as a timer takes them.
pub fn wait_ns(wait_s: f64) -> Time {
    ns(wait_s).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RISE: Rise = Rise { from_bps: 10_000.0, time_constant_s: 0.3, began: 0 };

    #[test]
    fn bits_of_a_rise_leave_when_its_integral_says() {
        let wait_s = RISE.wait_s(70_000.0, 0, 4_000.0);
        assert!((RISE.bits(70_000.0, wait_s) - 4_000.0).abs() < 1e-3);
        assert!(wait_s > 4_000.0 / 70_000.0 && wait_s < 4_000.0 / 10_000.0);
    }

    #[test]
    fn long_after_the_start_the_target_holds() {
        assert_eq!(RISE.wait_s(70_000.0, ns(60.0), 7_000.0), 0.1);
    }
}
