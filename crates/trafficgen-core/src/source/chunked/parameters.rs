//! What a chunked player and its server are told; every number comes from the catalogue entry.

use super::bola::BolaForm;
use super::choice::Choice;
use super::policy::Policy;
use super::throughput::Average;
use crate::source::parameters::positive;
use crate::transport::quic::QuicConfig;
use crate::transport::TcpConfig;

/// When audio that is a stream of its own is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AudioOrder {
    /// With each segment of the video, over a connection of its own.
    #[default]
    Together,
    /// By a clock of its own, over a connection of its own.
    Apart,
    /// One request at a time over the connections of the video: the medium with less in the buffer.
    InTurn,
}

/// What several connections are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionUse {
    /// Each segment is divided among them.
    #[default]
    Split,
    /// Each segment comes over the next one.
    Turns,
}

/// Nodes of a plan that are looked at for one segment, at most.
const MOST_PLANS: f64 = 2e6;
/// Segments whose sizes are drawn before a session begins, at most.
const MOST_SEGMENTS: f64 = 1e6;

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Media payload of each level, ascending; with the audio where that has no stream of its own.
    pub ladder_kbps: Vec<f64>,
    pub segment_s: f64,
    pub duration_s: f64,
    pub choice: Choice,
    /// Connections among which each video segment is divided.
    pub connections: u32,
    /// Audio as a stream of its own over a connection of its own; 0: it is in the video's segments.
    pub audio_kbps: f64,
    /// The player asks for nothing that would not fit.
    pub buffer_s: f64,
    /// Media at which the playback starts, and goes on after a halt.
    pub start_s: f64,
    pub resume_s: f64,
    /// Requests are at least this share of a segment's length apart; 0: at once.
    pub pace_share: f64,
    /// Sizes of segments vary log-normally about their mean.
    pub size_sigma: f64,
    pub reservoir_share: f64,
    pub cushion_share: f64,
    pub throughput_segments: u32,
    pub safety_share: f64,
    pub growth_empty_share: f64,
    pub growth_full_share: f64,
    pub request_bytes: u32,
    pub response_header_bytes: u32,
    pub manifest_bytes: u32,
    pub tcp: TcpConfig,
    // What follows came later: a file without it plays as it did.
    /// None: over TCP.
    pub quic: Option<QuicConfig>,
    /// None: what `choice` says.
    pub policy: Option<Policy>,
    /// A segment is asked for when no more than this is in the buffer; None: what `buffer_s` has
    /// room for. At the highest rung the larger of the two.
    pub buffer_target_s: Option<f64>,
    pub top_buffer_target_s: Option<f64>,
    /// The buffer grows to so many bytes if that is longer, up to a length.
    pub buffer_bytes: Option<f64>,
    pub longest_buffer_s: Option<f64>,
    /// None: that of the video.
    pub audio_segment_s: Option<f64>,
    pub audio_order: Option<AudioOrder>,
    pub connection_use: Option<ConnectionUse>,
    /// Sizes of the segments over their rung's mean, again from the first after the last; None:
    /// drawn by `size_sigma`.
    pub content_factors: Option<Vec<f64>>,
    /// Estimate of the throughput before there is one.
    pub start_kbps: Option<f64>,
    pub fixed_kbps: Option<f64>,
    pub throughput_average: Option<Average>,
    pub throughput_fast_half_life_s: Option<f64>,
    pub throughput_slow_half_life_s: Option<f64>,
    pub throughput_weight_multiple: Option<f64>,
    pub throughput_newest_share: Option<f64>,
    pub throughput_window_segments: Option<u32>,
    pub throughput_least_bytes: Option<u32>,
    pub throughput_least_s: Option<f64>,
    pub throughput_trusted_bytes: Option<u32>,
    /// Count from the first bytes of a segment, not from its request.
    pub throughput_without_latency: Option<bool>,
    pub throughput_share: Option<f64>,
    pub throughput_up_share: Option<f64>,
    pub throughput_up_steps: Option<u32>,
    pub throughput_interval_s: Option<f64>,
    pub up_buffer_s: Option<f64>,
    pub down_buffer_s: Option<f64>,
    pub starvation_s: Option<f64>,
    pub buffer_share: Option<f64>,
    pub bola_form: Option<BolaForm>,
    pub bola_gp: Option<f64>,
    pub bola_low_s: Option<f64>,
    pub bola_rung_s: Option<f64>,
    pub dynamic_on_s: Option<f64>,
    pub dynamic_off_s: Option<f64>,
    pub mpc_horizon_segments: Option<u32>,
    pub mpc_forecast_segments: Option<u32>,
    pub mpc_robust: Option<bool>,
    pub mpc_stall_weight: Option<f64>,
    pub mpc_change_weight: Option<f64>,
}

impl Parameters {
    /// Check the numbers.
    ///
    /// # Errors
    /// A sentence that names the parameter and what it must be.
    pub fn validate(&self) -> Result<(), String> {
        let above_zero = [
            ("segment_s", self.segment_s),
            ("duration_s", self.duration_s),
            ("start_s", self.start_s),
            ("resume_s", self.resume_s),
            ("cushion_share", self.cushion_share),
            ("safety_share", self.safety_share),
        ];
        above_zero.iter().try_for_each(|(name, value)| positive(name, *value))?;
        let at_least_zero = [
            ("audio_kbps", self.audio_kbps),
            ("pace_share", self.pace_share),
            ("size_sigma", self.size_sigma),
            ("reservoir_share", self.reservoir_share),
            ("growth_empty_share", self.growth_empty_share),
            ("growth_full_share", self.growth_full_share),
        ];
        if let Some((name, value)) =
            at_least_zero.iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0))
        {
            return Err(format!("{name} must be at least 0, not {value}"));
        }
        let ladder = &self.ladder_kbps;
        if ladder.is_empty()
            || !(ladder[0] > 0.0 && ladder[0].is_finite())
            || !ladder.is_sorted_by(|a, b| a < b)
        {
            return Err(format!("ladder_kbps must ascend from above 0, not {ladder:?}"));
        }
        self.validate_counts()?;
        self.validate_policy()?;
        self.quic.map_or(Ok(()), |quic| quic.validate())?;
        self.tcp.validate()
    }

    fn validate_counts(&self) -> Result<(), String> {
        if !(1..=16).contains(&self.connections) {
            return Err(format!("connections must be from 1 to 16, not {}", self.connections));
        }
        if self.throughput_segments == 0 || self.request_bytes == 0 || self.manifest_bytes == 0 {
            return Err(
                "throughput_segments, request_bytes and manifest_bytes must be above 0".to_owned()
            );
        }
        for (name, segment_s) in
            [("segment_s", Some(self.segment_s)), ("audio_segment_s", self.audio_segment_s)]
        {
            if segment_s.is_some_and(|length_s| self.duration_s / length_s > MOST_SEGMENTS) {
                return Err(format!(
                    "duration_s must be at most {MOST_SEGMENTS} times {name}, not {}",
                    self.duration_s
                ));
            }
        }
        // What would not fit beside one segment could never be asked for, or never be played.
        let waited_s = self.segment_s.max(self.start_s).max(self.resume_s);
        let (name, value_s, least_s) = match self.buffer_target_s {
            Some(target_s) => ("buffer_target_s", target_s, waited_s),
            None => ("buffer_s", self.buffer_s, self.segment_s + waited_s),
        };
        if value_s.is_nan() || value_s < least_s {
            return Err(format!(
                "{name} must be at least {least_s} with these segments, not {value_s}"
            ));
        }
        Ok(())
    }

    fn validate_policy(&self) -> Result<(), String> {
        let above_zero = [
            ("top_buffer_target_s", self.top_buffer_target_s),
            ("longest_buffer_s", self.longest_buffer_s),
            ("audio_segment_s", self.audio_segment_s),
            ("start_kbps", self.start_kbps),
            ("fixed_kbps", self.fixed_kbps),
            ("throughput_fast_half_life_s", self.throughput_fast_half_life_s),
            ("throughput_slow_half_life_s", self.throughput_slow_half_life_s),
            ("throughput_weight_multiple", self.throughput_weight_multiple),
            ("throughput_newest_share", self.throughput_newest_share),
            ("throughput_share", self.throughput_share),
            ("throughput_up_share", self.throughput_up_share),
            ("buffer_share", self.buffer_share),
            ("bola_gp", self.bola_gp),
            ("bola_low_s", self.bola_low_s),
            ("bola_rung_s", self.bola_rung_s),
        ];
        let at_least_zero = [
            ("buffer_bytes", self.buffer_bytes),
            ("throughput_least_s", self.throughput_least_s),
            ("throughput_interval_s", self.throughput_interval_s),
            ("up_buffer_s", self.up_buffer_s),
            ("down_buffer_s", self.down_buffer_s),
            ("starvation_s", self.starvation_s),
            ("dynamic_on_s", self.dynamic_on_s),
            ("dynamic_off_s", self.dynamic_off_s),
            ("mpc_stall_weight", self.mpc_stall_weight),
            ("mpc_change_weight", self.mpc_change_weight),
        ];
        for (name, value) in above_zero {
            value.map_or(Ok(()), |value| positive(name, value))?;
        }
        for (name, value) in at_least_zero {
            if let Some(value) = value.filter(|value| !(value.is_finite() && *value >= 0.0)) {
                return Err(format!("{name} must be at least 0, not {value}"));
            }
        }
        for factor in self.content_factors.iter().flatten() {
            positive("content_factors", *factor)?;
        }
        self.validate_audio()?;
        self.validate_plans()
    }

    fn validate_audio(&self) -> Result<(), String> {
        let together = self.audio_order.unwrap_or_default() == AudioOrder::Together;
        match self.audio_segment_s {
            Some(audio_s) if together && audio_s != self.segment_s => Err(format!(
                "audio_segment_s must be that of the video, {}, where audio_order is together, not \
                 {audio_s}; set audio_order to apart or in_turn",
                self.segment_s
            )),
            Some(audio_s) if audio_s > self.target_s() => Err(format!(
                "audio_segment_s must be at most the buffer target, {}, not {audio_s}",
                self.target_s()
            )),
            _ => Ok(()),
        }
    }

    fn validate_plans(&self) -> Result<(), String> {
        if self.throughput_window_segments == Some(0) || self.mpc_forecast_segments == Some(0) {
            return Err(
                "throughput_window_segments and mpc_forecast_segments must be above 0".to_owned()
            );
        }
        let horizon = self.mpc_horizon_segments.unwrap_or(1);
        let rungs = self.ladder_kbps.len() as f64;
        let most = if rungs > 1.0 { (MOST_PLANS.ln() / rungs.ln()).floor() } else { 50.0 };
        // Another policy plans nothing.
        if horizon == 0 || (self.policy == Some(Policy::Mpc) && f64::from(horizon) > most) {
            return Err(format!(
                "mpc_horizon_segments must be from 1 to {most} with {rungs} rungs, not {horizon}"
            ));
        }
        Ok(())
    }

    /// Number of segments; the last one is as long as the others.
    pub fn segments(&self) -> u32 {
        (self.duration_s / self.segment_s).ceil() as u32
    }
}
