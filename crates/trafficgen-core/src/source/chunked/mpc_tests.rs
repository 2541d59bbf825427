//! The plan against all plans, and the forecast by hand.

use super::*;

const LADDER_BPS: [f64; 3] = [1e6, 2e6, 4e6];
const FACTORS: [f64; 6] = [1.0, 1.3, 0.8, 1.1, 0.7, 1.2];

fn mpc(horizon: usize, robust: bool) -> Mpc {
    let (stall_weight, change_weight) = (4.3, 1.0);
    Mpc::new(MpcSettings { horizon, forecast_segments: 3, robust, stall_weight, change_weight })
}

fn at(buffer_s: f64, level: usize, segment: usize) -> Situation<'static> {
    let (factors, ladder_bps) = (&FACTORS, &LADDER_BPS);
    let level = Some(level);
    Situation { now_s: 0.0, buffer_s, level, segment, factors, ladder_bps, segment_s: 4.0 }
}

fn observe(mpc: &mut Mpc, mbps: f64) {
    mpc.observe((mbps * 125e3).round() as u64, 1.0);
}

/// First rung of the best of all plans: the lowest of those that are equal.
fn best_of_all(horizon: usize, mbps: f64, buffer_s: f64, level: usize, segment: usize) -> usize {
    let steps = horizon.min(FACTORS.len() - segment) as u32;
    let mut best = (0, f64::NEG_INFINITY);
    for number in 0..3_usize.pow(steps) {
        // The first rung is the slowest digit.
        let rungs = (0..steps).rev().map(|digit| number / 3_usize.pow(digit) % 3);
        let (mut left_s, mut before, mut worth) = (buffer_s, level, 0.0);
        for (step, rung) in rungs.enumerate() {
            let rung_mbps = LADDER_BPS[rung] / 1e6;
            let download_s = rung_mbps * FACTORS[segment + step] * 4.0 / mbps;
            worth += rung_mbps - (rung_mbps - LADDER_BPS[before] / 1e6).abs();
            worth -= 4.3 * (download_s - left_s).max(0.0);
            left_s = (left_s - download_s).max(0.0) + 4.0;
            before = rung;
        }
        if worth > best.1 + 1e-9 {
            best = (number / 3_usize.pow(steps - 1), worth);
        }
    }
    best.0
}

#[test]
fn the_plan_is_the_best_of_all() {
    let mut chosen = [0; 3];
    for horizon in [1, 3, 5] {
        for mbps in [0.6, 1.37, 2.21, 3.3, 9.7] {
            for (buffer_s, level) in [(0.0, 0), (0.0, 2), (2.3, 1), (5.1, 2), (9.7, 0), (22.9, 1)] {
                for segment in [0, 3, 5] {
                    let mut mpc = mpc(horizon, true);
                    observe(&mut mpc, mbps);
                    let found = mpc.next(&at(buffer_s, level, segment));
                    let expected = best_of_all(horizon, mbps, buffer_s, level, segment);
                    assert_eq!(found, Some(expected), "{horizon} {mbps} {buffer_s} {segment}");
                    chosen[expected] += 1;
                }
            }
        }
    }
    assert!(chosen.iter().all(|count| *count > 20), "{chosen:?}");
}

#[test]
fn the_forecast_is_the_harmonic_mean_over_its_largest_error() {
    let mut robust = mpc(3, true);
    assert_eq!(robust.forecast_bps(), None);
    observe(&mut robust, 2.0);
    assert_eq!(robust.forecast_bps(), Some(2e6));
    // 1 Mbit/s where 2 were foreseen is an error of 1: 2 / (1/2 + 1/1) / (1 + 1).
    observe(&mut robust, 1.0);
    let forecast = robust.forecast_bps().unwrap_or_default();
    assert!((forecast - 2e6 / 3.0).abs() < 1.0, "{forecast}");
    let mut plain = mpc(3, false);
    for mbps in [9.0, 4.0, 2.0, 1.0] {
        observe(&mut plain, mbps);
    }
    // The last three: 3 / (1/4 + 1/2 + 1).
    let forecast = plain.forecast_bps().unwrap_or_default();
    assert!((forecast - 3e6 / 1.75).abs() < 1.0, "{forecast}");
}
