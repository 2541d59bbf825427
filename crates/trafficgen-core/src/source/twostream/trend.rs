//! Trends of one-way delays: the extended pairwise comparison test and the pairwise difference test
//! (LJM-D1 to LJM-D3).

/// What delays do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    Increasing,
    Decreasing,
    Steady,
    /// None of these; `up` says which way it leans.
    Ambiguous {
        up: bool,
    },
}

/// Both tests on one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tests {
    /// Mean of the signs of the steps between group medians, those within epsilon counting 0.
    pub pct: f64,
    /// Last less first group median, over the sum of the absolute steps.
    pub pdt: f64,
}

/// Thresholds L and U of both tests (LJM-D2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    pub low: f64,
    pub high: f64,
}

/// Group medians of a window: as many groups as the square root of its length, as in Pathload.
///
/// The medians replace the contents of `medians`.
pub fn group_medians(window: &[f64], medians: &mut Vec<f64>, scratch: &mut Vec<f64>) {
    let groups = (window.len() as f64).sqrt().round() as usize;
    let edge = |group: usize| (group as f64 * window.len() as f64 / groups as f64).round() as usize;
    medians.clear();
    for group in 0..groups {
        scratch.clear();
        scratch.extend_from_slice(&window[edge(group)..edge(group + 1)]);
        medians.push(median(scratch));
    }
}

/// Median of values that may be sorted in place; 0 where there are none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 0 => 0.5 * (values[middle - 1] + values[middle]),
        _ => values[middle],
    }
}

/// Both tests on group medians; steps of at most `epsilon` count as none in the comparison test.
pub fn tests(medians: &[f64], epsilon: f64) -> Tests {
    let (mut signs, mut total) = (0.0, 0.0);
    for step in medians.windows(2).map(|pair| pair[1] - pair[0]) {
        if step.abs() > epsilon {
            signs += step.signum();
        }
        total += step.abs();
    }
    let steps = medians.len().saturating_sub(1).max(1) as f64;
    let rise = medians.last().zip(medians.first()).map_or(0.0, |(last, first)| last - first);
    Tests { pct: signs / steps, pdt: if total > 0.0 { rise / total } else { 0.0 } }
}

impl Tests {
    /// What the two tests say together (LJM-D2).
    pub fn trend(self, thresholds: Thresholds) -> Trend {
        let Thresholds { low, high } = thresholds;
        let rises = |pct: f64, pdt: f64| (pct > high && pdt > low) || (pdt > high && pct > low);
        if rises(self.pct, self.pdt) {
            Trend::Increasing
        } else if rises(-self.pct, -self.pdt) {
            Trend::Decreasing
        } else if self.pct.abs() < low && self.pdt.abs() < low {
            Trend::Steady
        } else {
            Trend::Ambiguous { up: self.pct + self.pdt >= 0.0 }
        }
    }
}

/// What several scales say together (LJM-D3); scales that have too few delays are left out of
/// `scales`.
pub fn combine(scales: &[Tests], thresholds: Thresholds) -> Trend {
    let said =
        |trend: Trend| scales.iter().filter(|tests| tests.trend(thresholds) == trend).count();
    let (rises, falls) = (said(Trend::Increasing) > 0, said(Trend::Decreasing) > 0);
    match (rises, falls) {
        (true, false) => Trend::Increasing,
        (false, true) => Trend::Decreasing,
        (false, false) if said(Trend::Steady) >= 2 => Trend::Steady,
        _ => Trend::Ambiguous {
            up: scales.iter().map(|tests| tests.pct + tests.pdt).sum::<f64>() >= 0.0,
        },
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    const PAPER: Thresholds = Thresholds { low: 0.25, high: 0.5 };

    fn tests_of(window: &[f64], epsilon: f64) -> Tests {
        let (mut medians, mut scratch) = (Vec::new(), Vec::new());
        group_medians(window, &mut medians, &mut scratch);
        tests(&medians, epsilon)
    }

    fn ramp(step: f64) -> Vec<f64> {
        (0..64).map(|packet| f64::from(packet) * step).collect()
    }

    #[test]
    fn a_ramp_is_all_rise_and_its_mirror_image_all_fall() {
        assert_eq!(tests_of(&ramp(0.01), 0.002), Tests { pct: 1.0, pdt: 1.0 });
        assert_eq!(tests_of(&ramp(0.01), 0.002).trend(PAPER), Trend::Increasing);
        assert_eq!(tests_of(&ramp(-0.01), 0.002).trend(PAPER), Trend::Decreasing);
    }

    #[test]
    fn steps_within_epsilon_do_not_count_in_the_comparison_but_in_the_difference() {
        // Steps of 8 packets x 0.1 ms = 0.8 ms between groups: no step for the first test, all rise
        // for the second.
        let slow = tests_of(&ramp(1e-4), 0.002);
        assert_eq!(slow.pct, 0.0);
        assert!((slow.pdt - 1.0).abs() < 1e-9, "{slow:?}");
        assert_eq!(slow.trend(PAPER), Trend::Ambiguous { up: true });
    }

    #[test]
    fn equal_delays_are_steady() {
        assert_eq!(tests_of(&[0.053; 32], 0.002), Tests { pct: 0.0, pdt: 0.0 });
        assert_eq!(tests_of(&[0.053; 32], 0.002).trend(PAPER), Trend::Steady);
    }

    #[test]
    fn windows_are_cut_into_the_square_root_of_their_length_and_no_packet_is_left_out() {
        let (mut medians, mut scratch) = (Vec::new(), Vec::new());
        for (packets, groups) in [(32, 6), (64, 8), (128, 11)] {
            let window: Vec<f64> = (0..packets).map(f64::from).collect();
            group_medians(&window, &mut medians, &mut scratch);
            assert_eq!(medians.len(), groups);
            let mean_of_medians = medians.iter().sum::<f64>() / groups as f64;
            assert!(
                (mean_of_medians - f64::from(packets - 1) / 2.0).abs() < 0.6,
                "{packets}: {mean_of_medians}"
            );
        }
    }

    #[test]
    fn one_outlier_in_a_group_changes_nothing() {
        let mut window = vec![0.05; 64];
        window[40] = 9.0;
        assert_eq!(tests_of(&window, 0.002).trend(PAPER), Trend::Steady);
    }

    #[test]
    fn between_the_thresholds_one_test_needs_the_other() {
        assert_eq!(Tests { pct: 0.6, pdt: 0.3 }.trend(PAPER), Trend::Increasing);
        assert_eq!(Tests { pct: 0.3, pdt: 0.6 }.trend(PAPER), Trend::Increasing);
        assert_eq!(Tests { pct: 0.3, pdt: 0.4 }.trend(PAPER), Trend::Ambiguous { up: true });
        assert_eq!(Tests { pct: 0.6, pdt: 0.2 }.trend(PAPER), Trend::Ambiguous { up: true });
        assert_eq!(Tests { pct: -0.3, pdt: -0.6 }.trend(PAPER), Trend::Decreasing);
        assert_eq!(Tests { pct: -0.3, pdt: 0.1 }.trend(PAPER), Trend::Ambiguous { up: false });
    }

    #[test]
    fn one_rising_scale_is_enough_unless_another_falls_and_steadiness_needs_two() {
        let (up, down, flat, unclear) = (
            Tests { pct: 1.0, pdt: 1.0 },
            Tests { pct: -1.0, pdt: -1.0 },
            Tests { pct: 0.0, pdt: 0.0 },
            Tests { pct: 0.3, pdt: 0.3 },
        );
        assert_eq!(combine(&[flat, flat, up], PAPER), Trend::Increasing);
        assert_eq!(combine(&[flat, down, unclear], PAPER), Trend::Decreasing);
        assert_eq!(combine(&[flat, down, up], PAPER), Trend::Ambiguous { up: true });
        assert_eq!(combine(&[flat, flat, unclear], PAPER), Trend::Steady);
        assert_eq!(combine(&[flat, unclear, unclear], PAPER), Trend::Ambiguous { up: true });
        assert_eq!(combine(&[flat], PAPER), Trend::Ambiguous { up: true });
    }
}
