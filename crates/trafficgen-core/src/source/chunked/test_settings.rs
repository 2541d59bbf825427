//! Settings and situations that tests of several policies have in common.

use super::bola::{BolaForm, BolaSettings};
use super::policy::Situation;
use super::throughput::{Average, EstimatorSettings, ThroughputSettings};

pub fn estimator(average: Average) -> EstimatorSettings {
    EstimatorSettings {
        average,
        half_lives_s: [3.0, 9.0],
        weight_multiple: 1.0,
        newest_share: 0.3,
        segments: 2,
        min_bytes: 0,
        min_s: 0.0,
        trusted_bytes: 0,
        start_bps: None,
    }
}

pub fn throughput() -> ThroughputSettings {
    ThroughputSettings {
        share: 0.9,
        up_share: 0.9,
        up_steps: usize::MAX,
        interval_s: 0.0,
        up_buffer_s: 0.0,
        down_buffer_s: f64::INFINITY,
        starvation_s: None,
    }
}

pub fn bola(form: BolaForm, ladder_bps: &[f64]) -> BolaSettings {
    BolaSettings {
        form,
        ladder_bps: ladder_bps.to_vec(),
        segment_s: 4.0,
        capacity_s: 24.0,
        gp: 5.0,
        target_s: 18.0,
        low_s: 10.0,
        rung_s: 2.0,
    }
}

/// A player that is about to ask for its fourth segment.
pub fn at(
    ladder_bps: &'static [f64],
    buffer_s: f64,
    level: Option<usize>,
    now_s: f64,
) -> Situation<'static> {
    let factors = &[1.0; 8];
    Situation { now_s, buffer_s, level, segment: 3, factors, ladder_bps, segment_s: 4.0 }
}
