//! Buffers at which BOLA changes its rung, worked out from the objective by hand.

use super::super::test_settings;
use super::*;

const LADDER_BPS: [f64; 3] = [1e6, 2e6, 4e6];

fn bola(form: BolaForm) -> Bola {
    Bola::new(test_settings::bola(form, &LADDER_BPS))
}

fn at(buffer_s: f64, level: Option<usize>) -> Situation<'static> {
    test_settings::at(&LADDER_BPS, buffer_s, level, 0.0)
}

#[test]
fn the_papers_thresholds_come_out() {
    // u = 0, 0.6931, 1.3863; V = 20 s / 6.3863 = 3.1317 s. Two rungs of rates a < b are equal at
    // V (gp + (b u_a - a u_b) / (b - a)): 13.488 s for the first two, 15.658 s for the next.
    let mut bola = bola(BolaForm::Basic);
    let chosen = [0.0, 13.48, 13.49, 15.65, 15.67, 24.0]
        .map(|buffer_s| bola.next(None, &at(buffer_s, Some(1))).level);
    assert_eq!(chosen, [0, 0, 1, 1, 2, 2]);
}

#[test]
fn the_rung_maximises_the_objective_at_any_buffer() {
    let mut bola = bola(BolaForm::Basic);
    let v_s = 20.0 / (4.0_f64.ln() + 5.0);
    for tenth in 0..240 {
        let buffer_s = 0.1 * f64::from(tenth) + 0.01;
        let score = |rung: usize| {
            let utility = (LADDER_BPS[rung] / LADDER_BPS[0]).ln();
            (v_s * (utility + 5.0) - buffer_s) / LADDER_BPS[rung]
        };
        let chosen = bola.next(None, &at(buffer_s, Some(0))).level;
        assert!((0..3).all(|rung| score(rung) <= score(chosen)), "{buffer_s}");
    }
}

#[test]
fn the_form_of_dash_js_takes_the_ends_at_its_buffers() {
    // u = 1, 1.6931, 2.3863; the target of 18 s is above 10 s + 3 x 2 s: gp = 1.3863 / 0.8 =
    // 1.7329, V = 10 s / gp = 5.7708 s. The second rung is taken from
    // V (gp + 2 x 1 - 1.6931) = 11.771 s on, the third from
    // V (gp + (4 x 1.6931 - 2 x 2.3863) / 2) = 15.771 s on.
    let bola = bola(BolaForm::Dashjs);
    assert!((bola.gp - 1.7329).abs() < 1e-4 && (bola.v_s - 5.7708).abs() < 1e-4);
    let chosen = [10.0, 11.76, 11.78, 15.76, 15.78].map(|buffer_s| bola.best_at(buffer_s));
    assert_eq!(chosen, [0, 0, 1, 1, 2]);
    assert!((bola.least_buffer_s(1) - 11.771).abs() < 1e-3);
    assert!((bola.most_buffer_s(2) - 5.7708 * (2.3863 + 1.7329)).abs() < 1e-3);
}

#[test]
fn dash_js_starts_by_throughput_and_goes_no_higher() {
    let mut bola = bola(BolaForm::Dashjs);
    assert_eq!(bola.next(Some(2.5e6), &at(0.0, None)), Decision::of(1));
    assert_eq!(bola.next(Some(2.5e6), &at(0.0, Some(1))), Decision::of(1));
    assert!((bola.placeholder_s - 11.771).abs() < 1e-3);
    // 6 s and the placeholder would pay for the third rung, which the throughput does not carry.
    assert_eq!(bola.next(Some(2.5e6), &at(6.0, Some(1))), Decision::of(1));
    assert_eq!(bola.next(Some(5e6), &at(6.0, Some(1))), Decision::of(2));
    bola.stalled();
    assert_eq!(bola.next(Some(5e6), &at(6.0, Some(2))), Decision::of(0));
}

#[test]
fn dash_js_waits_where_the_rung_is_worth_no_more_buffer() {
    let mut bola = bola(BolaForm::Dashjs);
    bola.steady = true;
    // The throughput keeps it on the second rung, worth V (1.6931 + gp) = 19.771 s; the
    // placeholder goes first.
    bola.placeholder_s = 1.0 / PLACEHOLDER_DECAY;
    let decision = bola.next(Some(2.5e6), &at(21.0, Some(1)));
    assert_eq!(decision.level, 1);
    assert!((decision.wait_s - (21.0 - 19.771)).abs() < 1e-3, "{decision:?}");
    assert_eq!(bola.placeholder_s, 0.0);
    assert_eq!(bola.next(Some(2.5e6), &at(19.7, Some(1))), Decision::of(1));
    // The highest rung is not waited with.
    assert_eq!(bola.next(Some(9e6), &at(30.0, Some(2))), Decision::of(2));
}

#[test]
fn one_rung_is_no_choice() {
    for form in [BolaForm::Basic, BolaForm::Dashjs] {
        let mut bola = Bola::new(test_settings::bola(form, &[1e6]));
        assert_eq!(bola.next(Some(9e6), &at(30.0, Some(0))), Decision::of(0));
        bola.observe(0, 1.0, 30.0);
    }
}
