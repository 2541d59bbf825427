//! Whether the pipe is full: in three rounds no sample has brought a quarter more bandwidth.

use super::super::Sampled;

const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;

#[derive(Clone, Debug, Default)]
pub(super) struct Pipe {
    bandwidth: f64,
    rounds: u32,
    is_full_now: bool,
    was_full: bool,
}

impl Pipe {
    /// Whether it has ever been full: start-up is over.
    pub fn is_full(&self) -> bool {
        self.was_full
    }

    /// Whether it has been found full since it is watched.
    pub fn is_full_now(&self) -> bool {
        self.is_full_now
    }

    pub fn fill(&mut self) {
        self.was_full = true;
    }

    pub fn take(&mut self, sample: &Sampled, is_round_start: bool) {
        let Some(rate) = sample.rate.filter(|rate| !rate.application_limited) else { return };
        if self.is_full_now {
            return;
        }
        if rate.bytes_per_s.is_some_and(|rate| rate >= self.bandwidth * GROWTH) {
            self.watch_from(sample);
        } else if is_round_start {
            self.rounds += 1;
            self.is_full_now = self.rounds >= ROUNDS;
            self.was_full |= self.is_full_now;
        }
    }

    /// Looks for growth beyond the rate of this sample.
    pub fn watch_from(&mut self, sample: &Sampled) {
        let rate = sample.rate.and_then(|rate| rate.bytes_per_s);
        *self = Self { bandwidth: rate.unwrap_or(0.0), was_full: self.was_full, ..Self::default() };
    }

    /// A timeout: any bandwidth is growth.
    pub fn forget(&mut self) {
        *self = Self { was_full: self.was_full, ..Self::default() };
    }
}
