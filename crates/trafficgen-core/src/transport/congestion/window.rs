//! The window of controls that go by loss alone: slow start, and growth by Reno or CUBIC.

use super::super::{CongestionControl, TcpConfig, Time};
use super::cubic::Cubic;
use super::hystart::HyStart;
use super::{reno, Acknowledged, Control};

#[derive(Clone, Debug)]
enum Algorithm {
    Reno,
    Cubic(Cubic),
}

/// Window and threshold in bytes, fractions kept.
#[derive(Clone, Debug)]
pub(super) struct LossBased {
    algorithm: Algorithm,
    hystart: Option<HyStart>,
    window: f64,
    threshold: f64,
    initial_window: f64,
    mss: f64,
    byte_counting: bool,
}

impl LossBased {
    pub fn new(config: &TcpConfig, mss: u64) -> Self {
        let mss = mss as f64;
        let initial_window = f64::from(config.initial_window_segments) * mss;
        Self {
            algorithm: match config.congestion_control {
                CongestionControl::Cubic => Algorithm::Cubic(Cubic::default()),
                _ => Algorithm::Reno,
            },
            hystart: config.hystart.then(HyStart::default),
            window: initial_window,
            threshold: config.initial_ssthresh_bytes.map_or(f64::INFINITY, |bytes| bytes as f64),
            initial_window,
            mss,
            byte_counting: config.appropriate_byte_counting,
        }
    }

    /// Grows by what was acknowledged (RFC 5681 3.1, RFC 3465); the bytes left for congestion
    /// avoidance.
    fn slow_start(&mut self, ack: &Acknowledged) -> f64 {
        let limit = if self.byte_counting && !ack.after_timeout { 2.0 } else { 1.0 };
        let mut growth = ack.bytes.min(limit * self.mss);
        if let Some(hystart) = self.hystart.as_mut().filter(|_| !ack.after_timeout) {
            growth /= hystart.growth_divisor(ack);
            if hystart.is_over() {
                self.threshold = self.window;
                return 0.0;
            }
        }
        let room = self.threshold - self.window;
        if growth < room {
            self.window += growth;
            return 0.0;
        }
        self.window = self.threshold;
        growth - room
    }

    fn lower_threshold(&mut self, flight_bytes: u64) {
        self.hystart = None; // RFC 9406 4.3: for the first slow start only
        let flight = (flight_bytes as f64).min(self.window.max(self.mss));
        let lowered = match &mut self.algorithm {
            Algorithm::Reno => flight * reno::DECREASE,
            Algorithm::Cubic(cubic) => {
                cubic.decrease(self.window / self.mss, flight / self.mss) * self.mss
            }
        };
        self.threshold = lowered.max(2.0 * self.mss);
    }
}

impl Control for LossBased {
    fn on_ack(&mut self, ack: &Acknowledged) {
        let rest = if self.in_slow_start() { self.slow_start(ack) } else { ack.bytes };
        if rest <= 0.0 {
            return;
        }
        let segments = self.window / self.mss;
        let grown = match &mut self.algorithm {
            Algorithm::Reno => {
                let counted = if self.byte_counting { rest } else { self.mss };
                reno::increase(segments, counted / self.mss)
            }
            Algorithm::Cubic(cubic) => {
                cubic.increase(ack.now, segments, rest / self.mss, ack.smoothed_rtt_ns)
            }
        };
        self.window += grown * self.mss;
    }

    fn on_loss(&mut self, flight_bytes: u64) {
        self.lower_threshold(flight_bytes);
        self.window = self.threshold;
    }

    fn on_timeout(&mut self, flight_bytes: u64, repeated: bool) {
        if !repeated {
            self.lower_threshold(flight_bytes);
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

    fn limit(&mut self, limit_bytes: u64) {
        self.window = self.window.min(limit_bytes as f64);
    }

    fn on_open(&mut self, _now: Time, round_trip_ns: Option<Time>) {
        if round_trip_ns.is_none() {
            self.window = self.mss; // RFC 5681 3.1
        }
    }

    fn restart(&mut self) {
        self.window = self.window.min(self.initial_window);
        self.pause();
    }

    fn pause(&mut self) {
        if let Algorithm::Cubic(cubic) = &mut self.algorithm {
            cubic.restart_epoch();
        }
    }
}
