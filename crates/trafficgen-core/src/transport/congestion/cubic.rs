//! CUBIC (RFC 9438), in segments and seconds.

use super::super::Time;

const SCALE: f64 = 0.4; // C
const DECREASE: f64 = 0.7; // beta_cubic
/// Makes additive increase with that decrease as fast as Reno (RFC 9438 4.3).
const FRIENDLY_INCREASE: f64 = 3.0 * (1.0 - DECREASE) / (1.0 + DECREASE);
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

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cubic {
    maximum: f64,
    /// Window before the last decrease (cwnd_prior).
    prior: f64,
    epoch: Option<Epoch>,
}

impl Cubic {
    /// Growth of a window of `window` segments when `acknowledged` segments were.
    pub fn increase(
        &mut self,
        now: Time,
        window: f64,
        acknowledged: f64,
        smoothed_rtt_ns: Time,
    ) -> f64 {
        let maximum = self.maximum;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            plateau_s: ((maximum - window).max(0.0) / SCALE).cbrt(),
            origin: maximum.max(window),
            friendly: window,
        });
        let pace = if epoch.friendly < self.prior { FRIENDLY_INCREASE } else { 1.0 };
        epoch.friendly += pace * acknowledged / window;
        let elapsed_s = (now - epoch.start) as f64 / NS_PER_S;
        let cubic = |time_s: f64| epoch.origin + SCALE * (time_s - epoch.plateau_s).powi(3);
        if cubic(elapsed_s) < epoch.friendly {
            return (epoch.friendly - window).max(0.0);
        }
        let target =
            cubic(elapsed_s + smoothed_rtt_ns as f64 / NS_PER_S).clamp(window, 1.5 * window);
        (target - window) / window * acknowledged
    }

    /// The window after loss at a window of `window` segments of which `flight` were in use.
    pub fn decrease(&mut self, window: f64, flight: f64) -> f64 {
        let shrinking = window < self.maximum; // fast convergence (RFC 9438 4.7)
        self.maximum = if shrinking { flight * (1.0 + DECREASE) / 2.0 } else { flight };
        self.prior = flight;
        self.epoch = None;
        flight * DECREASE
    }

    pub fn restart_epoch(&mut self) {
        self.epoch = None;
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
    fn a_shrinking_flow_gives_room() {
        let mut cubic = Cubic::default();
        cubic.decrease(100.0, 100.0);
        cubic.decrease(80.0, 80.0);
        assert!((cubic.maximum - 68.0).abs() < 1e-9);
    }
}
