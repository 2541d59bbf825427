//! Gamma law: F = P(a, z), the regularised lower incomplete gamma function.

use super::real::Real;
use super::special::{gamma_between, gamma_tails};
use super::{Family, Kind, Range, Scale};

pub struct Gamma;

impl Family for Gamma {
    const NAME: &'static str = "gamma";
    const SHAPES: &'static [(&'static str, Range)] = &[("a", Range::Positive)];
    const FREE: &'static [(&'static str, Scale)] = &[("a", Scale::Log), ("scale", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        gamma_tails(shapes[0], z)
    }

    fn partial_moment(shapes: &[f64], order: i32, low: f64, high: f64) -> Option<f64> {
        let a = shapes[0];
        let whole = if order == 1 { a } else { a * (a + 1.0) };
        Some(whole * gamma_between(a + f64::from(order), low, high))
    }
}
