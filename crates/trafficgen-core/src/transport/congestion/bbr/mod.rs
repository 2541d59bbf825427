//! BBR version 1: a model of the path, its bandwidth and its shortest round trip, sets the rate and
//! bounds what is under way.
//!
//! Cardwell, Cheng, Gunn, Yeganeh and Jacobson 2016, BBR: Congestion-Based Congestion Control, ACM
//! Queue 14(5); draft-cardwell-iccrg-bbr-congestion-control-00. What both leave open (bunches of
//! acknowledgements, policers, the window in recovery) is as Linux does it (net/ipv4/tcp_bbr.c).

mod bunches;
mod cycle;
mod filter;
mod full_pipe;
mod policer;

pub(super) use bunches::Bunches;
use cycle::Cycle;
use filter::RecentMaximum;
use full_pipe::FullPipe;
use policer::Policer;

use super::super::pacing::burst_bytes;
use super::super::Time;
use super::{Control, Repair, Sampled};

const SECOND_NS: Time = 1_000_000_000;
/// 2 / ln 2: doubles the rate every round.
const HIGH_GAIN: f64 = 2.885;
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
const WINDOW_GAIN: f64 = 2.0;
const BANDWIDTH_ROUNDS: u64 = 10;
const SHORTEST_RTT_NS: Time = 10 * SECOND_NS;
const PROBE_RTT_NS: Time = SECOND_NS / 5;
const LEAST_SEGMENTS: f64 = 4.0;
const INITIAL_SEGMENTS: f64 = 10.0;
/// Paces a little below the bandwidth, so that queues drain in the mean.
const PACING_MARGIN: f64 = 0.99;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

#[derive(Clone, Debug)]
pub(super) struct Bbr {
    mss: f64,
    mode: Mode,
    /// In segments.
    window: f64,
    prior_window: f64,
    pacing_rate: f64,
    pacing_gain: f64,
    window_gain: f64,
    bandwidth: RecentMaximum,
    rounds: u64,
    round_ends_at: u64,
    is_round_start: bool,
    minimum_rtt_ns: Option<Time>,
    minimum_rtt_at: Time,
    has_seen_rtt: bool,
    probe_rtt_until: Option<Time>,
    probe_rtt_round_done: bool,
    cycle: Cycle,
    pipe: FullPipe,
    starts_after_idle: bool,
    conserves_packets: bool,
    prior_repair: Repair,
    bunches: Bunches,
    policer: Policer,
}

impl Bbr {
    pub fn new(initial_segments: u32, mss: u64) -> Self {
        let mut bbr = Self {
            mss: mss as f64,
            mode: Mode::Startup,
            window: f64::from(initial_segments),
            prior_window: 0.0,
            pacing_rate: 0.0,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            bandwidth: RecentMaximum::default(),
            rounds: 0,
            round_ends_at: 0,
            is_round_start: false,
            minimum_rtt_ns: None,
            minimum_rtt_at: 0,
            has_seen_rtt: false,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            cycle: Cycle::default(),
            pipe: FullPipe::default(),
            starts_after_idle: false,
            conserves_packets: false,
            prior_repair: Repair::None,
            bunches: Bunches::default(),
            policer: Policer::default(),
        };
        bbr.pace_by_rtt(None);
        bbr
    }

    /// A rate from the initial window, before anything is known; 1 ms stands for an unknown RTT.
    fn pace_by_rtt(&mut self, smoothed_rtt_ns: Option<Time>) {
        self.has_seen_rtt = smoothed_rtt_ns.is_some();
        let rtt_s = smoothed_rtt_ns.unwrap_or(1_000_000).max(1) as f64 / 1e9;
        self.pacing_rate = self.window * self.mss / rtt_s * HIGH_GAIN * PACING_MARGIN;
    }

    fn rate(&self) -> f64 {
        self.policer.rate().unwrap_or(self.bandwidth.value())
    }

    fn set_pacing_rate(&mut self, gain: f64, smoothed_rtt_ns: Time) {
        let rate = self.rate() * gain * PACING_MARGIN;
        if !self.has_seen_rtt && smoothed_rtt_ns > 0 {
            self.pace_by_rtt(Some(smoothed_rtt_ns));
        }
        if self.pipe.is_full() || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Segments under way at `rate` over the shortest round trip, times `gain`.
    fn product(&self, rate: f64, gain: f64) -> f64 {
        self.minimum_rtt_ns.map_or(INITIAL_SEGMENTS, |rtt_ns| {
            (rate * rtt_ns as f64 / 1e9 / self.mss * gain).ceil()
        })
    }

    /// Room for bursts at both ends, for delayed acknowledgements, and to probe with.
    fn with_room(&self, segments: f64) -> f64 {
        let bursts = segments + 3.0 * (self.burst_bytes() as f64 / self.mss);
        let even = 2.0 * (bursts / 2.0).ceil();
        let probes = self.mode == Mode::ProbeBandwidth && self.cycle.is_probing();
        even + if probes { 2.0 } else { 0.0 }
    }

    fn inflight(&self, gain: f64) -> f64 {
        self.with_room(self.product(self.bandwidth.value(), gain))
    }

    /// Segments under way when the next burst may leave.
    fn flight_at_departure(&self, flight_bytes: u64, sample: &Sampled) -> f64 {
        let burst = if self.pacing_gain > 1.0 { self.burst_bytes() } else { 0 };
        let delivered = (self.rate() * sample.departs_in_ns as f64 / 1e9 / self.mss).floor();
        ((flight_bytes + burst) as f64 / self.mss - delivered).max(0.0)
    }

    fn update_bandwidth(&mut self, sample: &Sampled) {
        self.is_round_start = false;
        let Some(rate) = sample.rate else { return };
        let Some(bytes_per_s) = rate.bytes_per_s else { return };
        if rate.prior_delivered >= self.round_ends_at {
            self.round_ends_at = sample.delivered_bytes;
            self.rounds += 1;
            self.is_round_start = true;
            self.conserves_packets = false;
        }
        let is_probing = self.mode == Mode::ProbeBandwidth;
        if self.policer.take(sample, self.is_round_start, is_probing) {
            self.probe_bandwidth(sample.now);
        }
        if !rate.application_limited || bytes_per_s >= self.bandwidth.value() {
            self.bandwidth.take(self.rounds, BANDWIDTH_ROUNDS, bytes_per_s);
        }
    }

    /// Advances the gains of bandwidth probing.
    fn update_phase(&mut self, sample: &Sampled) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let lasted = self.cycle.lasted(sample.now) > self.minimum_rtt_ns.unwrap_or(Time::MAX);
        let flight = self.flight_at_departure(sample.prior_flight_bytes, sample);
        let gain = self.pacing_gain;
        let over = if gain > 1.0 {
            lasted && (sample.lost_bytes > 0 || flight >= self.inflight(gain))
        } else if gain < 1.0 {
            lasted || flight <= self.inflight(1.0)
        } else {
            lasted
        };
        if over {
            self.cycle.advance(sample.now);
        }
    }

    fn probe_bandwidth(&mut self, now: Time) {
        self.mode = Mode::ProbeBandwidth;
        self.cycle.start(now);
    }

    /// Leaves start-up when the pipe is full, and empties what that has queued.
    fn check_full(&mut self, sample: &Sampled) {
        let limited = sample.rate.is_some_and(|rate| rate.application_limited);
        if self.is_round_start && !limited {
            self.pipe.take(self.bandwidth.value());
        }
        if self.mode == Mode::Startup && self.pipe.is_full() {
            self.mode = Mode::Drain;
        }
        let flight = self.flight_at_departure(sample.flight_bytes, sample);
        if self.mode == Mode::Drain && flight <= self.inflight(1.0) {
            self.probe_bandwidth(sample.now);
        }
    }

    fn update_minimum_rtt(&mut self, sample: &Sampled) {
        let expired = sample.now > self.minimum_rtt_at + SHORTEST_RTT_NS;
        if let Some(rtt_ns) = sample.rate.and_then(|rate| rate.rtt_ns) {
            let shorter = self.minimum_rtt_ns.is_none_or(|minimum_ns| rtt_ns < minimum_ns);
            if shorter || expired && !sample.is_delayed {
                self.minimum_rtt_ns = Some(rtt_ns);
                self.minimum_rtt_at = sample.now;
            }
        }
        if expired && !self.starts_after_idle && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window();
            self.probe_rtt_until = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(sample);
        }
        if sample.acknowledged_bytes > 0 {
            self.starts_after_idle = false;
        }
    }

    fn probe_rtt(&mut self, sample: &Sampled) {
        if self.probe_rtt_until.is_none() {
            if sample.flight_bytes as f64 <= LEAST_SEGMENTS * self.mss {
                self.probe_rtt_until = Some(sample.now + PROBE_RTT_NS);
                self.probe_rtt_round_done = false;
                self.round_ends_at = sample.delivered_bytes;
            }
            return;
        }
        self.probe_rtt_round_done |= self.is_round_start;
        if self.probe_rtt_round_done {
            self.leave_probe_rtt(sample.now);
        }
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.minimum_rtt_at = now;
        self.window = self.window.max(self.prior_window);
        if self.pipe.is_full() {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.policer.rate().is_some() => (1.0, WINDOW_GAIN),
            Mode::ProbeBandwidth => (self.cycle.gain(), WINDOW_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    fn save_window(&mut self) {
        let calm = self.prior_repair == Repair::None && self.mode != Mode::ProbeRtt;
        self.prior_window = if calm { self.window } else { self.prior_window.max(self.window) };
    }

    fn set_window(&mut self, sample: &Sampled) {
        let acknowledged = sample.acknowledged_bytes as f64 / self.mss;
        if sample.acknowledged_bytes > 0 && !self.recover_or_restore(sample, acknowledged) {
            let product = self.product(self.rate(), self.window_gain);
            let bunch = if self.pipe.is_full() {
                self.bunches.segments(self.rate(), self.mss)
            } else {
                0.0
            };
            let target = self.with_room(product + bunch);
            if self.pipe.is_full() {
                self.window = (self.window + acknowledged).min(target);
            } else if self.window < target
                || (sample.delivered_bytes as f64) < INITIAL_SEGMENTS * self.mss
            {
                self.window += acknowledged;
            }
            self.window = self.window.max(LEAST_SEGMENTS);
        }
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(LEAST_SEGMENTS);
        }
    }

    /// The first round of a recovery sends what arrives; its end restores the window.
    fn recover_or_restore(&mut self, sample: &Sampled, acknowledged: f64) -> bool {
        let flight = sample.flight_bytes as f64 / self.mss;
        if sample.lost_bytes > 0 {
            self.window = (self.window - sample.lost_bytes as f64 / self.mss).max(1.0);
        }
        if sample.repair == Repair::Recovery && self.prior_repair != Repair::Recovery {
            self.conserves_packets = true;
            self.round_ends_at = sample.delivered_bytes;
            self.window = flight + acknowledged;
        } else if self.prior_repair != Repair::None && sample.repair == Repair::None {
            self.window = self.window.max(self.prior_window);
            self.conserves_packets = false;
        }
        self.prior_repair = sample.repair;
        if self.conserves_packets {
            self.window = self.window.max(flight + acknowledged);
        }
        self.conserves_packets
    }
}

impl Control for Bbr {
    fn on_sample(&mut self, sample: &Sampled) {
        self.update_bandwidth(sample);
        let rate = self.rate();
        self.bunches.take(sample, rate, self.mss, self.window, self.is_round_start);
        self.update_phase(sample);
        self.check_full(sample);
        self.update_minimum_rtt(sample);
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain, sample.smoothed_rtt_ns);
        self.set_window(sample);
    }

    fn on_open(&mut self, now: Time, round_trip_ns: Option<Time>) {
        if round_trip_ns.is_none() {
            self.window = 1.0;
        }
        self.minimum_rtt_ns = round_trip_ns;
        self.minimum_rtt_at = now;
        self.pace_by_rtt(round_trip_ns);
    }

    fn on_loss(&mut self, _flight_bytes: u64) {
        self.save_window();
    }

    fn on_timeout(&mut self, _flight_bytes: u64, _repeated: bool) {
        self.save_window();
        self.prior_repair = Repair::Timeout;
        self.pipe.forget();
        self.window = 1.0;
    }

    fn on_start_after_idle(&mut self, now: Time, application_limited: bool) {
        if !application_limited {
            return;
        }
        self.starts_after_idle = true;
        self.bunches.restart(now);
        match self.mode {
            Mode::ProbeBandwidth => self.set_pacing_rate(1.0, 0),
            Mode::ProbeRtt => self.leave_probe_rtt(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn goes_by_samples(&self) -> bool {
        true
    }

    fn holds_back(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.pacing_rate)
    }

    fn burst_bytes(&self) -> u64 {
        burst_bytes(self.pacing_rate, self.mss)
    }

    fn window_bytes(&self) -> u64 {
        (self.window * self.mss) as u64
    }

    fn threshold_bytes(&self) -> u64 {
        if self.mode == Mode::Startup {
            u64::MAX
        } else {
            (self.inflight(1.0) * self.mss) as u64
        }
    }

    fn in_slow_start(&self) -> bool {
        self.mode == Mode::Startup
    }
}
