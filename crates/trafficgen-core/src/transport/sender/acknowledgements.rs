//! What an incoming acknowledgement does to the sender.

use super::super::congestion::{Acknowledged, Repair};
use super::super::feedback::{Position, Progress};
use super::super::{Segment, TcpStatistics, Time};
use super::{Phase, Sender};

impl Sender {
    /// Takes acknowledgement, SACK blocks and window of a segment; false when it acknowledges what
    /// was never sent.
    pub fn acknowledge(
        &mut self,
        now: Time,
        segment: &Segment,
        statistics: &mut TcpStatistics,
    ) -> bool {
        let ack = segment.acknowledgement;
        if ack > self.sent {
            return false;
        }
        if self.has_nothing_to_learn(segment) {
            self.widen(u64::from(segment.window_bytes));
            return true;
        }
        let prior = self.progress();
        self.original_came = false;
        let repairs = self.phase != Phase::Open;
        let reported = if self.sack { self.take_blocks(now, segment) } else { 0 };
        if reported > 0 && self.rack.is_none() {
            self.board.find_losses(self.una, self.mss);
            if self.repeats_again {
                self.board.find_lost_retransmissions(self.una, self.mss);
            }
        }
        let advanced = ack > self.una;
        if advanced {
            self.advance(now, segment, reported);
        } else if ack == self.una {
            self.stand_still(now, segment, reported);
        }
        self.judge_probe(segment, advanced, reported);
        if repairs || self.undo.is_some() && segment.sack.reports_duplicate {
            self.consider_undo(segment, advanced);
        }
        self.consider_recovery(statistics);
        self.sample(now, prior);
        self.await_late();
        true
    }

    /// Whether a segment says no more than how wide the window is: so it is with most that come to
    /// an end that only receives.
    fn has_nothing_to_learn(&self, segment: &Segment) -> bool {
        self.una == self.nxt
            && segment.acknowledgement == self.una
            && self.phase == Phase::Open
            && !self.probing
            && self.loss_probe.is_none()
            && !segment.sack.reports_duplicate
    }

    /// Notes SACK blocks; the bytes that were not known to have arrived.
    fn take_blocks(&mut self, now: Time, segment: &Segment) -> u64 {
        let base = segment.acknowledgement;
        let highest = self.board.highest_arrival();
        if segment.sack.reports_duplicate {
            if let Some(rack) = &mut self.rack {
                rack.widen(base, self.nxt);
            }
        }
        let mut reported = 0;
        for block in segment.sack.as_slice() {
            let start = (base + u64::from(block.start)).max(self.una);
            let end = (base + u64::from(block.end)).min(self.nxt);
            if start < end {
                self.note_arrivals(now, (start, end), highest);
                reported += self.board.sack(start, end);
            }
        }
        reported
    }

    fn note_arrivals(&mut self, now: Time, (start, end): (u64, u64), highest: Option<u64>) {
        if let Some(rack) = &mut self.rack {
            let holes = self.board.holes_in(start, end);
            holes.for_each(|(start, end)| {
                self.original_came |= rack.note_arrival(now, start, end, highest);
            });
        }
        if let Some(rates) = &mut self.rates {
            let holes = self.board.holes_in(start, end);
            holes.for_each(|(start, end)| rates.note_arrival(now, start, end));
        }
    }

    /// What an acknowledgement is compared with, where the control goes by samples.
    pub(super) fn progress(&self) -> Option<Progress> {
        let rates = self.rates.as_deref().filter(|_| self.una < self.nxt)?;
        Some(Progress {
            flight_bytes: self.pipe_bytes(),
            delivered_bytes: rates.delivered_bytes(),
            lost_ever_bytes: self.board.lost_ever_bytes(),
            lost_below: self.board.lost_below(),
        })
    }

    /// Tells the control what an acknowledgement has changed since `prior`.
    pub(super) fn sample(&mut self, now: Time, prior: Option<Progress>) {
        let Some(prior) = prior else { return };
        let position = Position {
            now,
            una: self.una,
            flight_bytes: self.pipe_bytes(),
            lost_ever_bytes: self.board.lost_ever_bytes(),
            lost_below: self.board.lost_below(),
            departs_in_ns: self.pacer.departs_in_ns(now),
            smoothed_rtt_ns: self.rto.smoothed_ns(),
            mss: self.mss,
            window_limited: self.window_limited,
            repair: match self.phase {
                Phase::Open => Repair::None,
                Phase::Recovery => Repair::Recovery,
                Phase::Timeout => Repair::Timeout,
            },
        };
        if let Some(rates) = self.rates.as_deref_mut() {
            position.tell(self.congestion.as_mut(), rates, &prior);
        }
    }

    fn advance(&mut self, now: Time, segment: &Segment, reported: u64) {
        let (old, flight) = (self.una, self.nxt.max(segment.acknowledgement) - self.una);
        self.una = segment.acknowledgement;
        self.nxt = self.nxt.max(self.una);
        let acknowledged = self.una - old;
        let highest = self.board.highest_arrival();
        self.note_arrivals(now, (old, self.una), highest);
        let lost_before = self.board.lost_ever_bytes();
        let delivered = self.board.acknowledge(old, self.una) + reported;
        self.widen(u64::from(segment.window_bytes));
        let round_trip_ns = self.round_trip(now, segment);
        if let Some(sample_ns) = round_trip_ns {
            self.rto.sample(sample_ns);
        } else if self.rates.is_some() {
            // RFC 6298 keeps a doubled timeout until something is timed. Where each large window
            // of BBR loses something and there are no timestamps, that never comes, and a loss
            // takes a minute to repair: progress ends the doubling, as in QUIC (RFC 9002 6.2.1).
            self.rto.reset();
        }
        if self.una >= self.limited_at && self.window_limited {
            self.window_limited = self.una == self.limited_at;
        }
        if let Some(rack) = &mut self.rack {
            rack.forget_below(self.una);
            self.find_late(now);
        }
        self.probing = false;
        self.probes = 0;
        self.timeouts_in_row = 0;
        self.duplicates = 0;
        if self.phase == Phase::Recovery && self.una < self.recovery_point {
            self.partial_acknowledgement(acknowledged);
            self.reduce(delivered, self.board.lost_ever_bytes() == lost_before);
            self.restart_timer(now, self.sack || !self.partial_seen);
            self.partial_seen = true;
            return;
        }
        self.grow(now, acknowledged, flight, round_trip_ns);
        if self.phase != Phase::Open && self.una >= self.recovery_point {
            self.leave_recovery();
        }
        self.restart_timer(now, true);
    }

    fn grow(&mut self, now: Time, acknowledged: u64, flight: u64, rtt_ns: Option<Time>) {
        if self.phase == Phase::Recovery {
            return;
        }
        // slow start may double what was in use even if the application paused in between
        let in_use = self.uses_window(flight);
        if let Some(sample_ns) = rtt_ns {
            self.shortest_rtt_ns = self.shortest_rtt_ns.min(sample_ns);
        }
        self.congestion.on_ack(&Acknowledged {
            now,
            bytes: acknowledged as f64,
            una: self.una,
            nxt: self.nxt,
            rtt_ns,
            smoothed_rtt_ns: self.rto.smoothed_ns(),
            shortest_rtt_ns: self.shortest_rtt_ns.min(self.rto.smoothed_ns().max(1)),
            in_use,
            after_timeout: self.phase == Phase::Timeout,
        });
    }

    /// The round trip that an acknowledgement of new data tells of.
    fn round_trip(&mut self, now: Time, segment: &Segment) -> Option<Time> {
        if self.timestamps {
            return segment.timestamps.map(|stamp| (now - stamp.echo).max(1));
        }
        let (_, sent_at) = self.timed.filter(|(end, _)| self.una >= *end)?;
        self.timed = None;
        Some(now - sent_at)
    }

    fn stand_still(&mut self, now: Time, segment: &Segment, reported: u64) {
        let edge = self.edge;
        self.widen(u64::from(segment.window_bytes));
        if self.probing {
            if self.edge > self.una {
                // the probe was turned down, now there is room: start over from it
                self.nxt = self.una;
                self.probing = false;
            }
            return;
        }
        if reported > 0 {
            self.find_late(now);
        }
        let bare = segment.payload_bytes == 0 && self.edge == edge && self.una < self.nxt;
        let duplicate = if self.sack { reported > 0 } else { bare };
        if duplicate {
            self.duplicates += 1;
            if self.phase == Phase::Recovery && !self.sack {
                self.inflation += self.mss;
            }
        }
        if self.phase == Phase::Recovery && self.sack {
            self.reduce(reported, false);
        }
    }
}
