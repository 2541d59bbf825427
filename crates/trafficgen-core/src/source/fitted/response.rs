//! How a fitted source answers to receiver reports: by the curve that calibration found.

use super::parameters::{Condition, CurveParameters, ResponseKind, ResponseParameters};

/// A source never falls below this share of its schedule, or no report would ever tell it that the
/// path has recovered.
const LEAST_RATE: f64 = 0.01;
/// A level fits where its rate times this is wanted: a mean of reports comes near a rate and never
/// quite there.
const FITS: f64 = 0.9;
/// What calibration calls congested: from this loss or this queueing delay on.
const CONGESTED_LOSS: f64 = 0.01;
const CONGESTED_DELAY_S: f64 = 0.05;

/// What a player tells the server about an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Lost / expected packets.
    pub loss: f64,
    /// Mean delay above the least so far, s.
    pub queueing_delay_s: f64,
    /// IP bytes x 8 / s that arrived.
    pub throughput_bps: f64,
}

impl Report {
    fn is_congested(&self) -> bool {
        self.loss >= CONGESTED_LOSS || self.queueing_delay_s >= CONGESTED_DELAY_S
    }

    fn condition(&self, condition: Condition) -> Option<f64> {
        match condition {
            Condition::LossRate => Some(self.loss),
            Condition::QueueingDelayS => Some(self.queueing_delay_s),
            // A low rate that nothing holds back is the source's own.
            Condition::ThroughputBps => self.is_congested().then_some(self.throughput_bps),
        }
    }
}

/// The rate of the source relative to its schedule, at the server.
#[derive(Clone, Debug)]
pub struct Response {
    parameters: ResponseParameters,
    /// Mean of what the curves asked for, newest first in weight.
    wanted: f64,
    level: usize,
}

impl Response {
    pub fn new(parameters: ResponseParameters) -> Self {
        Self { parameters, wanted: 1.0, level: 0 }
    }

    pub fn kind(&self) -> ResponseKind {
        self.parameters.kind
    }

    /// Relative rate now.
    pub fn rate(&self) -> f64 {
        match self.parameters.kind {
            ResponseKind::LevelSwitching => {
                self.parameters.levels.get(self.level).copied().unwrap_or(1.0)
            }
            ResponseKind::Thinning | ResponseKind::RateFollowing => self.wanted,
        }
    }

    /// Level now; 0 is the highest.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Take a report in. Returns whether the level has changed.
    pub fn hear(&mut self, report: &Report) -> bool {
        let asked = self.parameters.curves.iter().filter_map(|curve| {
            report.condition(curve.condition).map(|condition| look_up(curve, condition))
        });
        let target = asked.fold(1.0, f64::min).max(LEAST_RATE);
        self.wanted += self.parameters.newest_weight * (target - self.wanted);
        let levels = &self.parameters.levels;
        let before = self.level;
        if self.parameters.kind == ResponseKind::LevelSwitching {
            let fits = levels.iter().position(|level| FITS * level <= self.wanted);
            let lowest = levels.len().saturating_sub(1);
            // Down at once to what fits, up a level at a time.
            let fitting = fits.unwrap_or(lowest);
            self.level = if fitting < before { before - 1 } else { fitting };
        }
        self.level != before
    }
}

/// Relative rate of a curve; flat beyond its ends.
fn look_up(curve: &CurveParameters, condition: f64) -> f64 {
    let after = curve.points.partition_point(|(at, _)| *at <= condition);
    let (Some(before), Some(next)) =
        (after.checked_sub(1).and_then(|place| curve.points.get(place)), curve.points.get(after))
    else {
        let end = if after == 0 { curve.points.first() } else { curve.points.last() };
        return end.map_or(1.0, |(_, rate)| *rate);
    };
    if curve.in_steps {
        return before.1;
    }
    before.1 + (next.1 - before.1) * (condition - before.0) / (next.0 - before.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(kind: ResponseKind, in_steps: bool) -> Response {
        let points = vec![(0.0, 1.0), (0.1, 0.5), (0.3, 0.2)];
        let curves = vec![CurveParameters { condition: Condition::LossRate, points, in_steps }];
        let levels = vec![1.0, 0.5, 0.2];
        Response::new(ResponseParameters {
            kind,
            report_interval_s: 1.0,
            newest_weight: 0.5,
            levels,
            curves,
        })
    }

    fn report(loss: f64) -> Report {
        Report { loss, queueing_delay_s: 0.0, throughput_bps: 1e6 }
    }

    #[test]
    fn the_rate_settles_where_the_curve_says() {
        let mut following = response(ResponseKind::RateFollowing, false);
        for _ in 0..40 {
            following.hear(&report(0.2));
        }
        assert!((following.rate() - 0.35).abs() < 1e-9);
        let mut stepping = response(ResponseKind::RateFollowing, true);
        for _ in 0..40 {
            stepping.hear(&report(0.2));
        }
        assert!((stepping.rate() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn levels_fall_to_what_fits_and_rise_one_at_a_time() {
        let mut switching = response(ResponseKind::LevelSwitching, false);
        while switching.level() < 2 {
            switching.hear(&report(1.0));
        }
        let mut levels = vec![switching.level()];
        for _ in 0..10 {
            if switching.hear(&report(0.0)) {
                levels.push(switching.level());
            }
        }
        assert_eq!(levels, [2, 1, 0]);
    }

    #[test]
    fn throughput_counts_only_while_the_path_is_congested() {
        let points = vec![(1e5, 0.1), (1e6, 1.0)];
        let curves =
            vec![CurveParameters { condition: Condition::ThroughputBps, points, in_steps: false }];
        let mut parameters = response(ResponseKind::RateFollowing, false).parameters;
        parameters.curves = curves;
        let mut following = Response::new(parameters);
        following.hear(&Report { loss: 0.0, queueing_delay_s: 0.0, throughput_bps: 1e5 });
        assert!((following.rate() - 1.0).abs() < 1e-9);
        following.hear(&Report { loss: 0.0, queueing_delay_s: 0.2, throughput_bps: 1e5 });
        assert!((following.rate() - 0.55).abs() < 1e-9);
    }
}
