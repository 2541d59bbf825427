//! The server: quiet start or train, sending ahead, then at the clip's rate, and what is left out
//! on congestion.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;

use super::pacing::{Rise, Variation};
use super::packet::{MediaPacket, Report};
use super::parameters::{Encoding, Parameters, Programme};
use super::response::{Action, LossResponse};
use crate::des::{ns, seconds, Phase, Time};

/// What of the clip is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    Whole,
    /// Fewer frames.
    Thinned,
    /// Parts that make up this media payload rate, bit/s.
    Parts(f64),
    AudioOnly,
}

/// Where the server is in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Headers only.
    Quiet,
    /// The train has been sent and the player has not told of it.
    Measuring,
    /// Until the player is far enough ahead.
    Ahead,
    /// The same after congestion, at hardly more than the clip's rate.
    Eased,
    Steady,
}

#[derive(Debug)]
pub struct Server {
    parameters: Parameters,
    programme: Programme,
    pub stage: Stage,
    pub shape: Shape,
    pub level: usize,
    /// End of what has been sent, s of the clip.
    pub position_s: f64,
    pub ended: bool,
    /// Time for which packets may still be sent at once, s.
    pub owed_s: f64,
    started: Time,
    rise: Option<Rise>,
    variation: Variation,
    response: Option<LossResponse>,
    /// Playback as last reported: when, where, and whether it moves.
    playback: (Time, f64, bool),
    link_bps: Option<f64>,
    sent_bytes: u64,
    /// Bytes sent, since when: until the report before.
    reported: Option<(Time, u64)>,
    resends: VecDeque<u32>,
    resend_credit_bytes: f64,
}

impl Server {
    pub fn new(
        parameters: &Parameters,
        programme: &Programme,
        now: Time,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let turboplay = parameters.turboplay;
        let Parameters { rate_sigma, rate_bound_share, rate_time_constant_s, .. } = *parameters;
        let variation =
            Variation::new(rate_sigma, rate_bound_share, rate_time_constant_s, now, rng);
        Self {
            stage: if turboplay { Stage::Measuring } else { Stage::Quiet },
            shape: Shape::Whole,
            level: programme.top(),
            position_s: 0.0,
            ended: false,
            owed_s: 0.0,
            started: now,
            rise: None,
            variation,
            response: (!turboplay).then(|| LossResponse::new(parameters, programme, now)),
            playback: (now, 0.0, false),
            link_bps: None,
            sent_bytes: 0,
            reported: None,
            resends: VecDeque::new(),
            resend_credit_bytes: 0.0,
            parameters: parameters.clone(),
            programme: programme.clone(),
        }
    }

    pub fn encoding(&self) -> &Encoding {
        &self.programme.encodings[self.level]
    }

    pub fn length_s(&self) -> f64 {
        self.programme.length_s
    }

    /// Index into the levels that the session shows: of a SureStream clip its encodings, of any
    /// other audio only, less than the whole, the whole.
    pub fn shown_level(&self) -> i16 {
        match self.shape {
            _ if self.programme.is_surestream() => self.level as i16,
            Shape::AudioOnly => 0,
            Shape::Thinned | Shape::Parts(_) => 1,
            Shape::Whole => 2,
        }
    }

    /// Phase for the packet table.
    pub fn phase(&self) -> Phase {
        match (self.shape, self.stage) {
            (Shape::AudioOnly, _) => Phase::AudioOnly,
            (Shape::Thinned | Shape::Parts(_), _) => Phase::Thinned,
            (Shape::Whole, Stage::Eased | Stage::Steady) => Phase::Playout,
            (Shape::Whole, _) => Phase::Buffering,
        }
    }

    /// Media payload of one second of what is sent, bit/s.
    pub fn media_bps(&self) -> f64 {
        let Encoding { bps, audio_bps, .. } = *self.encoding();
        match self.shape {
            Shape::Whole => bps,
            Shape::Thinned => audio_bps + self.parameters.thinned_share * (bps - audio_bps),
            Shape::Parts(parts_bps) => parts_bps.clamp(audio_bps, bps),
            Shape::AudioOnly => audio_bps,
        }
    }

    pub fn frames_per_s(&self) -> f64 {
        match self.shape {
            Shape::Whole | Shape::Parts(_) => self.encoding().frames_per_s,
            Shape::Thinned => self.parameters.thinned_share * self.encoding().frames_per_s,
            Shape::AudioOnly => 0.0,
        }
    }

    /// The next piece of the clip.
    pub fn next_packet(&mut self) -> MediaPacket {
        let encoding_bps = self.media_bps();
        let full = self.encoding().payload_bytes;
        let left_bytes = ((self.length_s() - self.position_s) * encoding_bps / 8.0).ceil().max(1.0);
        let payload_bytes = if left_bytes < f64::from(full) { left_bytes as u32 } else { full };
        self.position_s =
            (self.position_s + f64::from(payload_bytes) * 8.0 / encoding_bps).min(self.length_s());
        self.ended = self.position_s >= self.length_s() - 1e-9;
        self.sent_bytes += u64::from(payload_bytes);
        // Credit of more than one packet would let a late loss be answered by a burst.
        let credit_bytes =
            self.resend_credit_bytes + self.parameters.resend_share * f64::from(payload_bytes);
        self.resend_credit_bytes = credit_bytes.min(1500.0);
        let level = self.shown_level();
        MediaPacket {
            payload_bytes,
            level,
            encoding_bps,
            frames_per_s: self.frames_per_s(),
            end_s: self.position_s,
        }
    }

    /// A packet that may be sent again now.
    pub fn resend(&mut self, sent: &[MediaPacket]) -> Option<u32> {
        let sequence = *self.resends.front()?;
        let bytes = f64::from(sent[sequence as usize].payload_bytes);
        if self.shape == Shape::AudioOnly || self.resend_credit_bytes < bytes {
            return None;
        }
        self.resend_credit_bytes -= bytes;
        self.sent_bytes += bytes as u64;
        self.resends.pop_front()
    }

    /// The quiet start is over: the rate rises.
    pub fn begin(&mut self, now: Time) {
        self.stage = Stage::Ahead;
        let from_bps = self.parameters.rise_from_share * self.encoding().bps;
        self.rise = Some(Rise {
            from_bps,
            time_constant_s: self.parameters.rise_time_constant_s,
            began: now,
        });
    }

    pub fn quiet_until(&self) -> Time {
        self.started + ns(self.parameters.quiet_s)
    }

    /// How long a payload takes to send, s.
    pub fn sending_s(&mut self, now: Time, payload_bytes: u32, rng: &mut ChaCha8Rng) -> f64 {
        let bits = f64::from(payload_bytes) * 8.0;
        if let Some(paced_bps) = self.link_pace_bps() {
            return bits / paced_bps;
        }
        let mean_bps = self.target_bps();
        let asked = mean_bps > self.media_bps();
        let share = if asked { self.parameters.asked_variation_share } else { 1.0 };
        let target_bps = mean_bps * (1.0 + share * self.variation.deviation(now, rng));
        self.rise.map_or(bits / target_bps, |rise| rise.wait_s(target_bps, now, bits))
    }

    pub fn is_link_paced(&self) -> bool {
        self.link_pace_bps().is_some()
    }

    /// TurboPlay's rate while it sends ahead: IP packets at a little more than the link's rate, as
    /// payload.
    fn link_pace_bps(&self) -> Option<f64> {
        let link_bps = self.link_bps.filter(|_| self.stage == Stage::Ahead)?;
        let payload = f64::from(self.encoding().payload_bytes);
        let paced_bps =
            self.parameters.turboplay_pace_ratio * link_bps * payload / (payload + 28.0);
        Some(paced_bps.max(self.media_bps()))
    }

    fn target_bps(&self) -> f64 {
        let own_bps = self.media_bps();
        if self.parameters.turboplay || self.shape != Shape::Whole {
            return own_bps;
        }
        let playing = self.playback.2;
        let Parameters {
            before_playback_multiple,
            after_playback_multiple,
            accelerated_cap_kbps,
            least_multiple,
            eased_multiple,
            ..
        } = self.parameters;
        let (multiple, least) = match self.stage {
            Stage::Ahead if playing => (after_playback_multiple, least_multiple),
            Stage::Ahead => (before_playback_multiple, 1.0),
            Stage::Eased if playing => (eased_multiple, eased_multiple),
            _ => return own_bps,
        };
        (multiple * own_bps).min(accelerated_cap_kbps * 1e3).max(least * own_bps)
    }

    /// Media that the player has ahead of playback, by all that the server knows, s.
    fn ahead_s(&self, now: Time) -> f64 {
        let (at, playhead_s, playing) = self.playback;
        self.position_s - playhead_s - if playing { seconds(now - at) } else { 0.0 }
    }

    /// Whether sending ahead ends now.
    pub fn has_sent_ahead(&self, now: Time) -> bool {
        let limit = ns(self.parameters.turboplay_limit_s);
        matches!(self.stage, Stage::Ahead | Stage::Eased)
            && (self.ahead_s(now) >= self.parameters.ahead_s
                || (self.parameters.turboplay && now - self.started >= limit))
    }

    pub fn on_missing(&mut self, from: u32, to: u32) {
        self.resends.extend(from..to);
    }

    /// A report has come: what is done about it, and whether anything is sent differently now.
    pub fn on_report(&mut self, now: Time, report: &Report) -> Action {
        self.playback = (now, report.playhead_s, report.playing);
        // Loss does not end what is hardly faster than the clip plays.
        let least_bps = self.parameters.least_multiple * self.media_bps();
        let accelerated = self.stage == Stage::Ahead && self.target_bps() > least_bps;
        let payload_bytes = self.encoding().payload_bytes;
        let Some(response) = self.response.as_mut() else {
            self.on_estimate(report);
            return Action::Stay;
        };
        // Of the interval in which the rate rose more was sent than came: it is still under way. So
        // is much of what was sent in a short interval.
        let interval = ns(self.parameters.report_interval_s);
        let risen = self.rise.is_some_and(|rise| now - rise.began > interval);
        let telling = risen && 2 * ns(report.interval_s) > interval;
        let before = self.reported.replace((now, self.sent_bytes)).filter(|_| telling);
        let mut action = response.on_report(now, report, payload_bytes, accelerated);
        if let (true, Action::Stay, Some((at, bytes))) = (accelerated, action, before) {
            let sent_bps = (self.sent_bytes - bytes) as f64 * 8.0 / seconds(now - at).max(1e-3);
            if report.goodput_bps() < self.parameters.accelerated_goodput_share * sent_bps {
                action = Action::EndAcceleration;
            }
        }
        self.act(action);
        action
    }

    fn on_estimate(&mut self, report: &Report) {
        let Some(link_bps) = report.link_bps else { return };
        self.link_bps = Some(link_bps);
        if self.stage != Stage::Measuring {
            return;
        }
        self.stage = Stage::Ahead;
        let fits = |encoding: &Encoding| encoding.bps <= link_bps;
        self.level = self.programme.encodings.iter().rposition(fits).unwrap_or(0);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Stay => return,
            Action::EndAcceleration => {
                self.stage = Stage::Eased;
                return;
            }
            Action::Thin => self.shape = Shape::Thinned,
            Action::Restore => self.shape = Shape::Whole,
            Action::AudioOnly => self.shape = Shape::AudioOnly,
            Action::Parts(bps) => self.shape = Shape::Parts(bps),
            Action::Level(level) => self.level = level,
        }
        self.stage = Stage::Steady;
    }
}
