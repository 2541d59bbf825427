//! The server over TCP: it writes media into the send buffer, faster than playback until enough is
//! ahead.

use super::control::Status;
use super::packetiser::MediaPacket;
use super::parameters::{Parameters, Programme};
use crate::des::{ns, seconds, Phase, Time};

#[derive(Debug)]
pub struct TcpServer {
    multiple: f64,
    refill_multiple: f64,
    ahead_s: f64,
    buffering_limit: Time,
    started: Time,
    pub level: usize,
    pub position_s: f64,
    pub phase: Phase,
    pub ended: bool,
    /// A packet that did not fit into the send buffer.
    pub refused: Option<MediaPacket>,
    /// Playback as last told: when, where, and whether it moves.
    playback: (Time, f64, bool),
}

impl TcpServer {
    pub fn new(parameters: &Parameters, level: usize, now: Time) -> Self {
        Self {
            multiple: parameters.tcp_multiple,
            refill_multiple: parameters.tcp_refill_multiple,
            ahead_s: parameters.tcp_ahead_s,
            buffering_limit: ns(parameters.buffering_limit_s),
            started: now,
            level,
            position_s: 0.0,
            phase: Phase::Buffering,
            ended: false,
            refused: None,
            playback: (now, 0.0, false),
        }
    }

    /// A packet was written: how long until the next one.
    pub fn wrote(&mut self, packet: &MediaPacket, programme: &Programme) -> Time {
        self.position_s = packet.end_s;
        self.ended = self.position_s >= programme.length_s - 1e-9;
        let multiple = match self.phase {
            Phase::Buffering => self.multiple,
            Phase::Rebuffering => self.refill_multiple,
            _ => 1.0,
        };
        ns(packet.duration_s / multiple)
    }

    /// Decide how fast to send; true where that has changed.
    pub fn pace(&mut self, now: Time) -> bool {
        let (at, playhead_s, playing) = self.playback;
        let playhead_s = playhead_s + if playing { seconds(now - at) } else { 0.0 };
        let ahead_s = self.position_s - playhead_s;
        // What plays away while nothing is wrong must not make it send faster again: a second of
        // hysteresis.
        let enough_s = if self.phase == Phase::Playout { self.ahead_s - 1.0 } else { self.ahead_s };
        let phase = if ahead_s >= enough_s {
            Phase::Playout
        } else if self.phase == Phase::Buffering && now - self.started < self.buffering_limit {
            Phase::Buffering
        } else {
            Phase::Rebuffering
        };
        std::mem::replace(&mut self.phase, phase) != phase
    }

    /// The player has told how far it is; true where it wants another level.
    pub fn on_status(&mut self, now: Time, status: &Status) -> bool {
        self.playback = (now, status.playhead_s, status.playing);
        let changes = self.level != status.level;
        self.level = status.level;
        changes
    }
}
