//! A clip: its levels, and which of them fits a capacity.

use super::parameters::Encoding;

/// One level: media payload rates of its streams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rendition {
    pub audio_bps: f64,
    pub video_bps: f64,
    pub frames_per_s: f64,
}

impl From<&Encoding> for Rendition {
    fn from(encoding: &Encoding) -> Self {
        Self {
            audio_bps: encoding.audio_kbps * 1000.0,
            video_bps: (encoding.rate_kbps - encoding.audio_kbps) * 1000.0,
            frames_per_s: encoding.frames_per_s,
        }
    }
}

impl Rendition {
    /// Rate that the encoder was asked for, audio and video.
    pub fn total_bps(&self) -> f64 {
        self.audio_bps + self.video_bps
    }
}

/// Levels in ascending order of their rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Clip {
    pub levels: Vec<Rendition>,
}

impl Clip {
    /// A clip of these levels, in any order.
    ///
    /// # Errors
    /// If there is none, or one twice.
    pub fn new(mut levels: Vec<Rendition>) -> Result<Self, String> {
        levels.sort_by(|one, other| one.total_bps().total_cmp(&other.total_bps()));
        if levels.is_empty() {
            return Err("ladder_kbps must name at least one rate".to_owned());
        }
        if levels.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("ladder_kbps must not name a rate twice".to_owned());
        }
        Ok(Self { levels })
    }

    /// Audio that goes with every level: that of the highest (NIC-M3).
    pub fn audio_bps(&self) -> f64 {
        self.levels[self.levels.len() - 1].audio_bps
    }

    /// The highest level whose whole rate is at most `rate_bps`.
    pub fn highest_within(&self, rate_bps: f64) -> Option<usize> {
        self.levels.iter().rposition(|level| level.total_bps() <= rate_bps)
    }

    /// Level for an estimated capacity: the highest that fits it, else the lowest (NIC-M2).
    pub fn choice(&self, capacity_bps: Option<f64>) -> usize {
        capacity_bps.and_then(|capacity_bps| self.highest_within(capacity_bps)).unwrap_or(0)
    }

    /// Sum of the levels up to `limit_bps`, without the chosen one.
    pub fn low_levels_bps(&self, limit_bps: f64, chosen: usize) -> f64 {
        let others = self.levels.iter().enumerate().filter(|(number, _)| *number != chosen);
        others.map(|(_, level)| level.total_bps()).filter(|rate_bps| *rate_bps <= limit_bps).sum()
    }
}
