//! Fast retransmit and fast recovery: RFC 6675 with SACK, RFC 6582 without.

use super::super::scoreboard::DUPLICATE_THRESHOLD;
use super::super::TcpStatistics;
use super::{Phase, Sender};

/// Proportional rate reduction (RFC 6937): sends in recovery what the reduced share of the
/// deliveries allows.
#[derive(Clone, Debug, Default)]
pub(super) struct Reduction {
    flight: u64,
    delivered: u64,
    sent: u64,
    /// Pipe up to which may be sent now.
    limit: u64,
}

impl Reduction {
    fn start(flight: u64) -> Self {
        Self { flight: flight.max(1), ..Self::default() }
    }

    pub fn note_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Another acknowledgement delivered `bytes`; below the threshold `extra` more may leave.
    fn update(&mut self, bytes: u64, pipe: u64, threshold: u64, extra: u64) {
        self.delivered += bytes;
        let allowed = if pipe > threshold {
            let share = u128::from(self.delivered) * u128::from(threshold);
            (share.div_ceil(u128::from(self.flight)) as u64).saturating_sub(self.sent)
        } else {
            // Slow-start reduction bound.
            let bound = self.delivered.saturating_sub(self.sent).max(bytes) + extra;
            bound.min(threshold - pipe)
        };
        self.limit = pipe + allowed;
    }
}

impl Sender {
    /// Enters fast recovery when enough has arrived above the first hole.
    pub(super) fn consider_recovery(&mut self, statistics: &mut TcpStatistics) {
        let found = self.duplicates >= DUPLICATE_THRESHOLD && self.rack.is_none()
            || self.sack && self.board.is_lost(self.una);
        if self.phase != Phase::Open || self.una >= self.nxt || !found {
            return;
        }
        // RFC 6582 3.2: without SACK, duplicates of what a timeout repeated must not start another
        // recovery
        if !self.sack && self.una <= self.repeated_below && self.repeated_below > 0 {
            return;
        }
        statistics.fast_retransmits += 1;
        self.loss_probe = None;
        let flight = self.nxt - self.una;
        self.note_reduction();
        self.congestion.on_loss(flight);
        self.phase = Phase::Recovery;
        self.recovery_point = self.nxt;
        self.reduction = Reduction::start(flight);
        self.free_pass = true;
        self.partial_seen = false;
        if self.sack {
            self.board.mark_lost_below(self.una, self.una + self.mss.min(self.nxt - self.una));
            self.reduce(0, true);
        } else {
            self.resend_head = true;
            self.inflation = DUPLICATE_THRESHOLD * self.mss;
        }
    }

    /// The receiver has seen a mark: reduces the window as for a loss, once a round trip (RFC 3168
    /// 6.1.2), with nothing to repeat.
    pub fn hear_of_congestion(&mut self) {
        let answers = self.phase == Phase::Open && self.rates.is_none();
        if answers && self.una >= self.reduced_until && self.una < self.nxt {
            self.congestion.on_loss(self.nxt - self.una);
            self.reduced_until = self.nxt;
            self.tells_reduction = true;
        }
    }

    /// An acknowledgement in recovery delivered so much. One that `shows_repair` lets a segment
    /// more leave; without RACK any does, as RFC 6937 first had it.
    pub(super) fn reduce(&mut self, delivered: u64, shows_repair: bool) {
        let (pipe, threshold) = (self.pipe_bytes(), self.congestion.window_bytes());
        let extra = if shows_repair || self.rack.is_none() { self.mss } else { 0 };
        self.reduction.update(delivered, pipe, threshold, extra);
    }

    /// An acknowledgement of `acknowledged` bytes in recovery that did not reach its end (RFC 6582
    /// 3.2 step 5).
    pub(super) fn partial_acknowledgement(&mut self, acknowledged: u64) {
        if !self.sack {
            self.resend_head = true;
            self.inflation = self.inflation.saturating_sub(acknowledged);
            if acknowledged >= self.mss {
                self.inflation += self.mss;
            }
        }
    }

    /// All that was outstanding when the loss was found is acknowledged.
    pub(super) fn leave_recovery(&mut self) {
        if self.phase == Phase::Recovery && !self.sack {
            let flight = self.nxt - self.una;
            self.congestion.limit(flight.max(self.mss) + self.mss);
        }
        self.phase = Phase::Open;
        self.duplicates = 0;
        self.inflation = 0;
        self.resend_head = false;
        self.free_pass = false;
        self.board.forget_retransmissions(self.una);
        if let Some(rack) = &mut self.rack {
            rack.end_recovery();
        }
    }

    /// Pipe up to which the sender may fill the network.
    pub(super) fn window_bytes(&self) -> u64 {
        let window = self.congestion.window_bytes();
        match self.phase {
            Phase::Recovery if self.sack && self.smooth_reduction && self.rates.is_none() => {
                self.reduction.limit()
            }
            Phase::Recovery => window + self.inflation,
            // limited transmit (RFC 3042); with SACK the pipe has already shrunk
            Phase::Open if !self.sack => {
                window + self.duplicates.min(DUPLICATE_THRESHOLD - 1) * self.mss
            }
            Phase::Open | Phase::Timeout => window,
        }
    }
}
