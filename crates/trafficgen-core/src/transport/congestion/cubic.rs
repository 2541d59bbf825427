//! CUBIC in segments and seconds: RFC 9438, or as Linux has it.
//!
//! Linux takes the target of a shortest instead of a smoothed round trip later, keeps the slower of
//! both paces of Reno, forgets the maximum after a timeout, grows by a twentieth in a round trip
//! while it knows none, and counts in whole segments.

use super::super::Time;
use super::steps::Steps;

const SCALE: f64 = 0.4; // C
const DECREASE: f64 = 0.7; // beta_cubic
/// Makes additive increase with that decrease as fast as Reno (RFC 9438 4.3).
const FRIENDLY_INCREASE: f64 = 3.0 * (1.0 - DECREASE) / (1.0 + DECREASE);
/// Of the window in a round trip, at most.
const GREATEST_GROWTH: f64 = 0.5;
/// Where no loss has shown a maximum yet, at least: a start that ended too soon goes on.
const BLIND_GROWTH: f64 = 0.05;
const NS_PER_S: f64 = 1e9;

#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// Seconds until the window is back at `origin` (K).
    plateau_s: f64,
    origin: f64,
    /// What Reno would have (W_est).
    friendly: f64,
}

impl Epoch {
    /// The cubic function (RFC 9438 4.2).
    fn window_at(&self, time_s: f64) -> f64 {
        self.origin + SCALE * (time_s - self.plateau_s).powi(3)
    }

    /// Segments whose acknowledgement grows the window by one, in whole numbers as Linux counts
    /// (bictcp_update of net/ipv4/tcp_cubic.c): windows of a few segments grow faster by that.
    fn segments_of_linux(&self, time_s: f64, window: f64, is_blind: bool) -> f64 {
        let target = self.origin + (self.window_at(time_s) - self.origin).trunc();
        let most = if is_blind { 1.0 / BLIND_GROWTH } else { 100.0 * window };
        let toward = |target: f64| (window / (target - window)).floor();
        let mut segments = if target > window { toward(target).min(most) } else { most };
        if self.friendly > window {
            segments = segments.min(toward(self.friendly));
        }
        segments.max(1.0 / GREATEST_GROWTH)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cubic {
    of_linux: bool,
    /// Window at the last loss; 0: there was none.
    maximum: f64,
    /// Window before the last decrease (cwnd_prior).
    prior: f64,
    epoch: Option<Epoch>,
    steps: Steps,
}

impl Cubic {
    pub fn new(of_linux: bool) -> Self {
        Self { of_linux, ..Self::default() }
    }

    /// Growth of a window of `window` segments when `acknowledged` segments were, towards that of
    /// a round trip later.
    pub fn increase(
        &mut self,
        now: Time,
        window: f64,
        acknowledged: f64,
        round_trip_ns: Time,
    ) -> f64 {
        let maximum = self.maximum;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            plateau_s: ((maximum - window).max(0.0) / SCALE).cbrt(),
            origin: maximum.max(window),
            friendly: window,
        });
        let elapsed_s = (now - epoch.start) as f64 / NS_PER_S;
        let later_s = elapsed_s + round_trip_ns as f64 / NS_PER_S;
        if self.of_linux {
            return self.steps.grow(now, window, acknowledged, |friendly_steps| {
                epoch.friendly += friendly_steps;
                epoch.segments_of_linux(later_s, window, maximum == 0.0)
            });
        }
        let pace = if epoch.friendly < self.prior { FRIENDLY_INCREASE } else { 1.0 };
        epoch.friendly += pace * acknowledged / window;
        if epoch.window_at(elapsed_s) < epoch.friendly {
            return (epoch.friendly - window).max(0.0);
        }
        let growth = epoch.window_at(later_s) / window - 1.0;
        growth.clamp(0.0, GREATEST_GROWTH) * acknowledged
    }

    /// The window after loss at a window of `window` segments of which `used` were.
    pub fn decrease(&mut self, window: f64, used: f64) -> f64 {
        let shrinking = window < self.maximum; // fast convergence (RFC 9438 4.7)
        self.maximum = if shrinking { used * (1.0 + DECREASE) / 2.0 } else { used };
        if self.of_linux {
            self.maximum = self.maximum.floor();
        }
        self.prior = used;
        self.epoch = None;
        self.steps = Steps::default();
        used * DECREASE
    }

    /// A timeout has come.
    pub fn note_timeout(&mut self) {
        if self.of_linux {
            *self = Self::new(true);
        }
    }

    pub fn restart_epoch(&mut self) {
        self.epoch = None;
    }

    /// Nothing was sent for `idle_ns`, which does not count (RFC 9438 5.8).
    pub fn skip(&mut self, now: Time, idle_ns: Time) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle_ns).min(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT_NS: Time = 100_000_000;

    /// The window after `rounds` round trips without loss.
    fn grown(cubic: &mut Cubic, from: f64, rounds: i64) -> f64 {
        (0..=rounds).fold(from, |window, round| {
            window + cubic.increase(round * RTT_NS, window, window, RTT_NS)
        })
    }

    #[test]
    fn the_window_is_back_at_its_maximum_after_the_time_of_rfc_9438() {
        let mut cubic = Cubic::default();
        let lowered = cubic.decrease(1000.0, 1000.0);
        assert!((lowered - 700.0).abs() < 1e-9);
        let back_after_s = (300.0f64 / 0.4).cbrt();
        let rounds = (back_after_s * 10.0) as i64;
        let window = grown(&mut cubic, lowered, rounds);
        assert!((window - 1000.0).abs() < 2.0, "{window}");
    }

    #[test]
    fn small_windows_grow_at_least_like_reno() {
        let mut cubic = Cubic::default();
        let lowered = cubic.decrease(10.0, 10.0);
        let window = grown(&mut cubic, lowered, 3);
        assert!(window > lowered + 3.0 * FRIENDLY_INCREASE - 0.3, "{window}");
    }

    #[test]
    fn linux_grows_by_a_segment_towards_the_next_whole_window() {
        let mut cubic = Cubic::new(true);
        cubic.decrease(12.0, 12.0);
        // The function has 8.2 segments after 40 ms, which count as 9.
        assert_eq!(cubic.increase(0, 8.0, 7.0, 40_000_000), 0.0);
        assert_eq!(cubic.increase(0, 8.0, 1.0, 40_000_000), 1.0);
    }

    #[test]
    fn linux_keeps_whole_segments_of_a_maximum_that_gives_room() {
        let mut cubic = Cubic::new(true);
        cubic.decrease(10.0, 10.0);
        cubic.decrease(7.0, 7.0);
        assert_eq!(cubic.maximum, 5.0);
    }

    #[test]
    fn a_start_that_ended_without_loss_goes_on_by_a_twentieth_of_the_window() {
        let mut cubic = Cubic::new(true);
        let window = grown(&mut cubic, 100.0, 9);
        assert!((window / 100.0 - 1.05f64.powi(10)).abs() < 0.02, "{window}");
    }

    #[test]
    fn idle_time_is_no_time_to_grow() {
        let mut busy = Cubic::default();
        busy.decrease(1000.0, 1000.0);
        let mut idle = busy;
        let first = busy.increase(0, 700.0, 700.0, RTT_NS);
        assert_eq!(idle.increase(0, 700.0, 700.0, RTT_NS), first);
        idle.skip(1000 * RTT_NS, 990 * RTT_NS);
        let after_ten = busy.increase(10 * RTT_NS, 700.0, 700.0, RTT_NS);
        assert_eq!(idle.increase(1000 * RTT_NS, 700.0, 700.0, RTT_NS), after_ten);
    }

    #[test]
    fn a_shrinking_flow_gives_room() {
        let mut cubic = Cubic::default();
        cubic.decrease(100.0, 100.0);
        cubic.decrease(80.0, 80.0);
        assert!((cubic.maximum - 68.0).abs() < 1e-9);
    }
}
