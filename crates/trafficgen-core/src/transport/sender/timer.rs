//! Retransmission and window-probe timer: one clock, for what is outstanding or for what cannot be
//! sent.

use super::super::outbox::Outbox;
use super::super::receiver::NEVER;
use super::super::Time;
use super::{Phase, Sender};

/// Timeouts without progress after which a connection is given up; tcp_retries2 of Linux.
const MAXIMUM_TIMEOUTS: u32 = 15;
const LONGEST_PROBE_INTERVAL_NS: Time = 60_000_000_000;

impl Sender {
    /// Acts when the timer has come.
    pub fn on_timer(&mut self, outbox: &mut Outbox) {
        if self.pacer.is_due(outbox.now) {
            self.transmit(outbox);
        }
        if outbox.now < self.timer {
            return;
        }
        self.timer = NEVER;
        if self.una < self.nxt && !self.probing {
            self.time_out(outbox);
            return;
        }
        if self.nxt < self.end() || self.probing {
            self.probe(outbox);
            self.probes += 1;
        }
        self.arm_timer(outbox.now);
    }

    /// RFC 6298 5.4 to 5.6, RFC 5681 3.1.
    fn time_out(&mut self, outbox: &mut Outbox) {
        if self.timeouts_in_row >= MAXIMUM_TIMEOUTS {
            self.gave_up = true;
            return;
        }
        outbox.statistics.timeouts += 1;
        self.congestion.on_timeout(self.nxt - self.una, self.timeouts_in_row > 0);
        self.timeouts_in_row += 1;
        self.rto.back_off();
        self.leave_recovery();
        self.phase = Phase::Timeout;
        self.recovery_point = self.nxt;
        self.repeated_below = self.nxt;
        self.timed = None;
        self.board.time_out(self.una, self.nxt);
        self.free_pass = true;
        self.transmit(outbox);
    }

    /// New data was acknowledged (RFC 6298 5.2, 5.3).
    pub(super) fn restart_timer(&mut self, now: Time, restart: bool) {
        if self.una == self.nxt {
            self.timer = NEVER;
        } else if restart {
            self.timer = now + self.rto.timeout_ns();
        }
    }

    /// Starts the timer if it does not run and something is outstanding, or waits for a window.
    pub(super) fn arm_timer(&mut self, now: Time) {
        if self.timer != NEVER {
            return;
        }
        if self.una < self.nxt && !self.probing {
            self.timer = now + self.rto.timeout_ns();
        } else if self.nxt < self.end() || self.probing {
            let interval_ns = self.rto.timeout_ns() << self.probes.min(12);
            self.timer = now + interval_ns.min(LONGEST_PROBE_INTERVAL_NS);
        }
    }
}
