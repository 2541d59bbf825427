//! What a player makes of the times its segments took, and the rung it takes from that alone.

use std::collections::VecDeque;

use super::policy::{highest_within, Situation};

/// Largest sum of weights of the samples under a median: `DefaultBandwidthMeter` of ExoPlayer.
const MEDIAN_WEIGHT: f64 = 2000.0;

/// How the throughputs of segments become one estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Average {
    /// The lower of two exponentially weighted averages, weighted by the time of the download:
    /// dash.js, hls.js, Shaka.
    #[default]
    Ewma,
    /// An average into which each segment comes with the same share, however long it took.
    Smoothed,
    /// Mean of the last segments.
    Mean,
    /// Harmonic mean of the last segments.
    Harmonic,
    /// Median, each sample weighted by the square root of its bytes: ExoPlayer.
    Median,
}

#[derive(Clone, Debug)]
pub struct EstimatorSettings {
    pub average: Average,
    pub half_lives_s: [f64; 2],
    /// Weight of a second of download in the averages that fade.
    pub weight_multiple: f64,
    /// Share of the newest segment in the smoothed average.
    pub newest_share: f64,
    /// Segments under a mean.
    pub segments: usize,
    /// Smaller downloads are left out, shorter ones count as this long.
    pub min_bytes: u64,
    pub min_s: f64,
    /// The estimate of the start holds until so many bytes were counted.
    pub trusted_bytes: u64,
    pub start_bps: Option<f64>,
}

/// An estimate of the throughput, bit/s.
#[derive(Debug)]
pub struct Estimator {
    settings: EstimatorSettings,
    /// Throughput, bit/s, and weight of the last segments.
    samples: VecDeque<(f64, f64)>,
    faded_bps: [f64; 2],
    weight_s: f64,
    smoothed_bps: Option<f64>,
    bytes: u64,
}

impl Estimator {
    pub fn new(settings: EstimatorSettings) -> Self {
        Self {
            settings,
            samples: VecDeque::new(),
            faded_bps: [0.0; 2],
            weight_s: 0.0,
            smoothed_bps: None,
            bytes: 0,
        }
    }

    /// A segment of `bytes` has come within `elapsed_s`.
    pub fn observe(&mut self, bytes: u64, elapsed_s: f64) {
        if bytes < self.settings.min_bytes {
            return;
        }
        let elapsed_s = elapsed_s.max(self.settings.min_s).max(1e-9);
        let bps = 8.0 * bytes as f64 / elapsed_s;
        self.bytes += bytes;
        let weight_s = self.settings.weight_multiple * elapsed_s;
        self.weight_s += weight_s;
        for (faded_bps, half_life_s) in self.faded_bps.iter_mut().zip(self.settings.half_lives_s) {
            let kept = 0.5_f64.powf(weight_s / half_life_s);
            *faded_bps = kept * *faded_bps + (1.0 - kept) * bps;
        }
        let newest = self.settings.newest_share;
        let smoothed_bps = self.smoothed_bps.unwrap_or(bps);
        self.smoothed_bps = Some((1.0 - newest) * smoothed_bps + newest * bps);
        self.samples.push_back((bps, (bytes as f64).sqrt()));
        while self.is_too_long() {
            self.samples.pop_front();
        }
    }

    fn is_too_long(&self) -> bool {
        if self.settings.average == Average::Median {
            let newer = self.samples.iter().skip(1).map(|(_, weight)| weight);
            return newer.sum::<f64>() >= MEDIAN_WEIGHT;
        }
        self.samples.len() > self.settings.segments
    }

    /// The estimate; that of the start until enough has come, None where there is neither.
    pub fn bps(&self) -> Option<f64> {
        if self.samples.is_empty() || self.bytes < self.settings.trusted_bytes {
            return self.settings.start_bps;
        }
        let count = self.samples.len() as f64;
        Some(match self.settings.average {
            Average::Ewma => self.ewma_bps(),
            Average::Smoothed => self.smoothed_bps?,
            Average::Mean => self.samples.iter().map(|(bps, _)| bps).sum::<f64>() / count,
            Average::Harmonic => count / self.samples.iter().map(|(bps, _)| 1.0 / bps).sum::<f64>(),
            Average::Median => self.median_bps(),
        })
    }

    /// Averages begin at 0; each is divided by the weight that it has had so far.
    fn ewma_bps(&self) -> f64 {
        let unbiased = self.faded_bps.iter().zip(self.settings.half_lives_s).map(
            |(faded_bps, half_life_s)| {
                faded_bps / (1.0 - 0.5_f64.powf(self.weight_s / half_life_s))
            },
        );
        unbiased.fold(f64::INFINITY, f64::min)
    }

    fn median_bps(&self) -> f64 {
        let mut ordered: Vec<_> = self.samples.iter().copied().collect();
        ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
        let half = 0.5 * ordered.iter().map(|(_, weight)| weight).sum::<f64>();
        let mut below = 0.0;
        for (bps, weight) in &ordered {
            below += weight;
            if below >= half {
                return *bps;
            }
        }
        ordered.last().map_or(0.0, |(bps, _)| *bps)
    }
}

#[derive(Clone, Debug)]
pub struct ThroughputSettings {
    /// Share of the estimate that may be used to stay or to go down, and to go up.
    pub share: f64,
    pub up_share: f64,
    /// Rungs that are gone up at once, at most.
    pub up_steps: usize,
    /// The rung is looked at again after this time at the earliest.
    pub interval_s: f64,
    /// With less in the buffer a player does not go up, with this or more it does not go down.
    pub up_buffer_s: f64,
    pub down_buffer_s: f64,
    /// A segment must come before the buffer is empty; where no rung's does, it may be late by
    /// this, or by a segment if that is less. None: not looked at.
    pub starvation_s: Option<f64>,
}

/// The highest rung within a share of the estimate.
#[derive(Debug)]
pub struct ThroughputRule {
    settings: ThroughputSettings,
    looked_at_s: Option<f64>,
}

impl ThroughputRule {
    pub fn new(settings: ThroughputSettings) -> Self {
        Self { settings, looked_at_s: None }
    }

    /// What the player calls safe, bit/s.
    pub fn safe_bps(&self, bps: f64) -> f64 {
        self.settings.share * bps
    }

    pub fn next(&mut self, bps: f64, at: &Situation) -> usize {
        let Some(level) = at.level else { return self.start(bps, at) };
        if self.looked_at_s.is_some_and(|then_s| at.now_s < then_s + self.settings.interval_s) {
            return level;
        }
        self.looked_at_s = Some(at.now_s);
        let wanted = self.within(bps, at, level).min(level.saturating_add(self.settings.up_steps));
        let waits = (wanted > level && at.buffer_s < self.settings.up_buffer_s)
            || (wanted < level && at.buffer_s >= self.settings.down_buffer_s);
        if waits {
            level
        } else {
            wanted
        }
    }

    fn start(&self, bps: f64, at: &Situation) -> usize {
        self.within(bps, at, 0)
    }

    fn within(&self, bps: f64, at: &Situation, level: usize) -> usize {
        let carries = |rung: usize, allowed_s: f64| {
            let used =
                if rung > level { self.settings.up_share } else { self.settings.share } * bps;
            let rung_bps = at.ladder_bps[rung];
            rung_bps <= used && rung_bps * at.segment_s / used <= allowed_s
        };
        let highest =
            |allowed_s: f64| (0..at.ladder_bps.len()).rev().find(|rung| carries(*rung, allowed_s));
        match self.settings.starvation_s {
            None => highest(f64::INFINITY),
            Some(late_s) => {
                highest(at.buffer_s).or_else(|| highest(at.buffer_s + late_s.min(at.segment_s)))
            }
        }
        .unwrap_or(0)
    }
}

/// Cap of dash.js's `InsufficientBufferRule`: what comes before the buffer is empty.
pub fn cap_by_buffer(level: usize, share: f64, bps: f64, at: &Situation) -> usize {
    level.min(highest_within(at.ladder_bps, share * bps * at.buffer_s / at.segment_s))
}

#[cfg(test)]
#[path = "throughput_tests.rs"]
mod unit_tests;
