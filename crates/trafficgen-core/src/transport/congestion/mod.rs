//! The congestion window.

mod cubic;
mod hystart;
mod reno;

use cubic::Cubic;
use hystart::HyStart;

use super::{CongestionControl, TcpConfig, Time};

/// What a congestion window hears of an acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledged {
    pub now: Time,
    pub bytes: f64,
    /// Offset acknowledged and highest offset sent, which tell rounds apart.
    pub una: u64,
    pub nxt: u64,
    pub smoothed_rtt_ns: Time,
    /// The round-trip time of this acknowledgement, where it had one.
    pub rtt_ns: Option<Time>,
    /// Whether it repairs what a timeout declared lost (RFC 3465 2.3: limit of one segment).
    pub after_timeout: bool,
}

#[derive(Clone, Debug)]
enum Algorithm {
    Reno,
    Cubic(Cubic),
}

/// Window and threshold in bytes, fractions kept.
#[derive(Clone, Debug)]
pub(super) struct Congestion {
    algorithm: Algorithm,
    hystart: Option<HyStart>,
    window: f64,
    threshold: f64,
    initial_window: f64,
    mss: f64,
    byte_counting: bool,
}

impl Congestion {
    pub fn new(config: &TcpConfig, mss: u64) -> Self {
        let mss = mss as f64;
        let initial_window = f64::from(config.initial_window_segments) * mss;
        Self {
            algorithm: match config.congestion_control {
                CongestionControl::Reno => Algorithm::Reno,
                CongestionControl::Cubic => Algorithm::Cubic(Cubic::default()),
            },
            hystart: config.hystart.then(HyStart::default),
            window: initial_window,
            threshold: config.initial_ssthresh_bytes.map_or(f64::INFINITY, |bytes| bytes as f64),
            initial_window,
            mss,
            byte_counting: config.appropriate_byte_counting,
        }
    }

    pub fn window_bytes(&self) -> u64 {
        self.window as u64
    }

    /// `u64::MAX` while there is none.
    pub fn threshold_bytes(&self) -> u64 {
        self.threshold as u64
    }

    pub fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// New data was acknowledged while the window was what limited the sender.
    pub fn acknowledged(&mut self, ack: &Acknowledged) {
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

    /// Loss found by duplicates: lowers the threshold, and the window to it.
    pub fn lost(&mut self, flight_bytes: u64) {
        self.lower_threshold(flight_bytes);
        self.window = self.threshold;
    }

    /// A timeout: one segment again. The threshold is left alone when the timeout only repeats (RFC
    /// 5681 3.1).
    pub fn timed_out(&mut self, flight_bytes: u64, repeated: bool) {
        if !repeated {
            self.lower_threshold(flight_bytes);
        }
        self.window = self.mss;
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

    /// Recovery is over: at most `limit_bytes`, lest a burst follow.
    pub fn limit(&mut self, limit_bytes: u64) {
        self.window = self.window.min(limit_bytes as f64);
    }

    /// The first data after the handshake had to be repeated (RFC 5681 3.1).
    pub fn start_with_one_segment(&mut self) {
        self.window = self.mss;
    }

    /// Nothing was sent for longer than a timeout (RFC 5681 4.1).
    pub fn restart(&mut self) {
        self.window = self.window.min(self.initial_window);
        self.pause();
    }

    /// The sender did not use its window: its growth does not go on from then (RFC 9438 5.8).
    pub fn pause(&mut self) {
        if let Algorithm::Cubic(cubic) = &mut self.algorithm {
            cubic.restart_epoch();
        }
    }
}
