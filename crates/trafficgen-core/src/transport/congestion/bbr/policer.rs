//! Signs of a token-bucket policer: two intervals of high loss with the same throughput (bbr_lt_bw
//! of Linux). BBR then keeps to that throughput for 48 rounds.

use super::super::Sampled;
use super::Time;

const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
const LOSS_THRESHOLD: f64 = 50.0 / 256.0;
const SAME_SHARE: f64 = 1.0 / 8.0;
const SAME_BYTES_PER_S: f64 = 500.0;
const ROUNDS_IN_USE: u32 = 48;

#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    rate: f64,
    is_used: bool,
    is_sampling: bool,
    rounds: u32,
    started_at: Time,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// Bytes per second that a policer seems to let through.
    pub fn rate(&self) -> Option<f64> {
        self.is_used.then_some(self.rate)
    }

    /// Takes a sample; true where the rate was in use for long enough, so that probing begins anew.
    pub fn take(&mut self, sample: &Sampled, is_round_start: bool, is_probing: bool) -> bool {
        self.rounds += u32::from(is_round_start && (!self.is_used || is_probing));
        if self.is_used {
            let over = is_probing && is_round_start && self.rounds >= ROUNDS_IN_USE;
            if over {
                self.forget();
            }
            return over;
        }
        if !self.is_sampling {
            if sample.lost_bytes > 0 {
                self.start_interval(sample);
                self.is_sampling = true;
            }
            return false;
        }
        if sample.rate.is_some_and(|rate| rate.application_limited) || self.rounds > MOST_ROUNDS {
            self.forget();
        } else if self.rounds >= LEAST_ROUNDS && sample.lost_bytes > 0 {
            self.end_interval(sample);
        }
        false
    }

    pub fn forget(&mut self) {
        *self = Self::default();
    }

    fn start_interval(&mut self, sample: &Sampled) {
        self.rounds = 0;
        self.started_at = sample.now;
        self.delivered = sample.delivered_bytes;
        self.lost = sample.lost_ever_bytes;
    }

    fn end_interval(&mut self, sample: &Sampled) {
        let delivered = (sample.delivered_bytes - self.delivered) as f64;
        let lost = (sample.lost_ever_bytes - self.lost) as f64;
        let interval_ns = sample.now - self.started_at;
        if delivered <= 0.0 || lost < LOSS_THRESHOLD * delivered || interval_ns < 1_000_000 {
            return;
        }
        let rate = delivered * 1e9 / interval_ns as f64;
        let apart = (rate - self.rate).abs();
        if self.rate > 0.0 && (apart <= SAME_SHARE * self.rate || apart <= SAME_BYTES_PER_S) {
            self.rate = (rate + self.rate) / 2.0;
            self.is_used = true;
            self.rounds = 0;
            return;
        }
        self.rate = rate;
        self.start_interval(sample);
    }
}
