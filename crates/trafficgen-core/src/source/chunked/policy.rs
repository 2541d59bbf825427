//! The policies of players: what each knows when it asks for a segment, and what it asks for.

use super::bola::{Bola, BolaSettings};
use super::choice::{ChoiceSettings, Chooser};
use super::mpc::{Mpc, MpcSettings};
use super::throughput::{
    cap_by_buffer, Estimator, EstimatorSettings, ThroughputRule, ThroughputSettings,
};

/// Segments before dash.js looks whether its buffer suffices.
const UNCAPPED_SEGMENTS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// The buffer alone: BBA-0.
    Buffer,
    /// Harmonic mean and gradual steps up: FESTIVE.
    Rate,
    /// Throughput while the buffer first fills, then the buffer: BBA-2.
    Hybrid,
    /// The highest rung within a share of the estimated throughput.
    Throughput,
    /// BOLA.
    Bola,
    /// Throughput with little in the buffer, BOLA with much: dash.js.
    Dynamic,
    /// Model predictive control.
    Mpc,
    /// One rung.
    Fixed,
}

#[derive(Clone, Debug)]
pub struct PolicySettings {
    pub policy: Policy,
    pub ladder_bps: Vec<f64>,
    pub segment_s: f64,
    pub choice: ChoiceSettings,
    pub estimator: EstimatorSettings,
    pub throughput: ThroughputSettings,
    pub bola: BolaSettings,
    pub mpc: MpcSettings,
    /// BOLA is on from this much in the buffer, and off below that much.
    pub dynamic_on_s: f64,
    pub dynamic_off_s: f64,
    /// Share of the throughput that must bring a segment before the buffer is empty; None: not
    /// looked at.
    pub buffer_share: Option<f64>,
    pub fixed_bps: f64,
}

/// What a player knows when it asks for a segment.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub now_s: f64,
    pub buffer_s: f64,
    /// Rung of the last segment; None before the first.
    pub level: Option<usize>,
    /// Number of the segment, and sizes of all of them over their rung's mean.
    pub segment: usize,
    pub factors: &'a [f64],
    pub ladder_bps: &'a [f64],
    pub segment_s: f64,
}

/// A rung, to be asked for after a wait, at which it is looked at again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    pub level: usize,
    pub wait_s: f64,
}

impl Decision {
    pub fn of(level: usize) -> Self {
        Self { level, wait_s: 0.0 }
    }
}

/// A segment that has come.
#[derive(Clone, Copy, Debug)]
pub struct Download {
    pub bytes: u64,
    /// From the request to the last byte, and what of it counts for the throughput, with its bytes.
    pub elapsed_s: f64,
    pub counted_bytes: u64,
    pub counted_s: f64,
    /// In the buffer when it had come.
    pub buffer_s: f64,
}

#[derive(Debug)]
enum Rule {
    Classic(Chooser),
    Throughput,
    Bola(Bola),
    Dynamic { bola: Bola, is_on: bool },
    Mpc(Mpc),
    Fixed(usize),
}

/// The player's memory and what it makes of it.
#[derive(Debug)]
pub struct Decider {
    rule: Rule,
    estimator: Estimator,
    throughput: ThroughputRule,
    settings: PolicySettings,
    level: Option<usize>,
}

/// Highest rung of at most `bps`; the lowest where none is.
pub fn highest_within(ladder_bps: &[f64], bps: f64) -> usize {
    ladder_bps.partition_point(|rung_bps| *rung_bps <= bps).max(1) - 1
}

impl Decider {
    pub fn new(settings: PolicySettings) -> Self {
        let rule = match settings.policy {
            Policy::Buffer | Policy::Rate | Policy::Hybrid => {
                Rule::Classic(Chooser::new(settings.choice.clone()))
            }
            Policy::Throughput => Rule::Throughput,
            Policy::Bola => Rule::Bola(Bola::new(settings.bola.clone())),
            Policy::Dynamic => {
                Rule::Dynamic { bola: Bola::new(settings.bola.clone()), is_on: false }
            }
            Policy::Mpc => Rule::Mpc(Mpc::new(settings.mpc.clone())),
            Policy::Fixed => Rule::Fixed(highest_within(&settings.ladder_bps, settings.fixed_bps)),
        };
        Self {
            rule,
            estimator: Estimator::new(settings.estimator.clone()),
            throughput: ThroughputRule::new(settings.throughput.clone()),
            settings,
            level: None,
        }
    }

    /// Rung of the last segment that was asked for; the lowest before the first.
    pub fn level(&self) -> usize {
        self.level.unwrap_or(0)
    }

    /// What to ask for next. A decision without a wait is final; only a player that plays waits,
    /// since the buffer of others stays as it is.
    pub fn next(
        &mut self,
        now_s: f64,
        buffer_s: f64,
        is_playing: bool,
        segment: usize,
        factors: &[f64],
    ) -> Decision {
        let PolicySettings { ladder_bps, segment_s, .. } = &self.settings;
        let at = Situation {
            now_s,
            buffer_s,
            level: self.level,
            segment,
            factors,
            ladder_bps,
            segment_s: *segment_s,
        };
        let bps = self.estimator.bps();
        let kept = Decision::of(self.level.unwrap_or(0));
        let throughput = &mut self.throughput;
        let by_throughput =
            |rule: &mut ThroughputRule| bps.map_or(kept, |bps| Decision::of(rule.next(bps, &at)));
        let safe_bps = bps.map(|bps| throughput.safe_bps(bps));
        let mut decision = match &mut self.rule {
            Rule::Classic(chooser) => Decision::of(chooser.next(buffer_s)),
            Rule::Throughput => by_throughput(throughput),
            Rule::Bola(bola) => bola.next(safe_bps, &at),
            Rule::Dynamic { bola, is_on } => {
                let PolicySettings { dynamic_on_s, dynamic_off_s, .. } = self.settings;
                *is_on = buffer_s >= if *is_on { dynamic_off_s } else { dynamic_on_s };
                if *is_on {
                    bola.next(safe_bps, &at)
                } else {
                    by_throughput(throughput)
                }
            }
            Rule::Mpc(mpc) => mpc.next(&at).map_or_else(|| by_throughput(throughput), Decision::of),
            Rule::Fixed(rung) => Decision::of(*rung),
        };
        if let (Some(share), Some(bps), true) =
            (self.settings.buffer_share, bps, segment >= UNCAPPED_SEGMENTS)
        {
            let level = cap_by_buffer(decision.level, share, bps, &at);
            if level < decision.level {
                decision = Decision::of(level);
            }
        }
        if !is_playing {
            decision.wait_s = 0.0;
        }
        if decision.wait_s <= 0.0 {
            self.level = Some(decision.level);
        }
        decision
    }

    /// The segment was asked for at this rung, whatever was chosen.
    pub fn take(&mut self, level: usize) {
        self.level = Some(level);
        if let Rule::Classic(chooser) = &mut self.rule {
            chooser.take(level);
        }
    }

    pub fn observe(&mut self, download: &Download) {
        let Download { bytes, elapsed_s, counted_bytes, counted_s, buffer_s } = *download;
        self.estimator.observe(counted_bytes, counted_s);
        let level = self.level.unwrap_or(0);
        match &mut self.rule {
            Rule::Classic(chooser) => chooser.observe(bytes, elapsed_s),
            Rule::Bola(bola) | Rule::Dynamic { bola, .. } => {
                bola.observe(level, elapsed_s, buffer_s);
            }
            Rule::Mpc(mpc) => mpc.observe(counted_bytes, counted_s),
            Rule::Throughput | Rule::Fixed(_) => {}
        }
    }

    /// Nothing was asked for although the path was free.
    pub fn waited(&mut self, waited_s: f64) {
        if let Rule::Bola(bola) | Rule::Dynamic { bola, .. } = &mut self.rule {
            bola.waited(waited_s);
        }
    }

    /// Playback ran dry.
    pub fn stalled(&mut self) {
        if let Rule::Bola(bola) | Rule::Dynamic { bola, .. } = &mut self.rule {
            bola.stalled();
        }
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod unit_tests;
