//! How Linux grows CUBIC's window: by whole segments, out of acknowledgements that are counted.
//!
//! What has accumulated while a step took many counts as soon as it takes fewer
//! (tcp_cong_avoid_ai of net/ipv4/tcp_cong.c), and what a step takes is found anew for another
//! window or a thirty-second of a second later (bictcp_update of net/ipv4/tcp_cubic.c).

use super::super::Time;

const RENEWED_NS: Time = 1_000_000_000 / 32;
/// Windows whose acknowledgement grows Reno's by one, where the decrease is that of CUBIC: 17/9,
/// which Linux keeps in whole eighths.
const FRIENDLY_WINDOWS: f64 = 15.0 / 8.0;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steps {
    /// Segments acknowledged that have not grown the window yet.
    credit: f64,
    /// The same for the window that Reno would have.
    friendly_credit: f64,
    /// Segments that a step takes; 0: not known yet.
    needed: f64,
    /// For this window, as found then.
    window: f64,
    found_at: Time,
}

impl Steps {
    /// Growth in segments of a window of `window` of them, when `acknowledged` were; `find` tells
    /// how many a step takes, after so many steps that Reno would have made.
    pub fn grow(
        &mut self,
        now: Time,
        window: f64,
        acknowledged: f64,
        find: impl FnOnce(f64) -> f64,
    ) -> f64 {
        self.friendly_credit += acknowledged;
        if self.needed == 0.0 || window != self.window || now - self.found_at > RENEWED_NS {
            self.needed = find(self.friendly_steps(window));
            self.window = window;
            self.found_at = now;
        }
        let mut steps = 0.0;
        if self.credit >= self.needed {
            self.credit = 0.0;
            steps = 1.0;
        }
        self.credit += acknowledged;
        let more = (self.credit / self.needed).floor();
        self.credit -= more * self.needed;
        steps + more
    }

    /// Steps that Reno's window makes, beyond so many acknowledged.
    fn friendly_steps(&mut self, window: f64) -> f64 {
        let needed = (FRIENDLY_WINDOWS * window).floor().max(1.0);
        let steps = ((self.friendly_credit / needed).ceil() - 1.0).max(0.0);
        self.friendly_credit -= steps * needed;
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_accumulated_counts_as_soon_as_a_step_takes_less() {
        let mut steps = Steps::default();
        assert_eq!(steps.grow(0, 8.0, 20.0, |_| 800.0), 0.0);
        assert_eq!(steps.grow(2 * RENEWED_NS, 8.0, 1.0, |_| 8.0), 1.0);
        assert_eq!(steps.credit, 1.0);
    }

    #[test]
    fn what_a_step_takes_is_found_anew_for_another_window_or_later() {
        let mut steps = Steps::default();
        let mut found = 0;
        for (now, window) in [(0, 8.0), (1, 8.0), (2, 9.0), (3 + RENEWED_NS, 9.0)] {
            steps.grow(now, window, 1.0, |_| {
                found += 1;
                800.0
            });
        }
        assert_eq!(found, 3);
    }

    #[test]
    fn reno_makes_a_step_in_two_round_trips() {
        let mut steps = Steps::default();
        let mut made = 0.0;
        for round in 0..20 {
            steps.grow(round * 2 * RENEWED_NS, 8.0, 8.0, |friendly| {
                made += friendly;
                800.0
            });
        }
        assert_eq!(made, 10.0);
    }
}
