//! The player: the packet pair, its choice, what it asks for again, its reports, its buffer and its
//! clock.

use super::clip::Clip;
use super::parameters::Parameters;
use super::reception::Reception;
use super::wire::{Header, PlayRequest, Report, Wire};
use crate::des::{ns, seconds, End, FlowId, Io, Label, Phase, Sample, SessionEvent, Time};

/// Timers of the player.
pub const REPORT: u32 = 10;
pub const TICK: u32 = 11;
pub const SECOND: u32 = 12;

const TICK_NS: Time = 500_000_000;
const SECOND_NS: Time = 1_000_000_000;
/// RTCP receiver report with a source description (RFC 3550 6.4.2, 6.5), and a packet asked for.
const REPORT_BYTES: u32 = 60;
const REQUEST_BYTES: u32 = 4;

#[derive(Debug)]
pub struct Player {
    parameters: Parameters,
    clip: Clip,
    feedback: FlowId,
    pair: Option<(u64, Time)>,
    capacity_bps: Option<f64>,
    reception: Reception,
    last_report: Option<Time>,
    report_at: Time,
    /// Loss of first sendings in the seconds of the verdict.
    losses: Vec<f64>,
    seconds: u32,
    first_media: Option<Time>,
    received_s: f64,
    /// Furthest playing time that has come, s.
    position_s: f64,
    playing: Option<Playing>,
    present: Option<Header>,
    end_known: bool,
}

/// The player's clock.
#[derive(Clone, Copy, Debug)]
struct Playing {
    /// When playing time 0 would have been shown, had it never halted.
    zero: Time,
    halted: Option<Time>,
}

impl Player {
    pub fn new(parameters: Parameters, clip: Clip) -> Self {
        let reception =
            Reception::new(ns(parameters.request_interval_s), ns(parameters.request_lifetime_s));
        Self {
            parameters,
            clip,
            feedback: 0,
            pair: None,
            capacity_bps: None,
            reception,
            last_report: None,
            report_at: Time::MAX,
            losses: Vec::new(),
            seconds: 0,
            first_media: None,
            received_s: 0.0,
            position_s: 0.0,
            playing: None,
            present: None,
            end_known: false,
        }
    }

    pub fn open(&mut self, feedback: FlowId) {
        self.feedback = feedback;
    }

    /// A packet of the pair: the capacity is that of the closest two neighbours.
    pub fn on_probe(&mut self, io: &mut Io, number: u64, ip_bytes: u32) {
        let before = self.pair.replace((number, io.now()));
        let Some((_, at)) = before.filter(|(_, at)| *at < io.now()) else { return };
        let capacity_bps = f64::from(ip_bytes) * 8.0 / seconds(io.now() - at);
        self.capacity_bps =
            Some(self.capacity_bps.map_or(capacity_bps, |known| known.max(capacity_bps)));
    }

    /// Whether the last packet of the pair has come.
    pub fn has_probe(&self, packets: u32) -> bool {
        self.pair.is_some_and(|(number, _)| number + 1 == u64::from(packets))
    }

    /// What it asks the server to play, from the estimate.
    pub fn request(&self, io: &mut Io) -> PlayRequest {
        let value = self.capacity_bps.unwrap_or(f64::NAN);
        io.log(SessionEvent::Fact { name: "estimate_bps", value });
        let level = self.clip.choice(self.capacity_bps);
        let rate_bps = self.clip.levels[level].total_bps();
        let within = |share: f64, bps: f64| {
            self.capacity_bps.is_some_and(|capacity_bps| bps <= share * capacity_bps)
        };
        let accelerated = within(self.parameters.accelerated_share_of_capacity, rate_bps);
        let along_bps = self.clip.low_levels_bps(1000.0 * self.parameters.sent_along_kbps, level);
        let along = within(self.parameters.sent_along_share_of_capacity, rate_bps + along_bps);
        let along_bps = if along { along_bps } else { 0.0 };
        let most = self.parameters.acceleration_limit_share_of_capacity / (rate_bps + along_bps);
        let fitting = self.capacity_bps.map_or(1.0, |capacity_bps| (capacity_bps * most).max(1.0));
        PlayRequest {
            level,
            multiple: self.parameters.multiple(rate_bps).min(fitting),
            accelerated,
            along_bps,
            capacity_bps: self.capacity_bps,
        }
    }

    /// A media packet; returns whether the buffer has become full by it.
    pub fn on_media(&mut self, io: &mut Io, header: &Header, wire: &mut Wire) -> bool {
        if self.first_media.is_none() {
            self.first_media = Some(io.now());
            io.set_timer_in(SECOND, ns(self.parameters.verdict_start_s));
            io.set_timer_in(TICK, TICK_NS);
            self.wait_for_report(io, ns(self.parameters.report_interval_s));
        }
        if self.reception.take(io.now(), header.stream, header.sequence) {
            self.received_s += header.media_s;
        }
        if header.position_s >= self.position_s {
            self.position_s = header.position_s;
            self.present = Some(*header);
        }
        self.ask_if_due(io, wire);
        self.playing.is_none() && self.fill(io)
    }

    fn fill(&mut self, io: &mut Io) -> bool {
        if self.received_s < self.parameters.buffer_full_s {
            return false;
        }
        io.log(SessionEvent::BufferFull);
        self.start_playing(io);
        true
    }

    fn start_playing(&mut self, io: &mut Io) {
        io.log(SessionEvent::PlaybackStart);
        self.playing = Some(Playing { zero: io.now(), halted: None });
    }

    /// How often a packet is asked for at most: less while the clip plays.
    fn requests(&self) -> u8 {
        if self.playing.is_some() {
            self.parameters.requests_playing
        } else {
            self.parameters.requests_buffering
        }
    }

    /// Report at once where packets are missing, though not more often than reports may come.
    fn ask_if_due(&mut self, io: &mut Io, wire: &mut Wire) {
        let requests = self.requests();
        let Some(due) = self.reception.next_due(io.now(), requests) else { return };
        let least = ns(1.0 / self.parameters.reports_per_s);
        let at = self.last_report.map_or(due, |last| due.max(last + least));
        if at <= io.now() {
            self.report(io, wire);
        } else if at < self.report_at {
            self.report_at = at;
            io.set_timer(REPORT, at);
        }
    }

    fn wait_for_report(&mut self, io: &mut Io, delay: Time) {
        self.report_at = io.now() + delay;
        io.set_timer(REPORT, self.report_at);
    }

    /// Send a receiver report with what is asked for again.
    pub fn report(&mut self, io: &mut Io, wire: &mut Wire) {
        let first = wire.asked.len();
        let most = self.parameters.packets_per_request as usize;
        let (requests, now) = (self.requests(), io.now());
        while wire.asked.len() - first < most {
            let Some(missing) = self.reception.ask(now, requests) else { break };
            wire.asked.push(missing);
        }
        let end = wire.asked.len();
        let tag = wire.reports.len() as u64;
        wire.reports.push(Report { first, end, loss: self.verdict() });
        let payload_bytes = REPORT_BYTES + REQUEST_BYTES * (end - first) as u32;
        io.send(self.feedback, End::Client, payload_bytes, tag, Label::of(Phase::Signalling));
        self.last_report = Some(now);
        self.wait_for_report(io, ns(self.parameters.report_interval_s));
        self.ask_if_due(io, wire);
    }

    /// Median loss of the seconds of the verdict once they are over.
    fn verdict(&self) -> Option<f64> {
        if self.seconds <= self.parameters.verdict_seconds {
            return None;
        }
        let mut losses = self.losses.clone();
        losses.sort_by(f64::total_cmp);
        let middle = losses.len() / 2;
        match losses.len() {
            0 => None,
            even if even % 2 == 0 => Some(f64::midpoint(losses[middle - 1], losses[middle])),
            _ => Some(losses[middle]),
        }
    }

    /// A second of the verdict begins, and the one before it ends.
    pub fn on_second(&mut self, io: &mut Io, wire: &mut Wire) {
        let (expected, received) = self.reception.end_interval();
        if self.seconds > 0 && expected > 0 {
            self.losses.push(1.0 - received as f64 / expected as f64);
        }
        self.seconds += 1;
        if self.seconds <= self.parameters.verdict_seconds {
            io.set_timer_in(SECOND, SECOND_NS);
        } else {
            self.report(io, wire);
        }
    }

    pub fn on_end_of_stream(&mut self, io: &mut Io) {
        self.end_known = true;
        if self.playing.is_none() {
            self.start_playing(io);
        }
    }

    fn played_s(&self, now: Time) -> f64 {
        self.playing.map_or(0.0, |playing| seconds(playing.halted.unwrap_or(now) - playing.zero))
    }

    /// Look at the clock; returns whether the clip has been played to its end.
    pub fn on_tick(&mut self, io: &mut Io) -> bool {
        let ahead_s = self.position_s - self.played_s(io.now());
        let Some(playing) = self.playing.as_mut() else {
            io.set_timer_in(TICK, TICK_NS);
            return false;
        };
        if self.end_known && ahead_s <= 0.0 {
            return true;
        }
        match playing.halted {
            None if ahead_s <= 0.0 => {
                playing.halted = Some(io.now());
                io.log(SessionEvent::StallStart);
            }
            Some(since) if ahead_s >= self.parameters.rebuffer_s || self.end_known => {
                playing.zero += io.now() - since;
                playing.halted = None;
                io.log(SessionEvent::StallEnd);
            }
            _ => {}
        }
        io.set_timer_in(TICK, TICK_NS);
        false
    }

    pub fn sample(&self, now: Time) -> Sample {
        self.present.map_or(Sample::NONE, |present| Sample {
            encoding_bps: present.encoding_bps,
            frames_per_s: present.frames_per_s,
            buffer_s: (self.position_s - self.played_s(now)).max(0.0),
        })
    }
}
