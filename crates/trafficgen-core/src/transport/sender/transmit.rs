//! What is sent next, and whether now.

use super::super::outbox::Outbox;
use super::super::receiver::NEVER;
use super::super::{flag, Time};
use super::burst::Burst;
use super::timer::Alarm;
use super::undo::Doubt;
use super::{Phase, Sender};

/// A stretch to send.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    start: u64,
    end: u64,
    again: bool,
}

impl Sender {
    /// Sends all that windows and data allow.
    pub fn transmit(&mut self, outbox: &mut Outbox) {
        let sent_before = self.sent;
        self.restart_if_idle(outbox.now);
        self.pacer.start();
        self.burst = Burst::default();
        if self.resend_head {
            self.resend_head = false;
            self.free_pass = false;
            self.resend_first(outbox);
        }
        let limited = loop {
            let Some(chunk) = self.next_chunk() else { break false };
            let full = self.pipe_bytes() + (chunk.end - chunk.start) > self.window_bytes();
            if full && !self.free_pass {
                break true;
            }
            if !self.pacer.lets_go(outbox.now, self.congestion.as_ref()) {
                break false;
            }
            if !self.free_pass && !chunk.again && self.awaits_room(outbox.now) {
                self.pacer.start();
                break true;
            }
            self.free_pass = false;
            self.send(chunk, outbox);
        };
        if limited {
            self.window_limited = true;
            self.limited_at = self.nxt;
        }
        if limited || self.sent > sent_before {
            self.validate_window(outbox.now, limited);
        }
        self.arm_timer(outbox.now);
    }

    fn restart_if_idle(&mut self, now: Time) {
        if self.una < self.nxt || self.new_chunk().is_none() {
            return;
        }
        let (idle_ns, timeout_ns) = (now - self.last_sent, self.rto.timeout_ns());
        if self.restart_after_idle && idle_ns > timeout_ns {
            self.congestion.restart(idle_ns, timeout_ns);
            self.full_at = now;
            self.most_used_bytes = 0;
        }
        self.congestion.on_idle_end(now, idle_ns);
    }

    /// Whether the window, and not the application, limits the sender, with `flight` outstanding:
    /// slow start may double what was in use even if the application paused in between.
    pub(super) fn uses_window(&self, flight: u64) -> bool {
        let is_slow_start = self.congestion.in_slow_start();
        self.window_limited || is_slow_start && self.congestion.window_bytes() < 2 * flight
    }

    /// A window that was not full for a timeout is too large to trust (RFC 2861).
    fn validate_window(&mut self, now: Time, limited: bool) {
        let flight = self.nxt - self.una;
        if limited || self.uses_window(flight) {
            self.most_used_bytes = 0;
            self.full_at = now;
            return;
        }
        self.most_used_bytes = self.most_used_bytes.max(flight);
        let is_stale = now - self.full_at >= self.rto.timeout_ns();
        if self.restart_after_idle && self.phase == Phase::Open && is_stale {
            self.congestion.note_unused(self.most_used_bytes);
            self.most_used_bytes = 0;
            self.full_at = now;
        }
    }

    fn next_chunk(&self) -> Option<Chunk> {
        let waits = self.doubt == Doubt::Second && self.new_chunk().is_some();
        if self.una < self.nxt && self.phase != Phase::Open && !waits {
            if let Some(hole) = self.board.next_lost(self.una) {
                return Some(self.resend_chunk(hole));
            }
        }
        let new = self.new_chunk();
        let is_new_only = !self.sack || self.rack.is_some();
        if new.is_some() || self.phase != Phase::Recovery || is_new_only {
            return new;
        }
        self.board.next_hole(self.una).map(|hole| self.resend_chunk(hole))
    }

    /// One segment of a hole; a FIN rides on what comes before it.
    fn resend_chunk(&self, (start, hole_end): (u64, u64)) -> Chunk {
        let mut end = hole_end.min(start + self.mss);
        if end == self.queued && hole_end > end {
            end += 1;
        }
        Chunk { start, end, again: true }
    }

    fn new_chunk(&self) -> Option<Chunk> {
        if self.probing || self.nxt >= self.end() {
            return None;
        }
        let pending = self.queued.saturating_sub(self.nxt);
        let room = self.edge.saturating_sub(self.nxt);
        let payload = pending.min(self.mss).min(room);
        let all = payload == pending;
        if payload < self.mss && !self.small_may_go(payload, all) {
            return None;
        }
        Some(Chunk {
            start: self.nxt,
            end: self.nxt + payload + u64::from(all && self.closing),
            again: false,
        })
    }

    /// Silly windows (RFC 9293 3.8.6.2.1) and Nagle.
    fn small_may_go(&self, payload: u64, all: bool) -> bool {
        if all {
            !self.nagle || self.una == self.nxt || self.closing
        } else {
            payload > 0 && payload >= self.widest_window / 2
        }
    }

    fn send(&mut self, chunk: Chunk, outbox: &mut Outbox) {
        let fin = chunk.end > self.queued;
        let payload = (chunk.end - chunk.start - u64::from(fin)) as u32;
        let mut flags = if fin { flag::FIN } else { 0 };
        if payload > 0 && chunk.start + u64::from(payload) == self.queued {
            flags |= flag::PSH;
        }
        if self.burst.ends_with(chunk.end - chunk.start) && !chunk.again {
            flags |= flag::PSH;
        }
        let repeats = chunk.again || chunk.end <= self.sent;
        if self.tells_reduction && payload > 0 && !repeats {
            self.tells_reduction = false;
            flags |= flag::CWR;
        }
        outbox.send(chunk.start, payload, flags, repeats);
        self.note_departure(outbox.now, chunk.start, chunk.end);
        if self.una == self.nxt {
            self.timer = NEVER; // it waited for a window until now
        }
        if chunk.again {
            self.note_repetition(outbox.now);
            let order = self.rack.as_ref().map_or(0, |rack| rack.departures());
            let left = (outbox.now, order);
            self.board.note_resent(self.una, (chunk.start, chunk.end), self.nxt, left);
            self.timed = None; // Karn
            if chunk.start == self.una && self.rack.is_some() && self.alarm != Alarm::Late {
                self.timer = NEVER; // it counts from the retransmission
                self.alarm = Alarm::Timeout;
            }
        } else {
            self.nxt = chunk.end;
            self.sent_new = true;
            if self.timed.is_none() && !self.timestamps && chunk.start >= self.sent {
                self.timed = Some((chunk.end, outbox.now));
            }
            self.sent = self.sent.max(chunk.end);
        }
        if self.phase == Phase::Recovery {
            self.reduction.note_sent(chunk.end - chunk.start);
        }
        self.last_sent = outbox.now;
    }

    /// One new segment if there is any, whatever the congestion window; whether there was.
    pub(super) fn send_new_probe(&mut self, outbox: &mut Outbox) -> bool {
        let chunk = self.new_chunk();
        if let Some(chunk) = chunk {
            self.send(chunk, outbox);
            self.sent_new = false;
        }
        chunk.is_some()
    }

    /// The last outstanding segment.
    pub(super) fn resend_tail(&mut self, outbox: &mut Outbox) {
        let tail = self.rack.as_ref().and_then(|rack| rack.tail());
        let (start, end) = tail.unwrap_or((self.una, self.nxt));
        self.resend(self.resend_chunk((start.max(self.una), end.min(self.nxt))), outbox);
    }

    /// The first outstanding segment, for NewReno, which keeps no score.
    fn resend_first(&mut self, outbox: &mut Outbox) {
        if self.una >= self.nxt {
            return;
        }
        self.resend(self.resend_chunk((self.una, self.nxt)), outbox);
    }

    fn resend(&mut self, chunk: Chunk, outbox: &mut Outbox) {
        let fin = chunk.end > self.queued;
        let payload = (chunk.end - chunk.start - u64::from(fin)) as u32;
        outbox.send(chunk.start, payload, if fin { flag::FIN } else { 0 }, true);
        self.note_departure(outbox.now, chunk.start, chunk.end);
        self.timed = None;
        self.last_sent = outbox.now;
    }

    /// One byte into a closed window (RFC 9293 3.8.6.1), or what fits into one that is too small
    /// for a segment.
    pub(super) fn probe(&mut self, outbox: &mut Outbox) {
        let room = self.edge.saturating_sub(self.una);
        let payload = self.queued.saturating_sub(self.una).min(self.mss).min(room.max(1));
        if payload == 0 {
            return;
        }
        let end = self.una + payload;
        outbox.send(self.una, payload as u32, 0, self.sent >= end);
        self.note_departure(outbox.now, self.una, end);
        self.probing = room == 0;
        self.nxt = end;
        self.sent = self.sent.max(end);
        self.timed = None;
        self.last_sent = outbox.now;
    }
}
