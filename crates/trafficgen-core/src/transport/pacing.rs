//! Pacing: bursts leave at the rate of the control, and the rest waits for a timer.

use super::congestion::Control;
use super::receiver::NEVER;
use super::Time;

/// Linux lets the first segments of a connection go at once.
const UNPACED_SEGMENTS: u32 = 10;

/// A millisecond of data at a rate in bytes per second, as large segments of Linux hold.
pub(super) fn burst_bytes(rate: f64, mss: f64) -> u64 {
    let least = if rate < 1.2e6 / 8.0 { 1.0 } else { 2.0 };
    ((rate / 1024.0).min(65_000.0) / mss).floor().max(least) as u64 * mss as u64
}

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

    pub fn next_at(&self) -> Time {
        self.next_at
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
        control.pacing_rate().is_none() || self.lets_burst_go(now, || control.burst_bytes())
    }

    /// The same where there is a rate, by the size of a burst.
    pub fn lets_burst_go(&mut self, now: Time, burst_bytes: impl FnOnce() -> u64) -> bool {
        if self.burst_left > 0 {
            return true;
        }
        if self.segments == 0 {
            self.next_at = self.next_at.min(now); // flows may start before time zero
        }
        if now < self.next_at {
            self.timer = self.next_at;
            return false;
        }
        self.burst_left = burst_bytes();
        self.credit_ns = now - self.next_at;
        true
    }

    /// `bytes` leave, to be followed at `rate`, bytes per second.
    pub fn note_departure(&mut self, now: Time, bytes: u64, rate: f64) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_that_starts_before_time_zero_is_not_held_back_until_then() {
        let mut pacer = Pacer::default();
        let start: Time = -10_000_000_000;
        let mut now = start;
        for _ in 0..100 {
            while !pacer.lets_burst_go(now, || 1000) {
                now = pacer.timer();
            }
            pacer.note_departure(now, 1000, 1e6);
        }
        // One each millisecond, apart from the first ten.
        assert!((80_000_000..=90_000_000).contains(&(now - start)), "{}", now - start);
    }
}
