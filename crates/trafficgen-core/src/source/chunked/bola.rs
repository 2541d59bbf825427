//! BOLA: the rung that the buffer pays for (Spiteri, Urgaonkar, Sitaraman, INFOCOM 2016), and the
//! form that dash.js plays (Spiteri, Sitaraman, Sparacio, MMSys 2018).

use super::policy::{highest_within, Decision, Situation};

/// Share of the placeholder that is left at each look at it: dash.js.
const PLACEHOLDER_DECAY: f64 = 0.99;
/// Delays below this are none, s: what rounding leaves.
const NO_DELAY_S: f64 = 1e-6;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BolaForm {
    /// The paper's, by `gp` and the size of the buffer.
    #[default]
    Basic,
    /// That of dash.js: V and gp from buffers at which the lowest and the highest rung are taken, a
    /// start by throughput, and no rung above it.
    Dashjs,
}

#[derive(Clone, Debug)]
pub struct BolaSettings {
    pub form: BolaForm,
    pub ladder_bps: Vec<f64>,
    pub segment_s: f64,
    /// What the buffer holds; basic.
    pub capacity_s: f64,
    pub gp: f64,
    /// Buffer target, buffer of the lowest rung, and buffer that each rung adds; dash.js.
    pub target_s: f64,
    pub low_s: f64,
    pub rung_s: f64,
}

#[derive(Debug)]
pub struct Bola {
    form: BolaForm,
    ladder_bps: Vec<f64>,
    utilities: Vec<f64>,
    v_s: f64,
    gp: f64,
    /// Buffer that the player acts as if it had, s.
    placeholder_s: f64,
    /// The first choice, by throughput, was made.
    steady: bool,
}

impl Bola {
    pub fn new(settings: BolaSettings) -> Self {
        let ladder_bps = settings.ladder_bps;
        let above = match settings.form {
            BolaForm::Basic => 0.0,
            BolaForm::Dashjs => 1.0,
        };
        let utilities: Vec<f64> =
            ladder_bps.iter().map(|bps| above + (bps / ladder_bps[0]).ln()).collect();
        let top = utilities[utilities.len() - 1];
        let (v_s, gp) = match settings.form {
            BolaForm::Basic => {
                ((settings.capacity_s - settings.segment_s) / (top + settings.gp), settings.gp)
            }
            BolaForm::Dashjs => {
                let rungs_s = settings.low_s + settings.rung_s * ladder_bps.len() as f64;
                let gp = (top - 1.0) / (settings.target_s.max(rungs_s) / settings.low_s - 1.0);
                (settings.low_s / gp, gp)
            }
        };
        let form = settings.form;
        Self { form, ladder_bps, utilities, v_s, gp, placeholder_s: 0.0, steady: false }
    }

    /// The rung next; `safe_bps` is what throughput carries.
    pub fn next(&mut self, safe_bps: Option<f64>, at: &Situation) -> Decision {
        if self.ladder_bps.len() == 1 {
            return Decision::of(0);
        }
        if self.form == BolaForm::Basic {
            return Decision::of(self.best_at(at.buffer_s));
        }
        let Some(safe_bps) = safe_bps else { return Decision::of(at.level.unwrap_or(0)) };
        let carried = highest_within(&self.ladder_bps, safe_bps);
        if !self.steady {
            self.steady = at.level.is_some();
            self.placeholder_s = (self.least_buffer_s(carried) - at.buffer_s).max(0.0);
            return Decision::of(carried);
        }
        self.placeholder_s *= PLACEHOLDER_DECAY;
        let level = at.level.unwrap_or(0);
        let mut wanted = self.best_at(at.buffer_s + self.placeholder_s);
        if wanted > level && wanted > carried {
            wanted = level.max(carried);
        }
        Decision { level: wanted, wait_s: self.delay_s(wanted, at.buffer_s) }
    }

    /// A segment of rung `level` has come within `elapsed_s`; it left `buffer_s` in the buffer.
    pub fn observe(&mut self, level: usize, elapsed_s: f64, buffer_s: f64) {
        if self.form == BolaForm::Basic || !self.steady || self.ladder_bps.len() == 1 {
            return;
        }
        // The rung was another's choice, or time has passed: the placeholder is what explains it.
        let was_s = buffer_s + elapsed_s;
        self.placeholder_s = self.placeholder_s.min((self.most_buffer_s(level) - was_s).max(0.0));
        if buffer_s > 0.0 {
            self.placeholder_s = self.placeholder_s.max(self.least_buffer_s(level) - was_s);
        }
    }

    /// The player waited although the buffer could have grown.
    pub fn waited(&mut self, waited_s: f64) {
        if self.steady {
            self.placeholder_s += waited_s;
        }
    }

    /// Playback ran dry: the buffer is what it is.
    pub fn stalled(&mut self) {
        self.placeholder_s = 0.0;
    }

    /// Rung of the highest score (V (u + gp) - Q) / S; the lower one of two that are equal.
    fn best_at(&self, buffer_s: f64) -> usize {
        let scores = self.utilities.iter().zip(&self.ladder_bps);
        let mut best = (0, f64::NEG_INFINITY);
        for (rung, (utility, bps)) in scores.enumerate() {
            let score = (self.v_s * (utility + self.gp) - buffer_s) / bps;
            if score > best.1 {
                best = (rung, score);
            }
        }
        best.0
    }

    /// Buffer from which on a rung is better than all below it, s.
    fn least_buffer_s(&self, rung: usize) -> f64 {
        let (bps, utility) = (self.ladder_bps[rung], self.utilities[rung]);
        let from = |below: usize| {
            let (other_bps, other) = (self.ladder_bps[below], self.utilities[below]);
            self.v_s * (self.gp + (bps * other - other_bps * utility) / (bps - other_bps))
        };
        (0..rung).map(from).fold(0.0, f64::max)
    }

    /// Buffer up to which a rung is worth asking for, s.
    fn most_buffer_s(&self, rung: usize) -> f64 {
        self.v_s * (self.utilities[rung] + self.gp)
    }

    /// How long to wait until the buffer is no more than what the rung is worth.
    fn delay_s(&mut self, rung: usize, buffer_s: f64) -> f64 {
        let excess_s = (buffer_s + self.placeholder_s - self.most_buffer_s(rung)).max(0.0);
        let taken_s = excess_s.min(self.placeholder_s);
        self.placeholder_s -= taken_s;
        let delay_s = excess_s - taken_s;
        if rung + 1 == self.ladder_bps.len() || delay_s < NO_DELAY_S {
            0.0
        } else {
            delay_s
        }
    }
}

#[cfg(test)]
#[path = "bola_tests.rs"]
mod unit_tests;
