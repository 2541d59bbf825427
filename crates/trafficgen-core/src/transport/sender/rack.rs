//! Losses found by time, and probes for a lost tail (RFC 8985), as Linux has them.

use super::super::outbox::Outbox;
use super::super::{Segment, Time};
use super::timer::Alarm;
use super::{Phase, Sender};

/// A lone segment is asked for no sooner than this after two round trips; TCP_TIMEOUT_MIN of Linux.
const LEAST_MARGIN_NS: Time = 2_000_000;

/// A probe of the tail that is not answered for yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossProbe {
    /// All that had left with it.
    pub end: u64,
    pub repeats: bool,
}

impl Sender {
    /// Finds what is lost by the time that it left; more will be when the timer comes.
    pub(super) fn find_late(&mut self, now: Time) {
        let Some(rack) = &mut self.rack else { return };
        // Duplicates decide while a loss is repaired, and once there are three.
        let certain = self.phase != Phase::Open || self.board.shows_loss(self.mss);
        let patience_ns = rack.patience_ns(self.rto.smoothed_ns(), certain);
        let lost_before = now - patience_ns;
        let from = self.board.lost_below().max(self.una);
        let (lost_below, waiting) = rack.find_losses(from, lost_before);
        if let Some(boundary) = lost_below {
            self.board.mark_lost_below(self.una, boundary);
        }
        let latest = rack.latest();
        let again = self.board.find_late_retransmissions(self.una, latest, lost_before);
        self.late_at = waiting.max(again).map(|sent_at| sent_at + patience_ns);
    }

    /// Waits for what may be late.
    pub(super) fn await_late(&mut self) {
        if let Some(due) = self.late_at.take() {
            self.alarm = Alarm::Late;
            self.timer = due;
        }
    }

    /// What was waited for has not come.
    pub(super) fn give_up_late(&mut self, outbox: &mut Outbox) {
        let prior = self.progress();
        self.find_late(outbox.now);
        self.consider_recovery(outbox.statistics);
        self.sample(outbox.now, prior);
        self.await_late();
        self.transmit(outbox);
    }

    /// When a probe is due if nothing is acknowledged; None where the retransmission timer is to
    /// run.
    pub(super) fn probe_due(&self, now: Time) -> Option<Time> {
        let head_sent_at = self.rack.as_ref()?.head_sent_at()?;
        if self.phase != Phase::Open || self.probing || self.board.has_arrivals() {
            return None;
        }
        let is_lone = self.nxt - self.una <= self.mss;
        let margin_ns = if is_lone { self.rto.minimum_ns() } else { LEAST_MARGIN_NS };
        let probe_at = match self.rto.smoothed_ns() {
            0 => now + self.rto.timeout_ns(),
            smoothed_ns => now + 2 * smoothed_ns + margin_ns,
        };
        let timeout_at = head_sent_at + self.rto.timeout_ns();
        Some(if timeout_at > now { probe_at.min(timeout_at) } else { probe_at })
    }

    /// Sends one new segment whatever the congestion window, or the last one again, so that its
    /// acknowledgement shows what is missing.
    pub(super) fn send_loss_probe(&mut self, outbox: &mut Outbox) {
        self.alarm = Alarm::Timeout;
        if self.loss_probe.is_some() {
            self.timer = self.timeout_after_head(outbox.now);
            return;
        }
        let end = self.nxt;
        let sends_new = self.send_new_probe(outbox);
        if !sends_new {
            self.resend_tail(outbox);
        }
        self.loss_probe = Some(LossProbe { end: self.nxt.max(end), repeats: !sends_new });
        self.timer = outbox.now + self.rto.timeout_ns();
    }

    /// The retransmission timeout, counted from when what is outstanding first left.
    pub(super) fn timeout_after_head(&self, now: Time) -> Time {
        let head_sent_at = self.rack.as_ref().and_then(|rack| rack.head_sent_at());
        let due = head_sent_at.map_or(now, |sent_at| sent_at + self.rto.timeout_ns());
        due.max(now + 1)
    }

    /// What an acknowledgement tells of a probe. One that repaired the tail hid a loss from the
    /// congestion window.
    pub(super) fn judge_probe(&mut self, segment: &Segment, advanced: bool, reported: u64) {
        let Some(probe) = self.loss_probe else { return };
        let ack = segment.acknowledgement;
        if ack < probe.end {
            return;
        }
        let is_bare = !advanced && reported == 0 && segment.payload_bytes == 0;
        if !probe.repeats || segment.sack.reports_duplicate {
            self.loss_probe = None;
        } else if ack > probe.end {
            self.loss_probe = None;
            if self.phase == Phase::Open {
                self.congestion.on_loss(self.nxt - self.una);
            }
        } else if is_bare {
            self.loss_probe = None;
        }
    }
}
