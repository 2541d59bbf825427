//! Generalised Pareto law: F = 1 - (1 + c z)^(-1 / c), exponential for c = 0, bounded for c < 0.

use super::real::Real;
use super::special::ln_1p_less;
use super::{Family, Kind, Range, Scale};

pub struct GeneralisedPareto;

/// Below this the logarithm is as good as two terms of its series.
const SMALLEST_SHAPE: f64 = 1e-30;

/// Below this, moments by powers of 1 + c z lose digits.
const NEAR_EXPONENTIAL: f64 = 0.1;

impl Family for GeneralisedPareto {
    const NAME: &'static str = "genpareto";
    const SHAPES: &'static [(&'static str, Range)] = &[("c", Range::Real)];
    const FREE: &'static [(&'static str, Scale)] = &[("c", Scale::Identity), ("scale", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        let c = shapes[0];
        let product = c * z;
        if product.value() <= -1.0 {
            return (T::constant(1.0), T::constant(0.0));
        }
        let log_sf = if product.value().abs() > 0.1 {
            -(product.ln_1p() / c)
        } else if c.value().abs() > SMALLEST_SHAPE {
            -z - ln_1p_less(product) / c // keeps the digits of the slope by c
        } else {
            (product.times(0.5) - T::constant(1.0)) * z
        };
        (-log_sf.exp_m1(), log_sf.exp())
    }

    fn high(shapes: &[f64]) -> f64 {
        if shapes[0] < 0.0 {
            -1.0 / shapes[0]
        } else {
            f64::INFINITY
        }
    }

    fn quantile(shapes: &[f64], p: f64, upper: bool) -> Option<f64> {
        let (c, log_sf) = (shapes[0], if upper { p.ln() } else { (-p).ln_1p() });
        Some(if c.abs() < SMALLEST_SHAPE { -log_sf } else { (-c * log_sf).exp_m1() / c })
    }

    fn partial_moment(shapes: &[f64], order: i32, low: f64, high: f64) -> Option<f64> {
        let (c, k) = (shapes[0], f64::from(order));
        if high.is_infinite() && k * c >= 1.0 {
            return Some(f64::INFINITY);
        }
        if c.abs() < NEAR_EXPONENTIAL {
            return Some(moment_above(c, order, low) - moment_above(c, order, high));
        }
        // By the moments of Y = 1 + c Z, whose survival function is Y^(-1 / c).
        let (bottom, top) = (1.0 + c * low, 1.0 + c * high);
        let of_y = |j: f64| {
            let power = j - 1.0 / c;
            if power == 0.0 {
                return (top / bottom).ln() / c;
            }
            (raise(top, power) - raise(bottom, power)) / (c * power)
        };
        Some(if order == 1 {
            (of_y(1.0) - of_y(0.0)) / c
        } else {
            (of_y(2.0) - 2.0 * of_y(1.0) + of_y(0.0)) / (c * c)
        })
    }
}

/// E[Z^order; Z > z] for c well below 1 / 2, by parts.
fn moment_above(c: f64, order: i32, z: f64) -> f64 {
    if z.is_infinite() {
        return 0.0;
    }
    let (y, (_, above)) = (1.0 + c * z, GeneralisedPareto::tails(&[c], z));
    let first = y / (1.0 - c);
    let second = 2.0 * z * first + 2.0 * y * first / (1.0 - 2.0 * c);
    above * if order == 1 { z + first } else { z * z + second }
}

/// base^exponent, or 0 for the survival function at its end.
fn raise(base: f64, exponent: f64) -> f64 {
    if base > 0.0 && base.is_finite() {
        base.powf(exponent)
    } else {
        0.0
    }
}
