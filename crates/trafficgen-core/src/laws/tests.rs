//! What holds for every family, whatever it is.
#![allow(clippy::unwrap_used)] // a test that cannot go on is to fail

use super::zipf::Zeta;
use super::{families, numeric, AnyFamily, Family, Kind, Law};

const ENDLESS: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
const STEP: f64 = 1e-5;

fn example(family: &dyn AnyFamily) -> Law {
    let value = |name: &str| match (name, family.kind()) {
        ("loc", _) => 0.0,
        ("p", _) => 0.3,
        ("scale", _) => 1.5,
        _ => 2.5,
    };
    let params = family.parameters().into_iter().map(|name| (name.to_owned(), value(name)));
    Law::new(family.name(), &params.collect::<Vec<_>>(), ENDLESS).unwrap()
}

fn points(family: &dyn AnyFamily) -> Vec<f64> {
    match family.kind() {
        Kind::Whole { .. } => vec![1.0, 2.0, 3.0, 7.0],
        Kind::Continuous { .. } => vec![0.2, 0.7, 1.3, 2.9, 3.5],
    }
}

#[test]
fn every_family_has_tails_and_scores_that_agree() {
    for family in families() {
        let (law, points) = (example(*family), points(*family));
        let (below, above) = (law.tails(&points, false), law.tails(&points, true));
        for (below, above) in below.iter().zip(&above) {
            assert!((below + above - 1.0).abs() < 1e-12, "{}: {below} {above}", family.name());
        }
        assert!(below.windows(2).all(|pair| pair[0] <= pair[1]), "{}", family.name());
        for upper in [false, true] {
            let (tails, slopes) = law.tails_with_slopes(&points, upper, 1.5);
            for (tail, alone) in tails.iter().zip(law.tails(&points, upper)) {
                assert!((tail - alone).abs() <= 1e-13 * alone, "{}", family.name());
            }
            for number in 0..law.free() {
                let at = |step: f64| -> Vec<f64> {
                    let mut steps = vec![0.0; law.free()];
                    steps[number] = step;
                    law.move_by(&steps, 1.5).unwrap().tails(&points, upper)
                };
                for (at, (more, less)) in at(STEP).iter().zip(at(-STEP)).enumerate() {
                    let (expected, found) =
                        ((more - less) / (2.0 * STEP), slopes[at * law.free() + number]);
                    let close = (found - expected).abs() < 1e-6 * (1e-2 + expected.abs());
                    assert!(close, "{}: {found} for {expected}", family.name());
                }
            }
        }
    }
}

#[test]
fn every_family_has_quantiles_that_lead_back_to_their_probabilities() {
    for family in families() {
        let law = example(*family);
        for upper in [false, true] {
            let shares = [1e-12, 1e-5, 0.03, 0.4, 0.7];
            let values = law.quantiles(&shares, upper);
            for (share, value) in shares.iter().zip(values) {
                let found = law.tail(value, upper);
                if matches!(family.kind(), Kind::Continuous { .. }) {
                    let (low, high) = law.support();
                    // Next to an end that is not 0 numbers are too far apart.
                    let rounded = value - low < 1e-6 * low || high - value < 1e-6 * value;
                    let close = (found - share).abs() < 1e-9 * share || rounded;
                    assert!(close, "{}: {found} for {share}", family.name());
                } else {
                    let before = law.tail(value - 1.0, upper);
                    let (one, other) = if upper { (found, before) } else { (before, found) };
                    let first = value == law.support().0;
                    assert!(
                        one <= share * (1.0 + 1e-12) || first && !upper,
                        "{}: {share}",
                        family.name()
                    );
                    assert!(other >= share * (1.0 - 1e-12) || first, "{}: {share}", family.name());
                }
            }
        }
    }
}

#[test]
fn every_family_has_the_moments_of_its_distribution_function() {
    for family in families() {
        let names = family.parameters();
        let value = |name: &&str| match *name {
            "loc" => 0.0,
            "scale" => 1.0,
            "p" => 0.3,
            _ => 2.5,
        };
        let params: Vec<f64> = names.iter().map(value).collect();
        let tail = |z: f64, upper: bool| family.tail(&params, z, upper);
        let (first, last) = (family.kind().low(), family.high(&params));
        for order in [1, 2] {
            for (low, high) in [(first, last), (first, 1.7), (1.2, 2.0), (2.1, last)] {
                let high = high.min(last);
                let found = family.partial_moment(&params, order, low, high);
                let expected = if matches!(family.kind(), Kind::Whole { .. }) {
                    let to = |end| numeric::whole_moment(tail, first, order, end);
                    if high.is_infinite() {
                        continue; // steps are no smooth law
                    }
                    to(high) - if low < first { 0.0 } else { to(low) }
                } else {
                    numeric::partial_moment(tail, (first, last), order, (low, high))
                };
                let expected = if low >= high { 0.0 } else { expected };
                let close = (found - expected).abs() <= 1e-9 * expected.abs().max(1e-3);
                let both = found == expected;
                assert!(close || both, "{} {order}: {found} for {expected}", family.name());
            }
        }
    }
}

#[test]
fn moments_of_whole_numbers_are_summed_into_a_heavy_tail() {
    let tail = |k: f64, upper: bool| match k {
        _ if k < 1.0 => f64::from(u8::from(upper)),
        f64::INFINITY => f64::from(u8::from(!upper)),
        _ => <Zeta as Family>::tail(&[3.6], k, upper),
    };
    for order in [1, 2] {
        let expected = <Zeta as Family>::partial_moment(&[3.6], order, 0.0, f64::INFINITY).unwrap();
        let found = numeric::whole_moment(tail, 1.0, order, f64::INFINITY);
        assert!((found - expected).abs() < 1e-9 * expected, "{found} for {expected}");
    }
    let found = numeric::whole_moment(tail, 1.0, 3, f64::INFINITY);
    assert!(found == f64::INFINITY);
}
