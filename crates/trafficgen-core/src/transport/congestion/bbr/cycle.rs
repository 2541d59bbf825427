//! The gains by which BBR looks for more bandwidth: probe, drain what that has queued, cruise.

use super::Time;

const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    phase: usize,
    since: Time,
}

impl Cycle {
    pub fn gain(&self) -> f64 {
        GAINS[self.phase]
    }

    pub fn is_probing(&self) -> bool {
        self.phase == 0
    }

    /// Time since the phase began.
    pub fn lasted(&self, now: Time) -> Time {
        now - self.since
    }

    pub fn advance(&mut self, now: Time) {
        self.phase = (self.phase + 1) % GAINS.len();
        self.since = now;
    }

    /// Begins with any phase but the one that drains: flows do not probe together. The clock is the
    /// dice.
    pub fn start(&mut self, now: Time) {
        let dice = (now as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        self.phase = (GAINS.len() - dice as usize % (GAINS.len() - 1)) % GAINS.len();
        self.since = now;
    }
}
