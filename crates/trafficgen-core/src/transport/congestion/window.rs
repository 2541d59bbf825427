//! The window of controls that go by loss alone: slow start, and growth by Reno or CUBIC.

use super::super::{CongestionControl, TcpConfig, Time};
use super::cubic::Cubic;
use super::slow_start::Watch;
use super::{reno, Acknowledged, Control};

/// Of a window that was not used, the share at which slow start ends again, as in Linux.
const REMEMBERED: f64 = 0.75;

#[derive(Clone, Debug)]
enum Algorithm {
    Reno,
    Cubic(Cubic),
}

/// Window and threshold in bytes, fractions kept.
#[derive(Clone, Debug)]
pub(super) struct LossBased {
    algorithm: Algorithm,
    watch: Watch,
    window: f64,
    threshold: f64,
    initial_window: f64,
    mss: f64,
    byte_counting: bool,
    /// Unused windows decay (RFC 2861).
    validated: bool,
}

impl LossBased {
    pub fn new(config: &TcpConfig, mss: u64) -> Self {
        let mss = mss as f64;
        let initial_window = f64::from(config.initial_window_segments) * mss;
        Self {
            algorithm: match config.congestion_control {
                CongestionControl::Cubic => Algorithm::Cubic(Cubic::new(config.validates_window())),
                _ => Algorithm::Reno,
            },
            watch: Watch::new(config.slow_start_exit()),
            window: initial_window,
            threshold: config.initial_ssthresh_bytes.map_or(f64::INFINITY, |bytes| bytes as f64),
            initial_window,
            mss,
            byte_counting: config.appropriate_byte_counting,
            validated: config.validates_window(),
        }
    }

    /// Grows by what was acknowledged (RFC 5681 3.1, RFC 3465); the bytes left for congestion
    /// avoidance.
    fn slow_start(&mut self, ack: &Acknowledged, divisor: f64) -> f64 {
        let limit = if self.byte_counting && !ack.after_timeout { 2.0 } else { 1.0 };
        let mut growth = ack.bytes.min(limit * self.mss);
        if !ack.after_timeout {
            growth /= divisor;
        }
        let room = self.threshold - self.window;
        if growth < room {
            self.window += growth;
            return 0.0;
        }
        self.window = self.threshold;
        growth - room
    }

    fn lower_threshold(&mut self, flight_bytes: u64, by_timeout: bool) {
        self.watch.note_loss(by_timeout);
        // A window that is validated was used.
        let whole = self.counted(self.window / self.mss);
        let flight = if self.validated { whole * self.mss } else { flight_bytes as f64 };
        let used = flight.min(self.window.max(self.mss));
        let lowered = match &mut self.algorithm {
            Algorithm::Reno => used * reno::DECREASE,
            Algorithm::Cubic(cubic) => cubic.decrease(whole, used / self.mss) * self.mss,
        };
        self.threshold = (self.counted(lowered / self.mss) * self.mss).max(2.0 * self.mss);
    }

    /// A window in segments as growth and loss count it: whole ones in Linux.
    fn counted(&self, segments: f64) -> f64 {
        if self.validated {
            segments.floor().max(1.0)
        } else {
            segments
        }
    }

    fn restart_epoch(&mut self) {
        if let Algorithm::Cubic(cubic) = &mut self.algorithm {
            cubic.restart_epoch();
        }
    }

    /// A later slow start may go on to most of the present window.
    fn remember(&mut self) {
        self.threshold = self.threshold.max(REMEMBERED * self.window);
    }
}

impl Control for LossBased {
    fn on_ack(&mut self, ack: &Acknowledged) {
        let divisor = if self.in_slow_start() && !ack.after_timeout {
            let Some(divisor) = self.watch.growth_divisor(ack, self.window / self.mss) else {
                self.threshold = self.window;
                return;
            };
            divisor
        } else {
            1.0
        };
        if !ack.in_use {
            if !self.validated {
                self.restart_epoch();
            }
            return;
        }
        let rest = if self.in_slow_start() { self.slow_start(ack, divisor) } else { ack.bytes };
        if rest <= 0.0 {
            return;
        }
        let segments = self.counted(self.window / self.mss);
        let grown = match &mut self.algorithm {
            Algorithm::Reno => {
                let counted = if self.byte_counting { rest } else { self.mss };
                reno::increase(segments, counted / self.mss)
            }
            Algorithm::Cubic(cubic) => {
                let round_trip_ns =
                    if self.validated { ack.shortest_rtt_ns } else { ack.smoothed_rtt_ns };
                cubic.increase(ack.now, segments, rest / self.mss, round_trip_ns)
            }
        };
        self.window += grown * self.mss;
    }

    fn on_loss(&mut self, flight_bytes: u64) {
        self.lower_threshold(flight_bytes, false);
        self.window = self.threshold;
    }

    fn on_timeout(&mut self, flight_bytes: u64, repeated: bool) {
        if !repeated {
            self.lower_threshold(flight_bytes, true);
        }
        if let Algorithm::Cubic(cubic) = &mut self.algorithm {
            cubic.note_timeout();
        }
        self.window = self.mss;
    }

    fn window_bytes(&self) -> u64 {
        self.window as u64
    }

    fn threshold_bytes(&self) -> u64 {
        self.threshold as u64
    }

    fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    fn undo(&mut self, window_bytes: u64, threshold_bytes: u64) {
        self.window = self.window.max(window_bytes as f64);
        let threshold =
            if threshold_bytes == u64::MAX { f64::INFINITY } else { threshold_bytes as f64 };
        self.threshold = self.threshold.max(threshold);
    }

    fn limit(&mut self, limit_bytes: u64) {
        self.window = self.window.min(limit_bytes as f64);
    }

    fn on_open(&mut self, _now: Time, round_trip_ns: Option<Time>) {
        if round_trip_ns.is_none() {
            self.window = self.mss; // RFC 5681 3.1
        }
    }

    fn restart(&mut self, idle_ns: Time, timeout_ns: Time) {
        if !self.validated {
            self.window = self.window.min(self.initial_window);
            self.restart_epoch();
            return;
        }
        self.remember();
        let floor = self.initial_window.min(self.window);
        let mut left_ns = idle_ns - timeout_ns;
        while left_ns > 0 && self.window > floor {
            self.window /= 2.0;
            left_ns -= timeout_ns;
        }
        self.window = self.window.max(floor);
    }

    fn note_unused(&mut self, most_used_bytes: u64) {
        let used = (most_used_bytes as f64).max(self.initial_window);
        if self.validated && used < self.window {
            self.remember();
            self.window = (self.window + used) / 2.0;
        }
    }

    fn on_idle_end(&mut self, now: Time, idle_ns: Time) {
        if let (Algorithm::Cubic(cubic), true) = (&mut self.algorithm, self.validated) {
            cubic.skip(now, idle_ns);
        }
    }
}
