//! Weibull law of minima: F = 1 - exp(-z^c).

use super::real::Real;
use super::special::gamma_between;
use super::{Family, Kind, Range, Scale};

pub struct Weibull;

impl Family for Weibull {
    const NAME: &'static str = "weibull_min";
    const SHAPES: &'static [(&'static str, Range)] = &[("c", Range::Positive)];
    const FREE: &'static [(&'static str, Scale)] = &[("c", Scale::Log), ("scale", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        let hazard = -(shapes[0] * z.ln()).exp();
        (-hazard.exp_m1(), hazard.exp())
    }

    fn quantile(shapes: &[f64], p: f64, upper: bool) -> Option<f64> {
        let hazard = if upper { -p.ln() } else { -(-p).ln_1p() };
        Some(hazard.powf(1.0 / shapes[0]))
    }

    fn partial_moment(shapes: &[f64], order: i32, low: f64, high: f64) -> Option<f64> {
        let (c, shape) = (shapes[0], 1.0 + f64::from(order) / shapes[0]);
        let share = gamma_between(shape, low.powf(c), high.powf(c));
        Some(if share == 0.0 { 0.0 } else { libm::tgamma(shape) * share })
    }
}
