//! Exponential law: F = 1 - exp(-z).

use super::real::Real;
use super::special::gamma_between;
use super::{Family, Kind, Range, Scale};

pub struct Exponential;

impl Family for Exponential {
    const NAME: &'static str = "expon";
    const SHAPES: &'static [(&'static str, Range)] = &[];
    const FREE: &'static [(&'static str, Scale)] = &[("scale", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tails<T: Real>(_: &[T], z: T) -> (T, T) {
        (-(-z).exp_m1(), (-z).exp())
    }

    fn quantile(_: &[f64], p: f64, upper: bool) -> Option<f64> {
        Some(if upper { -p.ln() } else { -(-p).ln_1p() })
    }

    fn partial_moment(_: &[f64], order: i32, low: f64, high: f64) -> Option<f64> {
        let k = f64::from(order);
        Some(k * gamma_between(k + 1.0, low, high)) // k is its own factorial
    }
}
