//! What leaves at once, where TCP is that of a present-day Linux: segments are made in bursts, as
//! large as a millisecond of data, and a smaller one may wait for more room
//! (net/ipv4/tcp_output.c).

use super::super::pacing::burst_bytes;
use super::super::Time;
use super::{Phase, Sender};

/// An acknowledgement that is due later is not waited for.
const MOMENT_NS: Time = 1_000_000;
/// Of the window: so much room is used at once.
const ROOM_DIVISOR: u64 = 3;
/// Of the window in a round trip, the rate by which bursts are sized in slow start and after it.
const START_GAIN: f64 = 2.0;
const LATER_GAIN: f64 = 1.2;
const LEAST_SEGMENTS: u64 = 2;

/// Segments that leave together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    left_bytes: u64,
    /// It has several segments, of which the last pushes: the receiver need not wait for more.
    pushes: bool,
}

impl Burst {
    fn new(bytes: u64, mss: u64) -> Self {
        let left_bytes = bytes / mss * mss;
        Self { left_bytes, pushes: left_bytes > mss }
    }

    /// `bytes` leave; whether they are the last of several segments.
    pub fn ends_with(&mut self, bytes: u64) -> bool {
        let had_left = self.left_bytes > 0;
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        self.pushes && had_left && self.left_bytes == 0
    }
}

impl Sender {
    /// Whether a burst that has room for some of its segments waits for an acknowledgement that is
    /// due in a moment (tcp_tso_should_defer of Linux 6.18); else begins one where none is under
    /// way.
    pub(super) fn awaits_room(&mut self, now: Time) -> bool {
        if self.rack.is_none() || self.burst.left_bytes > 0 {
            return false;
        }
        let (most, window) = (self.most_at_once(), self.window_bytes());
        let room = window.saturating_sub(self.pipe_bytes()).min(self.edge.saturating_sub(self.nxt));
        let pending = self.queued.saturating_sub(self.nxt);
        let is_small = room < most.min(pending).min(window / ROOM_DIVISOR);
        if is_small && self.phase == Phase::Open && self.expects_acknowledgement(now) {
            return true;
        }
        self.burst = Burst::new(most.min(room).min(pending), self.mss);
        false
    }

    /// Whether something left a moment ago, and the first that is outstanding is acknowledged in a
    /// moment.
    fn expects_acknowledgement(&self, now: Time) -> bool {
        let smoothed_ns = self.rto.smoothed_ns();
        let is_recent = now - self.last_sent.max(self.pacer.next_at()) <= MOMENT_NS;
        let head_sent_at = self.rack.as_ref().and_then(|rack| rack.head_sent_at());
        is_recent
            && head_sent_at.is_some_and(|sent_at| {
                sent_at + smoothed_ns - now <= MOMENT_NS.min(smoothed_ns / 2)
            })
    }

    /// Bytes of a whole burst (tcp_tso_autosize, at the rate of tcp_update_pacing_rate).
    fn most_at_once(&self) -> u64 {
        if self.congestion.pacing_rate().is_some() {
            return self.congestion.burst_bytes();
        }
        let window = self.congestion.window_bytes();
        let is_start = window < self.congestion.threshold_bytes() / 2;
        let gain = if is_start { START_GAIN } else { LATER_GAIN };
        let rate = gain * window as f64 * 1e9 / self.rto.smoothed_ns().max(1) as f64;
        burst_bytes(rate, self.mss as f64).max(LEAST_SEGMENTS * self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_several_segments_pushes() {
        let mut burst = Burst::new(3500, 1000);
        let pushing: Vec<_> = (0..5).map(|_| burst.ends_with(1000)).collect();
        assert_eq!(pushing, [false, false, true, false, false]);
        assert!(!Burst::new(1999, 1000).ends_with(1000));
    }
}
