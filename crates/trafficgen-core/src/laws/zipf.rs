//! Zeta law of whole numbers from 1, the discrete Pareto law: P(K = k) = k^-a / zeta(a).

use super::real::Real;
use super::special::zeta;
use super::{Family, Kind, Range, Scale};

/// So many terms of a sum of powers are summed one by one: the next term of the series that stands
/// for the others is below 1e-12 of the sum.
const SUMMED: f64 = 1000.0;

pub struct Zeta;

impl Family for Zeta {
    const NAME: &'static str = "zipf";
    const SHAPES: &'static [(&'static str, Range)] = &[("a", Range::Above1)];
    const FREE: &'static [(&'static str, Scale)] = &[("a", Scale::LogAbove1)];
    const KIND: Kind = Kind::Whole { first: 1.0 };

    fn tails<T: Real>(shapes: &[T], k: T) -> (T, T) {
        let upper = zeta(shapes[0], k.value() + 1.0) / zeta(shapes[0], 1.0);
        (T::constant(1.0) - upper, upper)
    }

    fn partial_moment(shapes: &[f64], order: i32, _: f64, high: f64) -> Option<f64> {
        let (whole, exponent) = (zeta(shapes[0], 1.0), shapes[0] - f64::from(order));
        Some(match high {
            f64::INFINITY if exponent <= 1.0 => f64::INFINITY,
            f64::INFINITY => zeta(exponent, 1.0) / whole,
            _ => sum_powers(high, exponent) / whole,
        })
    }
}

/// Sum of j^-exponent for j from 1 to k, beyond some terms by Euler and Maclaurin.
fn sum_powers(k: f64, exponent: f64) -> f64 {
    let low = k.min(SUMMED);
    let (mut total, mut j) = (0.0, 1.0_f64);
    while j <= low {
        total += j.powf(-exponent);
        j += 1.0;
    }
    if k == low {
        return total;
    }
    let power = 1.0 - exponent;
    let log = (k / low).ln();
    let grown = if power == 0.0 { log } else { (power * log).exp_m1() / power };
    let ends = 0.5 * (k.powf(-exponent) - low.powf(-exponent));
    let slopes = exponent * (low.powf(-exponent - 1.0) - k.powf(-exponent - 1.0)) / 12.0;
    total + low.powf(power) * grown + ends + slopes
}
