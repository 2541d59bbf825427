//! Weibull law of minima: F = 1 - exp(-z^c).

use super::real::Real;
use super::{Family, Kind, Scale};

pub struct Weibull;

impl Family for Weibull {
    const NAME: &'static str = "weibull_min";
    const SHAPES: &'static [&'static str] = &["c"];
    const FREE: &'static [(&'static str, Scale)] = &[("c", Scale::Log), ("scale", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        let hazard = -(shapes[0] * z.ln()).exp();
        (-hazard.exp_m1(), hazard.exp())
    }
}
