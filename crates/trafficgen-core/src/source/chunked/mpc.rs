//! Model predictive control: the best sequence of rungs for the next segments, of which the first
//! is taken (Yin et al., SIGCOMM 2015).

use std::collections::VecDeque;

use super::policy::Situation;

#[derive(Clone, Debug)]
pub struct MpcSettings {
    /// Segments that are looked ahead.
    pub horizon: usize,
    /// Segments over which throughput is averaged, and errors of the forecast are kept.
    pub forecast_segments: usize,
    /// Divide the forecast by 1 + the largest of the last relative errors.
    pub robust: bool,
    /// Worth of a second of stall and of a change of 1 Mbit/s, in Mbit/s of one segment.
    pub stall_weight: f64,
    pub change_weight: f64,
}

#[derive(Debug)]
pub struct Mpc {
    settings: MpcSettings,
    throughput_bps: VecDeque<f64>,
    errors: VecDeque<f64>,
    /// Harmonic mean at the last choice, bit/s.
    predicted_bps: Option<f64>,
}

/// A plan as far as it was made.
#[derive(Clone, Copy)]
struct Plan {
    step: usize,
    level: usize,
    buffer_s: f64,
    worth: f64,
}

impl Mpc {
    pub fn new(settings: MpcSettings) -> Self {
        let (throughput_bps, errors) = (VecDeque::new(), VecDeque::new());
        Self { settings, throughput_bps, errors, predicted_bps: None }
    }

    /// A segment of `bytes` has come within `elapsed_s`.
    pub fn observe(&mut self, bytes: u64, elapsed_s: f64) {
        let bps = (8.0 * bytes as f64 / elapsed_s.max(1e-9)).max(1e-9);
        let error =
            self.predicted_bps.map_or(0.0, |predicted_bps| (predicted_bps - bps).abs() / bps);
        self.throughput_bps.push_back(bps);
        self.errors.push_back(error);
        if self.throughput_bps.len() > self.settings.forecast_segments {
            self.throughput_bps.pop_front();
            self.errors.pop_front();
        }
    }

    /// What the next segments will get, bit/s; None before the first.
    fn forecast_bps(&mut self) -> Option<f64> {
        if self.throughput_bps.is_empty() {
            return None;
        }
        let slowness: f64 = self.throughput_bps.iter().map(|bps| 1.0 / bps).sum();
        let mean_bps = self.throughput_bps.len() as f64 / slowness;
        self.predicted_bps = Some(mean_bps);
        let error = self.errors.iter().copied().fold(0.0, f64::max);
        Some(if self.settings.robust { mean_bps / (1.0 + error) } else { mean_bps })
    }

    /// The rung next; None before the first segment.
    pub fn next(&mut self, at: &Situation) -> Option<usize> {
        let bps = self.forecast_bps()?;
        let level = at.level.unwrap_or(0);
        let start = Plan { step: 0, level, buffer_s: at.buffer_s, worth: 0.0 };
        let mut best = (0, f64::NEG_INFINITY);
        for rung in 0..at.ladder_bps.len() {
            let worth = self.best_worth(self.extended(start, rung, bps, at), bps, at, best.1);
            if worth > best.1 {
                best = (rung, worth);
            }
        }
        Some(best.0)
    }

    /// Worth of the best plan that begins like this one; anything lower where it is not above
    /// `floor`.
    fn best_worth(&self, plan: Plan, bps: f64, at: &Situation, floor: f64) -> f64 {
        let left = self.settings.horizon.min(at.factors.len() - at.segment) - plan.step;
        if left == 0 {
            return plan.worth;
        }
        let top_mbps = at.ladder_bps[at.ladder_bps.len() - 1] / 1e6;
        if plan.worth + left as f64 * top_mbps <= floor {
            return f64::NEG_INFINITY;
        }
        let mut best = floor;
        for rung in 0..at.ladder_bps.len() {
            best = best.max(self.best_worth(self.extended(plan, rung, bps, at), bps, at, best));
        }
        best
    }

    /// A plan with one more segment.
    fn extended(&self, plan: Plan, rung: usize, bps: f64, at: &Situation) -> Plan {
        let rung_bps = at.ladder_bps[rung];
        let factor = at.factors[at.segment + plan.step];
        let download_s = rung_bps * factor * at.segment_s / bps;
        let stall_s = (download_s - plan.buffer_s).max(0.0);
        let change_mbps = (rung_bps - at.ladder_bps[plan.level]).abs() / 1e6;
        Plan {
            step: plan.step + 1,
            level: rung,
            buffer_s: (plan.buffer_s - download_s).max(0.0) + at.segment_s,
            worth: plan.worth + rung_bps / 1e6
                - self.settings.stall_weight * stall_s
                - self.settings.change_weight * change_mbps,
        }
    }
}

#[cfg(test)]
#[path = "mpc_tests.rs"]
mod unit_tests;
