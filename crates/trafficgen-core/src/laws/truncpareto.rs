//! Pareto law with an upper end: F = (1 - z^-b) / (1 - c^-b) for z between 1 and c.

use super::pareto::integrate_power;
use super::real::Real;
use super::{Family, Kind, Range, Scale};

pub struct TruncatedPareto;

impl Family for TruncatedPareto {
    const NAME: &'static str = "truncpareto";
    const SHAPES: &'static [(&'static str, Range)] =
        &[("b", Range::Positive), ("c", Range::Above1)];
    const FREE: &'static [(&'static str, Scale)] = &[("b", Scale::Log)];
    const KIND: Kind = Kind::Continuous { low: 1.0 };

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        let (b, c) = (shapes[0], shapes[1]);
        if z.value() >= c.value() {
            return (T::constant(1.0), T::constant(0.0));
        }
        let mass = mass(b, c);
        let log_sf = -(b * z.ln());
        // Counted from the upper end, so that it keeps its digits there.
        let upper = log_sf.exp() * -(-(b * (c / z).ln())).exp_m1();
        (-log_sf.exp_m1() / mass, upper / mass)
    }

    fn high(shapes: &[f64]) -> f64 {
        shapes[1]
    }

    fn quantile(shapes: &[f64], p: f64, upper: bool) -> Option<f64> {
        let (b, c) = (shapes[0], shapes[1]);
        let log_sf =
            if upper { (c.powf(-b) + p * mass(b, c)).ln() } else { (-p * mass(b, c)).ln_1p() };
        Some((-log_sf / b).exp())
    }

    fn partial_moment(shapes: &[f64], order: i32, low: f64, high: f64) -> Option<f64> {
        Some(integrate_power(shapes[0], order, low, high) / mass(shapes[0], shapes[1]))
    }
}

fn mass<T: Real>(b: T, c: T) -> T {
    -(-(b * c.ln())).exp_m1()
}
