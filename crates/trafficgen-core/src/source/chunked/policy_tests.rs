//! Which rule a player follows when.

use super::super::bola::BolaForm;
use super::super::choice::Choice;
use super::super::test_settings::{bola, estimator, throughput};
use super::super::throughput::Average;
use super::*;

const FACTORS: [f64; 40] = [1.0; 40];

fn decider(policy: Policy) -> Decider {
    let ladder_bps = vec![1e6, 2e6, 4e6];
    Decider::new(PolicySettings {
        policy,
        segment_s: 4.0,
        choice: ChoiceSettings {
            choice: Choice::Buffer,
            ladder_bps: ladder_bps.clone(),
            segment_s: 4.0,
            reservoir_s: 5.0,
            cushion_s: 10.0,
            throughput_segments: 20,
            safety_share: 0.85,
            growth_empty_share: 0.875,
            growth_full_share: 0.5,
        },
        estimator: EstimatorSettings {
            half_lives_s: [3.0, 8.0],
            segments: 4,
            start_bps: Some(1e6),
            ..estimator(Average::Ewma)
        },
        throughput: throughput(),
        bola: BolaSettings { target_s: 20.0, ..bola(BolaForm::Basic, &ladder_bps) },
        mpc: MpcSettings {
            horizon: 5,
            forecast_segments: 5,
            robust: true,
            stall_weight: 4.3,
            change_weight: 1.0,
        },
        dynamic_on_s: 12.0,
        dynamic_off_s: 6.0,
        buffer_share: None,
        fixed_bps: 3e6,
        ladder_bps,
    })
}

fn download(decider: &mut Decider, mbps: f64, buffer_s: f64) {
    let (bytes, elapsed_s) = ((mbps * 125e3) as u64, 1.0);
    let (counted_bytes, counted_s) = (bytes, elapsed_s);
    decider.observe(&Download { bytes, elapsed_s, counted_bytes, counted_s, buffer_s });
}

#[test]
fn dynamic_changes_its_rule_with_the_buffer() {
    let mut decider = decider(Policy::Dynamic);
    assert_eq!(decider.next(0.0, 0.0, true, 0, &FACTORS).level, 0);
    download(&mut decider, 3.0, 4.0);
    // Throughput carries the second rung; BOLA takes the lowest below 13.488 s, the highest above
    // 15.658 s.
    let chosen = [5.0, 11.9, 12.0, 16.0, 7.0, 6.0, 5.9, 11.0, 14.0]
        .map(|buffer_s| decider.next(0.0, buffer_s, true, 1, &FACTORS).level);
    assert_eq!(chosen, [1, 1, 0, 2, 0, 0, 1, 1, 1]);
}

#[test]
fn fixed_is_the_highest_rung_within_its_rate() {
    let mut decider = decider(Policy::Fixed);
    for (buffer_s, mbps) in [(0.0, 0.1), (30.0, 90.0)] {
        assert_eq!(decider.next(0.0, buffer_s, true, 0, &FACTORS).level, 1);
        download(&mut decider, mbps, buffer_s);
    }
}

#[test]
fn the_buffers_map_is_that_of_the_choice() {
    let mut decider = decider(Policy::Buffer);
    // Reservoir 5 s, cushion 10 s: 1 Mbit/s + 0.3 Mbit/s a second; 2 Mbit/s at 8.33 s.
    let chosen = [5.0, 8.3, 8.4, 14.9, 15.0, 5.0]
        .map(|buffer_s| decider.next(0.0, buffer_s, true, 1, &FACTORS).level);
    assert_eq!(chosen, [0, 0, 1, 1, 2, 0]);
}

#[test]
fn planning_starts_by_throughput() {
    let mut decider = decider(Policy::Mpc);
    assert_eq!(decider.next(0.0, 0.0, true, 0, &FACTORS).level, 0);
    download(&mut decider, 20.0, 4.0);
    assert_eq!(decider.next(0.0, 4.0, true, 1, &FACTORS).level, 2);
}
