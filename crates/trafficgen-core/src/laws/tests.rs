//! What holds for every family, whatever it is.
#![allow(clippy::unwrap_used)] // a test that cannot go on is to fail

use super::{families, AnyFamily, Kind, Law};

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
