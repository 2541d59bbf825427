//! The server over UDP: paced sending, SureStream levels that follow loss and delay, resending.

use std::collections::VecDeque;

use super::packetiser::MediaPacket;
use super::parameters::{Parameters, Programme};
use super::udp_player::Report;
use crate::des::{ns, seconds, Time};

/// What a report makes the server do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Stay,
    Level,
}

#[derive(Debug)]
pub struct UdpServer {
    loss_weight: f64,
    severe_loss_weight: f64,
    severe_loss: f64,
    down_losses_per_s: f64,
    down_queue: Time,
    down_losses_unqueued_per_s: f64,
    up_losses_per_s: f64,
    up_wait: Time,
    up_wait_most: Time,
    resend_share: f64,
    buffering_limit: Time,
    buffering_share: f64,
    ahead_s: f64,

    pub level: usize,
    /// Times the level's rate at which it sends.
    pub multiple: f64,
    pub position_s: f64,
    pub buffering: bool,
    pub ended: bool,
    started: Time,
    preselect: bool,
    smallest_rtt: Option<Time>,
    /// Means since the last step: lost packets per s, and the share lost.
    losses_per_s: f64,
    loss: f64,
    clear_since: Time,
    wait: Time,
    last_up: Option<Time>,
    /// Playback as last reported: when, where, and whether it moves.
    playback: (Time, f64, bool),
    resends: VecDeque<u32>,
    resend_credit_bytes: f64,
}

impl UdpServer {
    pub fn new(parameters: &Parameters, programme: &Programme, now: Time) -> Self {
        Self {
            loss_weight: parameters.loss_weight,
            severe_loss_weight: parameters.severe_loss_weight,
            severe_loss: parameters.severe_loss,
            down_losses_per_s: parameters.down_losses_per_s,
            down_queue: ns(parameters.down_queue_s),
            down_losses_unqueued_per_s: parameters.down_losses_unqueued_per_s,
            up_losses_per_s: parameters.up_losses_per_s,
            up_wait: ns(parameters.up_wait_s),
            up_wait_most: ns(parameters.up_wait_most_s),
            resend_share: parameters.resend_share,
            buffering_share: parameters.buffering_share,
            buffering_limit: ns(parameters.buffering_limit_s),
            ahead_s: parameters.ahead_s,
            level: programme.top(),
            multiple: programme.multiple,
            position_s: 0.0,
            buffering: programme.multiple > 1.0,
            ended: false,
            started: now,
            preselect: programme.preselect,
            smallest_rtt: None,
            losses_per_s: 0.0,
            loss: 0.0,
            clear_since: now,
            wait: ns(parameters.up_wait_s),
            last_up: None,
            playback: (now, 0.0, false),
            resends: VecDeque::new(),
            resend_credit_bytes: 0.0,
        }
    }

    /// A packet leaves: how long until the next one.
    pub fn sends(&mut self, packet: &MediaPacket, rate_bps: f64, length_s: f64) -> Time {
        self.position_s = packet.end_s;
        self.ended = self.position_s >= length_s - 1e-9;
        let size = f64::from(packet.payload_bytes);
        // Credit of more than one packet would let a late loss be answered by a burst.
        self.resend_credit_bytes =
            (self.resend_credit_bytes + self.resend_share * size).min(1500.0);
        ns(size * 8.0 / (rate_bps * self.multiple))
    }

    /// A packet that may be sent again now.
    pub fn resend(&mut self, sent: &[MediaPacket]) -> Option<u32> {
        let sequence = *self.resends.front()?;
        let size = f64::from(sent[sequence as usize].payload_bytes);
        if self.resend_credit_bytes < size {
            return None;
        }
        self.resend_credit_bytes -= size;
        self.resends.pop_front()
    }

    /// Whether the buffer has what it needs, or buffering has lasted as long as it may.
    pub fn has_buffered(&self, now: Time) -> bool {
        let (at, playhead_s, playing) = self.playback;
        let playhead_s = playhead_s + if playing { seconds(now - at) } else { 0.0 };
        now - self.started >= self.buffering_limit || self.position_s - playhead_s >= self.ahead_s
    }

    pub fn end_buffering(&mut self) {
        self.buffering = false;
        self.multiple = 1.0;
    }

    /// A report has come, with the packets that it asks for again.
    pub fn on_report(
        &mut self,
        now: Time,
        report: &Report,
        missing: &[u32],
        programme: &Programme,
    ) -> Decision {
        self.playback = (now, report.playhead_s, report.playing);
        self.resends.extend(missing);
        let queued = self.queued(now, report);
        if std::mem::take(&mut self.preselect) {
            return self.preselect(now, report, programme);
        }
        let bearable =
            if queued { self.down_losses_per_s } else { self.down_losses_unqueued_per_s };
        self.losses_per_s += self.loss_weight * (report.losses_per_s() - self.losses_per_s);
        self.loss += self.severe_loss_weight * (report.loss() - self.loss);
        if self.losses_per_s > bearable || self.loss > self.severe_loss {
            return self.step_down(now, report, programme);
        }
        if self.losses_per_s > self.up_losses_per_s || self.buffering {
            self.clear_since = now;
            return Decision::Stay;
        }
        self.step_up(now, programme)
    }

    /// Whether a queue has grown on the path, by the RTT of the report; so it seems where nothing
    /// comes.
    fn queued(&mut self, now: Time, report: &Report) -> bool {
        let Some((sent, held)) = report.echo else { return true };
        let rtt = now - sent - held;
        let smallest = self.smallest_rtt.map_or(rtt, |smallest| smallest.min(rtt));
        self.smallest_rtt = Some(smallest);
        rtt - smallest > self.down_queue
    }

    /// The first report of a clip that chooses its level by what came.
    fn preselect(&mut self, now: Time, report: &Report, programme: &Programme) -> Decision {
        self.clear_since = now;
        let level = programme.level_within(report.goodput_bps);
        if level >= self.level {
            return Decision::Stay;
        }
        self.level = level;
        self.end_buffering();
        self.rewind(report);
        Decision::Level
    }

    fn step_down(&mut self, now: Time, report: &Report, programme: &Programme) -> Decision {
        self.clear_since = now;
        (self.losses_per_s, self.loss) = (0.0, 0.0);
        if self.buffering {
            self.slow_buffering(report, programme);
            return Decision::Stay;
        }
        if self.level == 0 {
            return Decision::Stay;
        }
        if self.last_up.take().is_some_and(|up| now - up < self.wait) {
            self.wait = (2 * self.wait).min(self.up_wait_most);
        }
        self.level -= 1;
        self.rewind(report);
        Decision::Level
    }

    /// Congestion while buffering: send somewhat less than what came, but no less than the clip
    /// needs.
    fn slow_buffering(&mut self, report: &Report, programme: &Programme) {
        self.multiple =
            self.buffering_share * report.goodput_bps / programme.ladder_bps[self.level];
        if self.multiple < 1.0 {
            self.end_buffering();
        }
    }

    /// What came of higher levels before playback began is mostly useless: the new one starts where
    /// the media is whole.
    fn rewind(&mut self, report: &Report) {
        if report.before_start {
            self.position_s = self.position_s.min(report.received_s);
        }
    }

    fn step_up(&mut self, now: Time, programme: &Programme) -> Decision {
        if self.last_up.is_some_and(|up| now - up >= self.wait) {
            self.last_up = None;
            self.wait = self.up_wait;
        }
        if now - self.clear_since < self.wait || self.level == programme.top() {
            return Decision::Stay;
        }
        self.level += 1;
        self.last_up = Some(now);
        self.clear_since = now;
        Decision::Level
    }
}
