//! Beta law on a range: F = I(z; a, b), the regularised incomplete beta function, z in [0, 1].

use super::real::Real;
use super::special::{beta_tails, between};
use super::{Family, Kind, Range, Scale};

pub struct Beta;

impl Family for Beta {
    const NAME: &'static str = "beta";
    const SHAPES: &'static [(&'static str, Range)] =
        &[("a", Range::Positive), ("b", Range::Positive)];
    const FREE: &'static [(&'static str, Scale)] = &[("a", Scale::Log), ("b", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        beta_tails(shapes[0], shapes[1], z, T::constant(1.0) - z)
    }

    fn high(_: &[f64]) -> f64 {
        1.0
    }

    fn partial_moment(shapes: &[f64], order: i32, low: f64, high: f64) -> Option<f64> {
        let (a, b) = (shapes[0], shapes[1]);
        let mean = a / (a + b);
        let whole = if order == 1 { mean } else { mean * (a + 1.0) / (a + b + 1.0) };
        let tails = |z: f64| beta_tails(a + f64::from(order), b, z, 1.0 - z);
        Some(whole * between(tails(low), tails(high)))
    }
}
