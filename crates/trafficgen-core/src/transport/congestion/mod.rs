//! What steers how much a sender may have in the network, and how fast it sends.

mod bbr;
mod bbr3;
mod cubic;
mod hystart;
mod hystart_plus;
mod reno;
mod slow_start;
mod steps;
mod window;

use std::fmt::Debug;

use bbr::Bbr;
use bbr3::Bbr3;
use window::LossBased;

use super::rates::DeliveryRate;
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
    /// The round-trip time of this acknowledgement, where it had one, and the shortest so far.
    pub rtt_ns: Option<Time>,
    pub shortest_rtt_ns: Time,
    /// Whether the window, and not the application, was what limited the sender.
    pub in_use: bool,
    /// Whether it repairs what a timeout declared lost (RFC 3465 2.3: limit of one segment).
    pub after_timeout: bool,
}

/// What the sender repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repair {
    None,
    /// Loss found by what arrived after it.
    Recovery,
    Timeout,
}

/// What any acknowledgement tells a control that models its path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampled {
    pub now: Time,
    pub rate: Option<DeliveryRate>,
    /// Bytes that this acknowledgement reports, in order or not, and those of all so far.
    pub acknowledged_bytes: u64,
    pub delivered_bytes: u64,
    /// Bytes that it shows to be lost, and those of all so far.
    pub lost_bytes: u64,
    pub lost_ever_bytes: u64,
    /// Bytes under way before it and after it.
    pub prior_flight_bytes: u64,
    pub flight_bytes: u64,
    /// Time until pacing lets the next burst go.
    pub departs_in_ns: Time,
    pub smoothed_rtt_ns: Time,
    /// Whether the receiver may have held it back.
    pub is_delayed: bool,
    /// The window, and not the application, holds the sender back.
    pub window_limited: bool,
    pub repair: Repair,
}

/// A stretch that an acknowledgement shows to be lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub now: Time,
    pub bytes: u64,
    /// Bytes under way when it had left.
    pub flight_bytes: u64,
    /// Bytes lost since then, with these.
    pub lost_since_bytes: u64,
    pub delivered_bytes: u64,
    pub application_limited: bool,
}

/// A congestion control. The sender finds losses and repeats them; a control says how much may be
/// under way.
pub(super) trait Control: Debug + Send {
    /// The handshake is over; it took that long unless it had to be repeated.
    fn on_open(&mut self, now: Time, round_trip_ns: Option<Time>);

    /// New data was acknowledged.
    fn on_ack(&mut self, _ack: &Acknowledged) {}

    /// Any acknowledgement, of a control that [goes by samples](Self::goes_by_samples).
    fn on_sample(&mut self, _sample: &Sampled) {}

    /// A stretch is lost; of a control that [goes by samples](Self::goes_by_samples), before the
    /// sample of the acknowledgement that shows it.
    fn on_lost(&mut self, _lost: &Lost) {}

    /// Loss was found by what arrived after it, with `flight_bytes` outstanding.
    fn on_loss(&mut self, flight_bytes: u64);

    /// A retransmission timeout, `repeated` where it follows another.
    fn on_timeout(&mut self, flight_bytes: u64, repeated: bool);

    /// Data leaves while nothing is outstanding.
    fn on_start_after_idle(&mut self, _now: Time, _application_limited: bool) {}

    fn window_bytes(&self) -> u64;

    /// Where slow start ends; `u64::MAX` while there is none.
    fn threshold_bytes(&self) -> u64;

    fn in_slow_start(&self) -> bool;

    /// Whether it models the path and answers loss itself, in place of growth and reduction.
    fn goes_by_samples(&self) -> bool {
        false
    }

    /// Whether it leaves room on the path on purpose: samples of what leaves now say as little of
    /// the path as where the application is short of data.
    fn holds_back(&self) -> bool {
        false
    }

    /// Bytes per second; None: as fast as the window lets them go.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// What leaves at once where there is a pacing rate.
    fn burst_bytes(&self) -> u64 {
        0
    }

    /// The last reduction was needless: window and threshold were these before. BBR restores its
    /// own.
    fn undo(&mut self, _window_bytes: u64, _threshold_bytes: u64) {}

    /// Recovery is over: at most `limit_bytes`, lest a burst follow.
    fn limit(&mut self, _limit_bytes: u64) {}

    /// Nothing was sent for `idle_ns`, longer than a timeout (RFC 5681 4.1, RFC 2861).
    fn restart(&mut self, _idle_ns: Time, _timeout_ns: Time) {}

    /// No more than this was under way for a timeout, since the application had no more to send.
    fn note_unused(&mut self, _most_used_bytes: u64) {}

    /// Data leaves after nothing was sent for `idle_ns` and nothing is outstanding.
    fn on_idle_end(&mut self, _now: Time, _idle_ns: Time) {}
}

/// The control that a configuration names, for segments of `mss` bytes.
pub(super) fn control(config: &TcpConfig, mss: u64) -> Box<dyn Control> {
    match config.congestion_control {
        CongestionControl::Bbr => Box::new(Bbr::new(config.initial_window_segments, mss)),
        CongestionControl::Bbr3 => Box::new(Bbr3::new(config.initial_window_segments, mss)),
        CongestionControl::Reno | CongestionControl::Cubic => Box::new(LossBased::new(config, mss)),
    }
}
