//! BBR version 1 as in Linux (net/ipv4/tcp_bbr.c): a model of the path, its bandwidth and its
//! shortest round trip, sets the rate and bounds what is under way.

mod filter;
mod policer;

use filter::RecentMaximum;
use policer::Policer;

use super::super::Time;
use super::{Control, Repair, Sampled};

const SECOND_NS: Time = 1_000_000_000;
/// 2 / ln 2: doubles the rate every round.
const HIGH_GAIN: f64 = 2.885;
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
const WINDOW_GAIN: f64 = 2.0;
/// Probe for more, drain what that has queued, cruise.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const BANDWIDTH_ROUNDS: u64 = 10;
const SHORTEST_RTT_NS: Time = 10 * SECOND_NS;
const PROBE_RTT_NS: Time = SECOND_NS / 5;
const LEAST_SEGMENTS: f64 = 4.0;
const INITIAL_SEGMENTS: f64 = 10.0;
/// Paces a little below the bandwidth, so that queues drain in the mean.
const PACING_MARGIN: f64 = 0.99;
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Rounds over which, and seconds of the bandwidth up to which, bunched acknowledgements count.
const BUNCH_ROUNDS: u32 = 5;
const LONGEST_BUNCH_S: f64 = 0.1;
const BUNCH_SEGMENTS: f64 = (1 << 20) as f64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// Bunches of acknowledgements: what arrived beyond the bandwidth, at most, in two halves of the
/// recent past.
#[derive(Clone, Debug, Default)]
struct Bunches {
    most: [f64; 2],
    half: usize,
    rounds: u32,
    began: Time,
    acknowledged: f64,
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
    phase: usize,
    phase_at: Time,
    full_bandwidth: f64,
    full_rounds: u32,
    is_full: bool,
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
            phase: 0,
            phase_at: 0,
            full_bandwidth: 0.0,
            full_rounds: 0,
            is_full: false,
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
        if self.is_full || rate > self.pacing_rate {
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
        let probes = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        even + if probes { 2.0 } else { 0.0 }
    }

    fn inflight(&self, gain: f64) -> f64 {
        self.with_room(self.product(self.bandwidth.value(), gain))
    }

    /// Segments under way when the next burst may leave.
    fn flight_at_departure(&self, flight_bytes: u64, sample: &Sampled) -> f64 {
        let burst = if self.pacing_gain > 1.0 { self.burst_bytes() } else { 0 };
        let delivered = self.rate() * sample.departs_in_ns as f64 / 1e9;
        ((flight_bytes + burst) as f64 - delivered).max(0.0) / self.mss
    }

    fn bunch_segments(&self) -> f64 {
        if !self.is_full {
            return 0.0;
        }
        let most = self.bunches.most[0].max(self.bunches.most[1]);
        most.min(self.rate() * LONGEST_BUNCH_S / self.mss)
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

    fn update_bunches(&mut self, sample: &Sampled) {
        let known = sample.rate.is_some_and(|rate| rate.bytes_per_s.is_some());
        if !known || sample.acknowledged_bytes == 0 {
            return;
        }
        let segments = sample.acknowledged_bytes as f64 / self.mss;
        let rate = self.rate();
        let (mss, window) = (self.mss, self.window);
        let bunches = &mut self.bunches;
        if self.is_round_start {
            bunches.rounds += 1;
            if bunches.rounds >= BUNCH_ROUNDS {
                bunches.rounds = 0;
                bunches.half = 1 - bunches.half;
                bunches.most[bunches.half] = 0.0;
            }
        }
        let mut expected = rate * (sample.now - bunches.began) as f64 / 1e9 / mss;
        if bunches.acknowledged <= expected || bunches.acknowledged + segments >= BUNCH_SEGMENTS {
            bunches.acknowledged = 0.0;
            bunches.began = sample.now;
            expected = 0.0;
        }
        bunches.acknowledged = (bunches.acknowledged + segments).min(BUNCH_SEGMENTS);
        let most = &mut bunches.most[bunches.half];
        *most = most.max((bunches.acknowledged - expected).min(window));
    }

    /// Advances the gains of bandwidth probing.
    fn update_phase(&mut self, sample: &Sampled) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let lasted = sample.now - self.phase_at > self.minimum_rtt_ns.unwrap_or(Time::MAX);
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
            self.phase = (self.phase + 1) % CYCLE.len();
            self.phase_at = sample.now;
        }
    }

    fn probe_bandwidth(&mut self, now: Time) {
        self.mode = Mode::ProbeBandwidth;
        // Any phase but the one that drains: flows do not probe together. The clock is the dice.
        let dice = (now as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        self.phase = (CYCLE.len() - dice as usize % (CYCLE.len() - 1)) % CYCLE.len();
        self.phase_at = now;
    }

    /// Start-up is over when three rounds have brought less than a quarter more.
    fn check_full(&mut self, sample: &Sampled) {
        let limited = sample.rate.is_some_and(|rate| rate.application_limited);
        if self.is_full || !self.is_round_start || limited {
            return;
        }
        if self.bandwidth.value() >= self.full_bandwidth * FULL_GROWTH {
            self.full_bandwidth = self.bandwidth.value();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drained(&mut self, sample: &Sampled) {
        if self.mode == Mode::Startup && self.is_full {
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
        if self.is_full {
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
            Mode::ProbeBandwidth => (CYCLE[self.phase], WINDOW_GAIN),
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
            let target = self.with_room(product + self.bunch_segments());
            if self.is_full {
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
        self.update_bunches(sample);
        self.update_phase(sample);
        self.check_full(sample);
        self.check_drained(sample);
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
        self.full_bandwidth = 0.0;
        self.window = 1.0;
    }

    fn on_start_after_idle(&mut self, now: Time, application_limited: bool) {
        if !application_limited {
            return;
        }
        self.starts_after_idle = true;
        self.bunches.began = now;
        self.bunches.acknowledged = 0.0;
        match self.mode {
            Mode::ProbeBandwidth => self.set_pacing_rate(1.0, 0),
            Mode::ProbeRtt => self.leave_probe_rtt(now),
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
        let least = if self.pacing_rate < 1.2e6 / 8.0 { 1.0 } else { 2.0 };
        ((self.pacing_rate / 1024.0).min(65_000.0) / self.mss).floor().max(least) as u64
            * self.mss as u64
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
