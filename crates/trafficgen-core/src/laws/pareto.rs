//! Pareto law: F = 1 - z^-b for z >= 1.

use super::real::Real;
use super::{Family, Kind, Range, Scale};

pub struct Pareto;

impl Family for Pareto {
    const NAME: &'static str = "pareto";
    const SHAPES: &'static [(&'static str, Range)] = &[("b", Range::Positive)];
    const FREE: &'static [(&'static str, Scale)] = &[("b", Scale::Log)];
    const KIND: Kind = Kind::Continuous { low: 1.0 };

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        let log_sf = -(shapes[0] * z.ln());
        (-log_sf.exp_m1(), log_sf.exp())
    }

    fn quantile(shapes: &[f64], p: f64, upper: bool) -> Option<f64> {
        let log_sf = if upper { p.ln() } else { (-p).ln_1p() };
        Some((-log_sf / shapes[0]).exp())
    }

    fn partial_moment(shapes: &[f64], order: i32, low: f64, high: f64) -> Option<f64> {
        Some(integrate_power(shapes[0], order, low, high))
    }
}

/// Integral of b z^(order - b - 1).
pub fn integrate_power(b: f64, order: i32, low: f64, high: f64) -> f64 {
    let power = f64::from(order) - b;
    if high.is_infinite() {
        return if power >= 0.0 { f64::INFINITY } else { -b / power * low.powf(power) };
    }
    let log = (high / low).ln();
    let grown = if power == 0.0 { log } else { (power * log).exp_m1() / power };
    b * low.powf(power) * grown
}
