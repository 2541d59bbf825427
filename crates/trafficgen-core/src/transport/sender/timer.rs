//! Retransmission and window-probe timer: one clock, for what is outstanding or for what cannot be
//! sent.

use super::super::outbox::Outbox;
use super::super::receiver::NEVER;
use super::super::Time;
use super::undo::Doubt;
use super::{Phase, Sender};

/// What the timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    Timeout,
    /// A probe of the tail.
    LossProbe,
    /// What may be late is lost.
    Late,
}

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
        let alarm = std::mem::replace(&mut self.alarm, Alarm::Timeout);
        if self.una < self.nxt && !self.probing {
            match alarm {
                Alarm::Timeout => self.time_out(outbox),
                Alarm::LossProbe => self.send_loss_probe(outbox),
                Alarm::Late => self.give_up_late(outbox),
            }
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
        let begins = self.timeouts_in_row == 0 && self.phase == Phase::Open;
        if begins {
            self.note_reduction();
        }
        let is_doubtful = self.sack && (begins || self.timeouts_in_row > 0);
        self.congestion.on_timeout(self.nxt - self.una, self.timeouts_in_row > 0);
        self.timeouts_in_row += 1;
        self.rto.back_off();
        self.leave_recovery();
        self.phase = Phase::Timeout;
        self.loss_probe = None;
        self.recovery_point = self.nxt;
        self.repeated_below = self.nxt;
        self.timed = None;
        self.board.time_out(self.una, self.nxt);
        self.free_pass = true;
        self.transmit(outbox);
        self.doubt = if is_doubtful { Doubt::First } else { Doubt::None };
    }

    /// New data was acknowledged (RFC 6298 5.2, 5.3).
    pub(super) fn restart_timer(&mut self, now: Time, restart: bool) {
        if self.una == self.nxt {
            self.timer = NEVER;
            self.alarm = Alarm::Timeout;
        } else if restart {
            self.start_timer(now);
        }
    }

    fn start_timer(&mut self, now: Time) {
        if let Some(due) = self.probe_due(now) {
            self.alarm = Alarm::LossProbe;
            self.timer = due;
            return;
        }
        self.timer = match self.alarm {
            Alarm::Timeout => now + self.rto.timeout_ns(),
            Alarm::LossProbe | Alarm::Late => self.timeout_after_head(now),
        };
        self.alarm = Alarm::Timeout;
    }

    /// Starts the timer if it does not run and something is outstanding, or waits for a window.
    pub(super) fn arm_timer(&mut self, now: Time) {
        let sent_new = std::mem::take(&mut self.sent_new) && self.rack.is_some();
        if self.timer != NEVER && !(sent_new && self.alarm != Alarm::Late) {
            return;
        }
        if self.una < self.nxt && !self.probing {
            if self.timer == NEVER || self.probe_due(now).is_some() {
                self.start_timer(now);
            }
        } else if self.nxt < self.end() || self.probing {
            let interval_ns = self.rto.timeout_ns() << self.probes.min(12);
            self.timer = now + interval_ns.min(LONGEST_PROBE_INTERVAL_NS);
        }
    }
}
