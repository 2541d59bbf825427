//! What a chunked player and its server are told; every number comes from the catalogue entry.

use super::choice::{Choice, ChoiceSettings};
use crate::source::parameters::positive;
use crate::transport::TcpConfig;

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
        // What would not fit beside one segment could never be asked for, or never be played.
        let least_s = self.segment_s + self.segment_s.max(self.start_s).max(self.resume_s);
        if self.buffer_s.is_nan() || self.buffer_s < least_s {
            return Err(format!(
                "buffer_s must be at least {least_s} with these segments, not {}",
                self.buffer_s
            ));
        }
        Ok(())
    }

    /// Number of segments; the last one is as long as the others.
    pub fn segments(&self) -> u32 {
        (self.duration_s / self.segment_s).ceil() as u32
    }

    /// Settings of the choice; its shares are of what the buffer can hold when a segment is asked
    /// for.
    pub fn choice(&self) -> ChoiceSettings {
        let room_s = self.buffer_s - self.segment_s;
        ChoiceSettings {
            choice: self.choice,
            ladder_bps: self.ladder_kbps.iter().map(|kbps| 1000.0 * kbps).collect(),
            segment_s: self.segment_s,
            reservoir_s: self.reservoir_share * room_s,
            cushion_s: self.cushion_share * room_s,
            throughput_segments: self.throughput_segments as usize,
            safety_share: self.safety_share,
            growth_empty_share: self.growth_empty_share,
            growth_full_share: self.growth_full_share,
        }
    }
}
