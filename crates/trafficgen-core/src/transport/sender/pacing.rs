//! Pacing: bursts leave at the rate of the control, and the rest waits for a timer.

use super::super::congestion::Control;
use super::super::rates::Sums;
use super::super::receiver::NEVER;
use super::super::Time;
use super::Sender;

/// Linux lets the first segments of a connection go at once.
const UNPACED_SEGMENTS: u32 = 10;

/// When the next burst may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    next_at: Time,
    timer: Time,
    /// Bytes that may still leave with the present burst.
    burst_left: u64,
    /// How much later than it might have the present burst leaves; half of that is made good.
    credit_ns: Time,
    segments: u32,
}

impl Default for Pacer {
    fn default() -> Self {
        Self { next_at: 0, timer: NEVER, burst_left: 0, credit_ns: 0, segments: 0 }
    }
}

impl Pacer {
    pub fn timer(&self) -> Time {
        self.timer
    }

    pub fn is_due(&self, now: Time) -> bool {
        now >= self.timer
    }

    pub fn departs_in_ns(&self, now: Time) -> Time {
        (self.next_at - now).max(0)
    }

    /// The sender looks at what may leave.
    pub fn start(&mut self) {
        self.timer = NEVER;
        self.burst_left = 0;
    }

    /// Whether a segment may leave now; sets the timer where it may not.
    pub fn lets_go(&mut self, now: Time, control: &dyn Control) -> bool {
        if self.burst_left > 0 || control.pacing_rate().is_none() {
            return true;
        }
        if now < self.next_at {
            self.timer = self.next_at;
            return false;
        }
        self.burst_left = control.burst_bytes();
        self.credit_ns = now - self.next_at;
        true
    }

    fn note_departure(&mut self, now: Time, bytes: u64, rate: f64) {
        self.burst_left = self.burst_left.saturating_sub(bytes);
        self.segments = self.segments.saturating_add(1);
        if self.segments > UNPACED_SEGMENTS {
            let length_ns = (bytes as f64 * 1e9 / rate.max(1.0)) as Time;
            let made_good_ns = self.credit_ns.min(length_ns / 2);
            self.credit_ns -= made_good_ns;
            self.next_at = self.next_at.max(now) + length_ns - made_good_ns;
        }
    }
}

impl Sender {
    /// Notes that `start..end` leaves now, for pacing and for samples of the rate.
    pub(super) fn note_departure(&mut self, now: Time, start: u64, end: u64) {
        if let Some(rates) = &mut self.rates {
            let starts = self.una == self.nxt;
            if starts {
                self.congestion.on_start_after_idle(now, rates.is_application_limited());
            }
            let flight_bytes = self.board.pipe_bytes(self.una, self.nxt) + (end - start);
            let lost_ever_bytes = self.board.lost_ever_bytes();
            let sums = Sums { flight_bytes, lost_ever_bytes };
            rates.note_sent(now, (start, end), starts, sums);
        }
        if let Some(rate) = self.congestion.pacing_rate() {
            self.pacer.note_departure(now, end - start, rate);
        }
    }

    /// The application is about to write while all else has left and the window has room.
    pub(super) fn note_shortage(&mut self) {
        if self.rates.is_none() || self.queued.saturating_sub(self.nxt) >= self.mss {
            return;
        }
        let flight_bytes = self.pipe_bytes();
        if flight_bytes < self.congestion.window_bytes() && self.board.next_lost(self.una).is_none()
        {
            if let Some(rates) = &mut self.rates {
                rates.note_shortage(flight_bytes);
            }
        }
    }
}
