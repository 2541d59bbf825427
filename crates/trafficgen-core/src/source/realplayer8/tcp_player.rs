//! The player over TCP: it knows its goodput and its buffer, and nothing of the path (CCZ-M4).

use super::packetiser::MediaPacket;
use super::parameters::{Parameters, Programme, TcpResponse};
use super::playback::{Change, Playback};
use crate::des::{ns, seconds, Time};

#[derive(Debug)]
pub struct TcpPlayer {
    down_share: f64,
    up_wait: Time,
    full_s: f64,
    time_constant_s: f64,
    evidence_time_constant_s: f64,
    give_up_share: f64,
    give_up_waits: u32,
    response: TcpResponse,

    pub playback: Playback,
    /// Level of the media that comes.
    pub level: Option<u16>,
    /// Level that it has asked for.
    pub wanted: usize,
    pub last_arrival: Time,
    /// When it last told the server about playback.
    pub told: Time,
    /// Payload since the last tick.
    bytes: u64,
    ticked: Time,
    /// Slow estimate of the goodput, for steps down.
    goodput_bps: f64,
    /// Fast one, and its largest value since the last step down: what a higher level may count on.
    recent_bps: f64,
    evidence_bps: f64,
    full_since: Option<Time>,
    /// Payload and time since playback has been waiting for media.
    waited_bytes: u64,
    waits_since: Time,
    /// Waits in a row that brought next to nothing.
    starved_waits: u32,
}

impl TcpPlayer {
    pub fn new(
        parameters: &Parameters,
        programme: &Programme,
        level: usize,
        playback: Playback,
        now: Time,
    ) -> Self {
        Self {
            down_share: parameters.tcp_down_share,
            up_wait: ns(parameters.tcp_up_wait_s),
            full_s: parameters.tcp_full_s,
            time_constant_s: parameters.goodput_time_constant_s,
            evidence_time_constant_s: parameters.evidence_time_constant_s,
            give_up_share: parameters.give_up_share,
            give_up_waits: parameters.give_up_waits,
            response: programme.tcp_response,
            playback,
            level: None,
            wanted: level,
            last_arrival: now,
            told: now,
            bytes: 0,
            ticked: now,
            goodput_bps: programme.ladder_bps[level],
            recent_bps: 0.0,
            evidence_bps: 0.0,
            full_since: None,
            waited_bytes: 0,
            waits_since: now,
            starved_waits: 0,
        }
    }

    /// A media packet has come in order.
    pub fn on_packet(&mut self, now: Time, packet: &MediaPacket) -> Option<Change> {
        self.last_arrival = now;
        self.bytes += u64::from(packet.payload_bytes);
        self.waited_bytes += u64::from(packet.payload_bytes);
        self.level = Some(packet.level);
        self.playback.on_media(now, packet.duration_s, Some(packet.end_s))
    }

    /// Renew the estimates and judge them; true where another level is wanted.
    pub fn tick(&mut self, now: Time, programme: &Programme) -> bool {
        let elapsed_s = seconds(now - self.ticked).max(1e-3);
        let rate_bps = self.bytes as f64 * 8.0 / elapsed_s;
        self.goodput_bps +=
            (rate_bps - self.goodput_bps) * (1.0 - (-elapsed_s / self.time_constant_s).exp());
        self.recent_bps += (rate_bps - self.recent_bps)
            * (1.0 - (-elapsed_s / self.evidence_time_constant_s).exp());
        self.evidence_bps = self.evidence_bps.max(self.recent_bps);
        (self.bytes, self.ticked) = (0, now);
        self.steps_down(programme) || self.steps_up(now, programme)
    }

    fn steps_down(&mut self, programme: &Programme) -> bool {
        let least_bps = self.down_share * programme.ladder_bps[self.wanted];
        self.response == TcpResponse::Steps
            && self.goodput_bps < least_bps
            && self.lower_to(self.goodput_bps, programme)
    }

    /// Ask for the highest level within `rate_bps`, if it is lower.
    fn lower_to(&mut self, rate_bps: f64, programme: &Programme) -> bool {
        // By the share that counts as too little: the level that the next verdict will leave alone.
        let level = programme.level_within(rate_bps / self.down_share);
        if level >= self.wanted {
            return false;
        }
        self.wanted = level;
        self.evidence_bps = self.recent_bps;
        self.full_since = None;
        true
    }

    fn steps_up(&mut self, now: Time, programme: &Programme) -> bool {
        let full = self.playback.is_playing() && self.playback.buffered_s(now) >= self.full_s;
        if !full {
            self.full_since = None;
            return false;
        }
        let since = *self.full_since.get_or_insert(now);
        // By the share that would count as too little: else the next verdict would undo the step.
        let Some(next_bps) = programme.ladder_bps.get(self.wanted + 1) else { return false };
        if now - since < self.up_wait || self.down_share * self.evidence_bps < *next_bps {
            return false;
        }
        self.wanted += 1;
        self.full_since = Some(now);
        true
    }

    /// Playback halts: what comes from now on is for the refill.
    pub fn begins_to_wait(&mut self, now: Time) {
        (self.waited_bytes, self.waits_since) = (0, now);
    }

    /// The wait has lasted as long as it may: ask for what the goodput carries, and remember
    /// whether that is anything.
    pub fn waited_in_vain(&mut self, now: Time, programme: &Programme) {
        let rate_bps = self.waited_bytes as f64 * 8.0 / seconds(now - self.waits_since).max(1e-3);
        let starves = rate_bps < self.give_up_share * programme.ladder_bps[0];
        self.starved_waits = if starves { self.starved_waits + 1 } else { 0 };
        if self.response == TcpResponse::Jump {
            self.lower_to(rate_bps, programme);
        }
    }

    /// Whether it leaves, as the players of the time did in severe congestion (CCZ02, section VI).
    pub fn gives_up(&self) -> bool {
        self.starved_waits >= self.give_up_waits
    }
}
