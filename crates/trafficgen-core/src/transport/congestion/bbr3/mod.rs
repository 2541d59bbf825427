//! BBR version 3: as version 1 a model of the path, and limits that loss has taught.
//!
//! Cardwell, Swett and Beshay, BBR Congestion Control, draft-ietf-ccwg-bbr-06. Names of its
//! variables are in brackets where ours differ. It hears of no ECN marks, as the draft. Other than
//! there, it drains for as long as that takes, not three rounds at most, and losses of a round are
//! counted by acknowledgements that report some, not by ranges.

mod limits;
mod pipe;
mod probing;
mod shortest;

use limits::Limits;
use pipe::Pipe;
use probing::{Phase, Probing};
use shortest::ShortestRtt;

use super::super::pacing::burst_bytes;
use super::super::Time;
use super::bbr::Bunches;
use super::{Control, Lost, Repair, Sampled};

const STARTUP_GAIN: f64 = 2.77;
const DRAIN_GAIN: f64 = 0.5;
const WINDOW_GAIN: f64 = 2.0;
const PROBE_RTT_GAIN: f64 = 0.5;
const PROBE_RTT_NS: Time = 200_000_000;
const LEAST_SEGMENTS: f64 = 4.0;
const INITIAL_SEGMENTS: f64 = 10.0;
/// Paces a little below the bandwidth, so that queues drain in the mean.
const PACING_MARGIN: f64 = 0.99;
/// Share of lost bytes from which on a flight was too large (LossThresh).
const LOSS_THRESHOLD: f64 = 0.02;
const STARTUP_LOSSES: u32 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth(Phase),
    ProbeRtt,
}

/// Sizes in bytes, rates in bytes per second.
#[derive(Clone, Debug)]
pub(super) struct Bbr3 {
    mss: f64,
    mode: Mode,
    window: f64,
    prior_window: f64,
    pacing_rate: f64,
    has_seen_rtt: bool,
    /// The greatest of this and of the last cycle of bandwidth probing (MaxBwFilter).
    bandwidth: [f64; 2],
    round_ends_at: u64,
    is_round_start: bool,
    limits: Limits,
    pipe: Pipe,
    probing: Probing,
    shortest: ShortestRtt,
    probe_rtt_until: Option<Time>,
    probe_rtt_round_done: bool,
    starts_after_idle: bool,
    repair: Repair,
    bunches: Bunches,
}

impl Bbr3 {
    pub fn new(initial_segments: u32, mss: u64) -> Self {
        let mss = mss as f64;
        let mut bbr = Self {
            mss,
            mode: Mode::Startup,
            window: f64::from(initial_segments) * mss,
            prior_window: 0.0,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            bandwidth: [0.0; 2],
            round_ends_at: 0,
            is_round_start: false,
            limits: Limits::default(),
            pipe: Pipe::default(),
            probing: Probing::default(),
            shortest: ShortestRtt::default(),
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            starts_after_idle: false,
            repair: Repair::None,
            bunches: Bunches::default(),
        };
        bbr.pace_by_rtt(None);
        bbr
    }

    /// A rate from the initial window, before anything is known; 1 ms stands for an unknown RTT.
    fn pace_by_rtt(&mut self, smoothed_rtt_ns: Option<Time>) {
        self.has_seen_rtt = smoothed_rtt_ns.is_some();
        let rtt_s = smoothed_rtt_ns.unwrap_or(1_000_000).max(1) as f64 / 1e9;
        self.pacing_rate = self.window / rtt_s * STARTUP_GAIN;
    }

    fn greatest_bandwidth(&self) -> f64 {
        self.bandwidth[0].max(self.bandwidth[1])
    }

    fn rate(&self) -> f64 {
        self.greatest_bandwidth().min(self.limits.short_term_rate())
    }

    fn least_window(&self) -> f64 {
        LEAST_SEGMENTS * self.mss
    }

    /// Bytes under way at `rate` over the shortest round trip, times `gain` (BDPMultiple).
    fn product(&self, rate: f64, gain: f64) -> f64 {
        self.shortest
            .known_ns()
            .map_or(INITIAL_SEGMENTS * self.mss, |rtt_ns| rate * rtt_ns as f64 / 1e9 * gain)
    }

    /// Room for bursts at both ends, and to probe with (QuantizationBudget).
    fn with_room(&self, bytes: f64) -> f64 {
        let roomy = bytes.max(3.0 * self.burst_bytes() as f64).max(self.least_window());
        let probes = self.mode == Mode::ProbeBandwidth(Phase::Up);
        roomy + if probes { 2.0 * self.mss } else { 0.0 }
    }

    fn inflight(&self, gain: f64) -> f64 {
        self.with_room(self.product(self.greatest_bandwidth(), gain))
    }

    /// What the path is likely to hold (TargetInflight).
    fn target(&self) -> f64 {
        self.product(self.rate(), 1.0).min(self.window)
    }

    fn is_probing(&self) -> bool {
        matches!(self.mode, Mode::Startup | Mode::ProbeBandwidth(Phase::Refill | Phase::Up))
    }

    fn start_round(&mut self, delivered_bytes: u64) {
        self.round_ends_at = delivered_bytes;
    }

    fn update_bandwidth(&mut self, sample: &Sampled) {
        self.is_round_start = false;
        let Some(rate) = sample.rate else { return };
        if rate.prior_delivered >= self.round_ends_at {
            self.start_round(sample.delivered_bytes);
            self.is_round_start = true;
            self.probing.count_round();
        }
        if let Some(bytes_per_s) = rate.bytes_per_s {
            if !rate.application_limited || bytes_per_s >= self.greatest_bandwidth() {
                self.bandwidth[1] = self.bandwidth[1].max(bytes_per_s);
            }
        }
    }

    fn advance_bandwidth(&mut self) {
        if self.bandwidth[1] > 0.0 {
            self.bandwidth = [self.bandwidth[1], 0.0];
        }
    }

    fn update_limits(&mut self, sample: &Sampled) {
        self.limits.take(sample);
        if self.limits.is_round_over() {
            if !self.is_probing() {
                self.limits.lower(self.greatest_bandwidth(), self.window);
            }
            self.check_startup_loss(sample);
            self.limits.end_round();
        }
    }

    fn is_too_high(lost_bytes: f64, flight_bytes: f64) -> bool {
        lost_bytes > flight_bytes * LOSS_THRESHOLD
    }

    /// Leaves start-up where loss shows that the path holds no more (CheckStartupHighLoss).
    fn check_startup_loss(&mut self, sample: &Sampled) {
        let Some(rate) = sample.rate else { return };
        let lost = sample.lost_ever_bytes - rate.lost_before_bytes;
        let too_high = Self::is_too_high(lost as f64, rate.flight_bytes as f64);
        if self.mode == Mode::Startup
            && sample.repair == Repair::Recovery
            && self.limits.losses_in_round() >= STARTUP_LOSSES
            && too_high
        {
            self.pipe.fill();
            let product = self.product(self.greatest_bandwidth(), 1.0);
            self.limits.set_long_term(product.max(self.limits.latest_inflight()));
        }
    }

    fn check_startup_and_drain(&mut self, sample: &Sampled) {
        self.pipe.take(sample, self.is_round_start);
        if self.mode == Mode::Startup && self.pipe.is_full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && sample.flight_bytes as f64 <= self.inflight(1.0) {
            self.start_down(sample.now, sample.delivered_bytes);
        }
    }

    fn start_down(&mut self, now: Time, delivered_bytes: u64) {
        self.limits.reset_signals();
        self.probing.stop(now);
        self.start_round(delivered_bytes);
        self.mode = Mode::ProbeBandwidth(Phase::Down);
    }

    fn start_refill(&mut self, delivered_bytes: u64) {
        self.limits.forget_short_term();
        self.probing.refill();
        self.start_round(delivered_bytes);
        self.mode = Mode::ProbeBandwidth(Phase::Refill);
    }

    fn start_up(&mut self, sample: &Sampled) {
        self.probing.start(sample.now, self.window, self.mss);
        self.start_round(sample.delivered_bytes);
        self.pipe.watch_from(sample);
        self.mode = Mode::ProbeBandwidth(Phase::Up);
    }

    fn update_phase(&mut self, sample: &Sampled) {
        if !self.pipe.is_full() {
            return;
        }
        self.adapt_long_term(sample);
        let Mode::ProbeBandwidth(phase) = self.mode else { return };
        match phase {
            Phase::Down | Phase::Cruise => {
                let segments = self.target() / self.mss;
                if self.probing.is_time(sample.now, segments) {
                    self.start_refill(sample.delivered_bytes);
                } else if phase == Phase::Down && self.may_cruise(sample.flight_bytes as f64) {
                    self.mode = Mode::ProbeBandwidth(Phase::Cruise);
                }
            }
            Phase::Refill => {
                if self.is_round_start {
                    self.start_up(sample);
                }
            }
            Phase::Up => {
                if sample.window_limited && self.window >= self.limits.long_term() {
                    self.pipe.watch_from(sample);
                } else if self.pipe.is_full_now() {
                    self.start_down(sample.now, sample.delivered_bytes);
                }
            }
        }
    }

    fn may_cruise(&self, flight_bytes: f64) -> bool {
        let room = self.limits.long_term_with_headroom(self.mss, self.least_window());
        flight_bytes <= room && flight_bytes <= self.inflight(1.0)
    }

    /// Lets the long-term limit rise with what went well (AdaptLongTermModel).
    fn adapt_long_term(&mut self, sample: &Sampled) {
        let limited = sample.rate.is_some_and(|rate| rate.application_limited);
        if self.probing.hear(self.is_round_start)
            && matches!(self.mode, Mode::ProbeBandwidth(_))
            && !limited
        {
            self.advance_bandwidth();
        }
        let Some(rate) = sample.rate else { return };
        let lost = sample.lost_ever_bytes - rate.lost_before_bytes;
        if Self::is_too_high(lost as f64, rate.flight_bytes as f64) {
            if self.probing.is_sampled() {
                let flight_bytes = rate.flight_bytes as f64;
                self.take_too_high(flight_bytes, limited, sample.now, sample.delivered_bytes);
            }
            return;
        }
        if self.limits.long_term().is_infinite() {
            return;
        }
        self.limits.raise_long_term(rate.flight_bytes as f64);
        let presses = sample.window_limited && self.window >= self.limits.long_term();
        if self.mode == Mode::ProbeBandwidth(Phase::Up) && presses {
            let acknowledged = sample.acknowledged_bytes as f64;
            let steps =
                self.probing.climb(acknowledged, self.is_round_start, self.window, self.mss);
            self.limits.set_long_term(self.limits.long_term() + steps * self.mss);
        }
    }

    /// The path holds less than `flight_bytes` (HandleInflightTooHigh).
    fn take_too_high(&mut self, flight_bytes: f64, limited: bool, now: Time, delivered_bytes: u64) {
        self.probing.end_samples();
        if !limited {
            self.limits.set_long_term(flight_bytes.max(self.target() * limits::BETA));
        }
        if self.mode == Mode::ProbeBandwidth(Phase::Up) {
            self.start_down(now, delivered_bytes);
        }
    }

    fn update_shortest_rtt(&mut self, sample: &Sampled) {
        let rtt_ns = sample.rate.and_then(|rate| rate.rtt_ns);
        let expired = self.shortest.take(sample.now, rtt_ns);
        if expired && !self.starts_after_idle && self.mode != Mode::ProbeRtt {
            self.save_window();
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_until = None;
            self.probing.stop_samples();
            self.start_round(sample.delivered_bytes);
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(sample);
        }
        if sample.acknowledged_bytes > 0 {
            self.starts_after_idle = false;
        }
    }

    fn probe_rtt_window(&self) -> f64 {
        self.product(self.rate(), PROBE_RTT_GAIN).max(self.least_window())
    }

    fn probe_rtt(&mut self, sample: &Sampled) {
        if self.probe_rtt_until.is_none() {
            if sample.flight_bytes as f64 <= self.probe_rtt_window() {
                self.probe_rtt_until = Some(sample.now + PROBE_RTT_NS);
                self.probe_rtt_round_done = false;
                self.start_round(sample.delivered_bytes);
            }
            return;
        }
        self.probe_rtt_round_done |= self.is_round_start;
        if self.probe_rtt_round_done {
            self.leave_probe_rtt(sample.now, sample.delivered_bytes);
        }
    }

    fn leave_probe_rtt(&mut self, now: Time, delivered_bytes: u64) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.shortest.renew(now);
        self.window = self.window.max(self.prior_window);
        self.limits.forget_short_term();
        if self.pipe.is_full() {
            self.start_down(now, delivered_bytes);
            self.mode = Mode::ProbeBandwidth(Phase::Cruise);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (STARTUP_GAIN, WINDOW_GAIN),
            Mode::Drain => (DRAIN_GAIN, WINDOW_GAIN),
            Mode::ProbeBandwidth(phase) => phase.gains(),
            Mode::ProbeRtt => (1.0, PROBE_RTT_GAIN),
        }
    }

    fn set_pacing_rate(&mut self, gain: f64, smoothed_rtt_ns: Time) {
        let rate = self.rate() * gain * PACING_MARGIN;
        if !self.has_seen_rtt && smoothed_rtt_ns > 0 {
            self.pace_by_rtt(Some(smoothed_rtt_ns));
        }
        if rate > 0.0 && (self.pipe.is_full() || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    fn save_window(&mut self) {
        let calm = self.repair == Repair::None && self.mode != Mode::ProbeRtt;
        self.prior_window = if calm { self.window } else { self.prior_window.max(self.window) };
    }

    fn set_window(&mut self, gain: f64, sample: &Sampled) {
        if self.repair != Repair::None && sample.repair == Repair::None {
            self.window = self.window.max(self.prior_window);
        }
        self.repair = sample.repair;
        let bunch = self.bunches.segments(self.rate(), self.mss) * self.mss;
        let most = self.with_room(self.product(self.rate(), gain) + bunch);
        let acknowledged = sample.acknowledged_bytes as f64;
        if self.pipe.is_full() {
            self.window = (self.window + acknowledged).min(most);
        } else if self.window < most
            || (sample.delivered_bytes as f64) < INITIAL_SEGMENTS * self.mss
        {
            self.window += acknowledged;
        }
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        self.window = self.window.min(self.limit_of_model()).max(self.least_window());
    }

    /// What loss has taught (BoundCwndForModel).
    fn limit_of_model(&self) -> f64 {
        let long_term = match self.mode {
            Mode::Startup | Mode::Drain => f64::INFINITY,
            Mode::ProbeRtt | Mode::ProbeBandwidth(Phase::Cruise) => {
                self.limits.long_term_with_headroom(self.mss, self.least_window())
            }
            Mode::ProbeBandwidth(_) => self.limits.long_term(),
        };
        long_term.min(self.limits.short_term_inflight())
    }
}

impl Control for Bbr3 {
    fn on_lost(&mut self, lost: &Lost) {
        self.limits.note_loss(lost.delivered_bytes);
        if !self.probing.is_sampled() {
            return;
        }
        let (flight, since) = (lost.flight_bytes as f64, lost.lost_since_bytes as f64);
        if Self::is_too_high(since, flight) {
            // The flight at which the share passed the threshold (InflightAtLoss).
            let (bytes, share) = (lost.bytes as f64, LOSS_THRESHOLD);
            let before = flight - bytes;
            let prefix = ((share * before - (since - bytes)) / (1.0 - share)).max(0.0);
            let limited = lost.application_limited;
            self.take_too_high(before + prefix, limited, lost.now, lost.delivered_bytes);
        }
    }

    fn on_sample(&mut self, sample: &Sampled) {
        self.update_bandwidth(sample);
        self.update_limits(sample);
        let rate = self.rate();
        let window_segments = self.window / self.mss;
        self.bunches.take(sample, rate, self.mss, window_segments, self.is_round_start);
        self.check_startup_and_drain(sample);
        self.update_phase(sample);
        self.update_shortest_rtt(sample);
        let (pacing_gain, window_gain) = self.gains();
        self.set_pacing_rate(pacing_gain, sample.smoothed_rtt_ns);
        self.set_window(window_gain, sample);
    }

    fn on_open(&mut self, now: Time, round_trip_ns: Option<Time>) {
        if round_trip_ns.is_none() {
            self.window = self.mss;
        }
        self.shortest.start(now, round_trip_ns);
        self.pace_by_rtt(round_trip_ns);
    }

    fn on_loss(&mut self, _flight_bytes: u64) {
        self.save_window();
    }

    fn on_timeout(&mut self, _flight_bytes: u64, _repeated: bool) {
        self.save_window();
        self.repair = Repair::Timeout;
        self.pipe.forget();
        self.window = self.mss;
    }

    fn holds_back(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn on_start_after_idle(&mut self, now: Time, application_limited: bool) {
        if !application_limited {
            return;
        }
        self.starts_after_idle = true;
        self.bunches.restart(now);
        match self.mode {
            Mode::ProbeBandwidth(_) => self.set_pacing_rate(1.0, 0),
            Mode::ProbeRtt => self.leave_probe_rtt(now, self.round_ends_at),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn goes_by_samples(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.pacing_rate)
    }

    /// A millisecond of data, as large segments of Linux hold.
    fn burst_bytes(&self) -> u64 {
        burst_bytes(self.pacing_rate, self.mss)
    }

    fn window_bytes(&self) -> u64 {
        self.window as u64
    }

    fn threshold_bytes(&self) -> u64 {
        if self.in_slow_start() {
            u64::MAX
        } else {
            self.inflight(1.0) as u64
        }
    }

    fn in_slow_start(&self) -> bool {
        self.mode == Mode::Startup
    }
}
