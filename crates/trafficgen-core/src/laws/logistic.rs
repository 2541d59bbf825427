//! Logistic law: F = 1 / (1 + exp(-z)).

use super::real::Real;
use super::special::logit;
use super::{Family, Kind, Range, Scale};

pub struct Logistic;

impl Family for Logistic {
    const NAME: &'static str = "logistic";
    const SHAPES: &'static [(&'static str, Range)] = &[];
    const FREE: &'static [(&'static str, Scale)] = &[("loc", Scale::Shift), ("scale", Scale::Log)];
    const KIND: Kind = Kind::Continuous { low: f64::NEG_INFINITY };

    fn tail<T: Real>(_: &[T], z: T, upper: bool) -> T {
        if upper {
            (-z).logistic()
        } else {
            z.logistic()
        }
    }

    fn quantile(_: &[f64], p: f64, upper: bool) -> Option<f64> {
        Some(if upper { -logit(p) } else { logit(p) })
    }

    fn partial_moment(_: &[f64], order: i32, low: f64, high: f64) -> Option<f64> {
        // Each side by itself: differences keep their digits.
        let below = moment_to(order, high.min(0.0)) - moment_to(order, low.min(0.0));
        let above = moment_to(order, -low.max(0.0)) - moment_to(order, -high.max(0.0));
        Some(if order == 1 { below - above } else { below + above })
    }
}

/// E[Z^order; Z <= z] for z <= 0, in terms of u = F(z).
fn moment_to(order: i32, z: f64) -> f64 {
    let u = z.logistic();
    if u == 0.0 {
        return 0.0;
    }
    let rest = (-u).ln_1p();
    if order == 1 {
        return u * z + rest;
    }
    // The dilogarithm's series; u is 1 / 2 at most.
    let (mut dilogarithm, mut power) = (0.0, 1.0);
    for k in 1..60 {
        power *= u;
        dilogarithm += power / f64::from(k * k);
    }
    u * z * z + 2.0 * rest * z + 2.0 * dilogarithm + rest * rest
}
