//! What loss has taught: how much may be under way in the long term, and until the next probe.

use super::super::Sampled;

/// What remains of a short-term limit after a round with loss (Beta).
pub(super) const BETA: f64 = 0.7;
/// Share of the long-term limit that is left to others while cruising.
const HEADROOM: f64 = 0.15;

/// Limits in bytes and bytes per second, infinite where nothing is known.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    long_term: f64,
    short_term_rate: f64,
    short_term_inflight: f64,
    /// Of the present round: the greatest rate and delivery.
    latest_rate: f64,
    latest_inflight: f64,
    lost_in_round: bool,
    losses: u32,
    round_ends_at: u64,
    is_round_over: bool,
    /// Rate and delivery of the last sample, with which a round begins.
    last: (f64, f64),
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            long_term: f64::INFINITY,
            short_term_rate: f64::INFINITY,
            short_term_inflight: f64::INFINITY,
            latest_rate: 0.0,
            latest_inflight: 0.0,
            lost_in_round: false,
            losses: 0,
            round_ends_at: 0,
            is_round_over: false,
            last: (0.0, 0.0),
        }
    }
}

impl Limits {
    pub fn long_term(&self) -> f64 {
        self.long_term
    }

    pub fn long_term_with_headroom(&self, mss: f64, least: f64) -> f64 {
        if self.long_term.is_infinite() {
            return self.long_term;
        }
        (self.long_term - mss.max(HEADROOM * self.long_term)).max(least)
    }

    pub fn short_term_rate(&self) -> f64 {
        self.short_term_rate
    }

    pub fn short_term_inflight(&self) -> f64 {
        self.short_term_inflight
    }

    pub fn latest_inflight(&self) -> f64 {
        self.latest_inflight
    }

    pub fn is_round_over(&self) -> bool {
        self.is_round_over
    }

    /// Acknowledgements of this round that told of loss.
    pub fn losses_in_round(&self) -> u32 {
        self.losses
    }

    pub fn set_long_term(&mut self, bytes: f64) {
        self.long_term = bytes;
    }

    pub fn raise_long_term(&mut self, bytes: f64) {
        self.long_term = self.long_term.max(bytes);
    }

    /// Loss begins a round of its own.
    pub fn note_loss(&mut self, delivered_bytes: u64) {
        if !self.lost_in_round {
            self.round_ends_at = delivered_bytes;
        }
        self.lost_in_round = true;
    }

    pub fn take(&mut self, sample: &Sampled) {
        self.is_round_over = false;
        self.losses += u32::from(sample.lost_bytes > 0);
        let Some(rate) = sample.rate else { return };
        self.last = (rate.bytes_per_s.unwrap_or(0.0), rate.delivered_bytes as f64);
        self.latest_rate = self.latest_rate.max(self.last.0);
        self.latest_inflight = self.latest_inflight.max(self.last.1);
        if rate.prior_delivered >= self.round_ends_at {
            self.round_ends_at = sample.delivered_bytes;
            self.is_round_over = true;
        }
    }

    /// Lowers the short-term limits after a round with loss (AdaptLowerBoundsFromCongestion).
    pub fn lower(&mut self, bandwidth: f64, window: f64) {
        if !self.lost_in_round {
            return;
        }
        if self.short_term_rate.is_infinite() {
            (self.short_term_rate, self.short_term_inflight) = (bandwidth, window);
        }
        self.short_term_rate = self.latest_rate.max(BETA * self.short_term_rate);
        self.short_term_inflight = self.latest_inflight.max(BETA * self.short_term_inflight);
    }

    pub fn end_round(&mut self) {
        self.lost_in_round = false;
        self.losses = 0;
        (self.latest_rate, self.latest_inflight) = self.last;
    }

    pub fn reset_signals(&mut self) {
        self.lost_in_round = false;
        (self.latest_rate, self.latest_inflight) = (0.0, 0.0);
    }

    pub fn forget_short_term(&mut self) {
        (self.short_term_rate, self.short_term_inflight) = (f64::INFINITY, f64::INFINITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_leaves_headroom_and_none_stays_none() {
        let mut limits = Limits::default();
        assert!(limits.long_term_with_headroom(1000.0, 4000.0).is_infinite());
        limits.set_long_term(100_000.0);
        assert!((limits.long_term_with_headroom(1000.0, 4000.0) - 85_000.0).abs() < 1e-6);
        limits.set_long_term(4000.0);
        assert!((limits.long_term_with_headroom(1000.0, 4000.0) - 4000.0).abs() < 1e-6);
    }

    #[test]
    fn a_round_with_loss_takes_three_tenths_and_a_probe_gives_them_back() {
        let mut limits = Limits::default();
        limits.lower(1e6, 1e5);
        assert!(limits.short_term_rate().is_infinite());
        limits.note_loss(0);
        limits.lower(1e6, 1e5);
        assert!((limits.short_term_rate() - 7e5).abs() < 1e-6);
        assert!((limits.short_term_inflight() - 7e4).abs() < 1e-6);
        limits.end_round();
        limits.lower(1e6, 1e5);
        assert!((limits.short_term_rate() - 7e5).abs() < 1e-6);
        limits.forget_short_term();
        assert!(limits.short_term_rate().is_infinite());
    }
}
