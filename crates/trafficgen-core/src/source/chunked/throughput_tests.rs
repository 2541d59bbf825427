//! Estimates and rungs worked out by hand.

use super::super::test_settings::{self, estimator, throughput as rule};
use super::*;

const LADDER_BPS: [f64; 4] = [1e6, 2e6, 3e6, 5e6];

/// The estimate, Mbit/s, after downloads of (Mbit/s, s).
fn estimate_mbps(settings: EstimatorSettings, downloads: &[(f64, f64)]) -> Option<f64> {
    let mut estimator = Estimator::new(settings);
    for (mbps, elapsed_s) in downloads {
        estimator.observe((mbps * 125e3 * elapsed_s).round() as u64, *elapsed_s);
    }
    estimator.bps().map(|bps| bps / 1e6)
}

fn at(buffer_s: f64, level: Option<usize>, now_s: f64) -> Situation<'static> {
    test_settings::at(&LADDER_BPS, buffer_s, level, now_s)
}

fn close(found: Option<f64>, expected: f64) {
    assert!(found.is_some_and(|found| (found - expected).abs() < 2e-5), "{found:?} {expected}");
}

#[test]
fn the_average_fades_by_the_time_of_downloads_and_the_lower_one_counts() {
    close(estimate_mbps(estimator(Average::Ewma), &[(2.0, 1.0)]), 2.0);
    // Two seconds at 2 and 4 Mbit/s: (2 a + 4) / (1 + a) with a = 0.5^(1/3) gives 3.11501, with
    // 0.5^(1/9) 3.03850.
    close(estimate_mbps(estimator(Average::Ewma), &[(2.0, 1.0), (4.0, 1.0)]), 3.03850);
    // Down, the fast one is lower: (4 a + 2) / (1 + a) with 0.5^(1/3).
    close(estimate_mbps(estimator(Average::Ewma), &[(4.0, 1.0), (2.0, 1.0)]), 2.88499);
    let heavier = EstimatorSettings { weight_multiple: 3.0, ..estimator(Average::Ewma) };
    // A second weighs 3: a = 0.5 and 0.5^(1/3); (4 x 0.5 + 2) / 1.5.
    close(estimate_mbps(heavier, &[(4.0, 1.0), (2.0, 1.0)]), 2.66667);
}

#[test]
fn the_smoothed_average_takes_a_share_of_each_segment() {
    // 2, then 0.7 x 2 + 0.3 x 4 = 2.6, then 0.7 x 2.6 + 0.3 x 1 = 2.12, however long they took.
    let downloads = [(2.0, 5.0), (4.0, 0.1), (1.0, 2.0)];
    close(estimate_mbps(estimator(Average::Smoothed), &downloads), 2.12);
}

#[test]
fn a_player_may_go_up_by_steps() {
    let mut rule = ThroughputRule::new(ThroughputSettings { up_steps: 1, ..rule() });
    assert_eq!(rule.next(9e6, &at(8.0, Some(1), 0.0)), 2);
    assert_eq!(rule.next(0.5e6, &at(8.0, Some(3), 0.0)), 0);
}

#[test]
fn means_are_of_the_last_segments() {
    let downloads = [(9.0, 1.0), (2.0, 1.0), (4.0, 2.0)];
    close(estimate_mbps(estimator(Average::Mean), &downloads), 3.0);
    close(estimate_mbps(estimator(Average::Harmonic), &downloads), 2.0 / (0.5 + 0.25));
}

#[test]
fn the_median_is_weighted_by_the_square_root_of_bytes_up_to_a_sum() {
    // 1 MB weighs 1000, 0.25 MB 500: 2 Mbit/s is in the middle of 1000 + 500.
    let both = [(2.0, 4.0), (8.0, 0.25)];
    close(estimate_mbps(estimator(Average::Median), &both), 2.0);
    // Two more of 1 MB push what is older out of the window of 2000.
    let more = [(2.0, 4.0), (8.0, 0.25), (5.0, 1.6), (6.0, 4.0 / 3.0)];
    close(estimate_mbps(estimator(Average::Median), &more), 5.0);
}

#[test]
fn the_start_holds_until_enough_has_come() {
    let settings = EstimatorSettings {
        min_bytes: 16_000,
        trusted_bytes: 300_000,
        start_bps: Some(1e6),
        ..estimator(Average::Ewma)
    };
    close(estimate_mbps(settings.clone(), &[]), 1.0);
    close(estimate_mbps(settings.clone(), &[(2.0, 1.0)]), 1.0); // 250 kB
    close(estimate_mbps(settings.clone(), &[(2.0, 1.0), (2.0, 1.0)]), 2.0);
    close(estimate_mbps(settings, &[(0.1, 1.0); 40]), 1.0); // 12.5 kB each are left out
    assert_eq!(estimate_mbps(estimator(Average::Ewma), &[]), None);
    let longer = EstimatorSettings { min_s: 0.05, ..estimator(Average::Ewma) };
    close(estimate_mbps(longer, &[(8.0, 0.01)]), 1.6);
}

#[test]
fn the_highest_rung_within_the_share_is_taken() {
    let mut rule = ThroughputRule::new(rule());
    let chosen: Vec<usize> = [0.5e6, 2.2e6, 2.23e6, 3.4e6, 5.5e6, 5.6e6]
        .map(|bps| rule.next(bps, &at(8.0, Some(1), 0.0)))
        .to_vec();
    assert_eq!(chosen, [0, 0, 1, 2, 2, 3]);
}

#[test]
fn going_up_needs_more_than_staying() {
    let settings = ThroughputSettings { share: 0.95, up_share: 0.7, ..rule() };
    let mut rule = ThroughputRule::new(settings);
    // 3 Mbit/s: 2.85 to stay or go down, 2.1 to go up.
    assert_eq!(rule.next(3e6, &at(8.0, Some(1), 0.0)), 1);
    assert_eq!(rule.next(4.29e6, &at(8.0, Some(1), 0.0)), 2);
    assert_eq!(rule.next(3.2e6, &at(8.0, Some(2), 0.0)), 2);
    assert_eq!(rule.next(3.1e6, &at(8.0, Some(2), 0.0)), 1);
    assert_eq!(rule.next(2.8e6, &at(8.0, None, 0.0)), 0);
    assert_eq!(rule.next(2.9e6, &at(8.0, None, 0.0)), 1);
}

#[test]
fn a_buffer_delays_both_ways() {
    let settings = ThroughputSettings { up_buffer_s: 10.0, down_buffer_s: 25.0, ..rule() };
    let mut rule = ThroughputRule::new(settings);
    assert_eq!(rule.next(4e6, &at(9.9, Some(1), 0.0)), 1);
    assert_eq!(rule.next(4e6, &at(10.0, Some(1), 0.0)), 2);
    assert_eq!(rule.next(2.3e6, &at(25.0, Some(2), 0.0)), 2);
    assert_eq!(rule.next(2.3e6, &at(24.9, Some(2), 0.0)), 1);
    // The first rung is the throughput's.
    assert_eq!(rule.next(4e6, &at(0.0, None, 0.0)), 2);
}

#[test]
fn decisions_are_an_interval_apart() {
    let settings = ThroughputSettings { interval_s: 8.0, ..rule() };
    let mut rule = ThroughputRule::new(settings);
    assert_eq!(rule.next(4e6, &at(8.0, Some(1), 100.0)), 2);
    assert_eq!(rule.next(1e6, &at(8.0, Some(2), 107.9)), 2);
    assert_eq!(rule.next(1e6, &at(8.0, Some(2), 108.0)), 0);
}

#[test]
fn a_segment_must_come_before_the_buffer_is_empty() {
    let settings =
        ThroughputSettings { share: 1.0, up_share: 1.0, starvation_s: Some(4.0), ..rule() };
    let mut rule = ThroughputRule::new(settings);
    // At 4 Mbit/s 4 s of 3 Mbit/s take 3 s, of 2 Mbit/s 2 s.
    assert_eq!(rule.next(4e6, &at(3.0, Some(1), 0.0)), 2);
    assert_eq!(rule.next(4e6, &at(2.9, Some(1), 0.0)), 1);
    // Nothing comes within 0.5 s: a delay of 4 s is accepted.
    assert_eq!(rule.next(4e6, &at(0.5, Some(1), 0.0)), 2);
}

#[test]
fn the_buffer_caps_the_rung() {
    // 0.7 x 4 Mbit/s x 4 s / 4 s = 2.8 Mbit/s.
    assert_eq!(cap_by_buffer(3, 0.7, 4e6, &at(4.0, Some(1), 0.0)), 1);
    assert_eq!(cap_by_buffer(3, 0.7, 4e6, &at(8.0, Some(1), 0.0)), 3);
    assert_eq!(cap_by_buffer(3, 0.7, 4e6, &at(0.0, Some(1), 0.0)), 0);
}
