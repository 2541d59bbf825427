//! Generalised Pareto law: F = 1 - (1 + c z)^(-1 / c), exponential for c = 0, bounded for c < 0.

use super::real::Real;
use super::special::ln_1p_less;
use super::{Family, Kind, Scale};

pub struct GeneralisedPareto;

/// Below this the logarithm is as good as two terms of its series.
const SMALLEST_SHAPE: f64 = 1e-30;

impl Family for GeneralisedPareto {
    const NAME: &'static str = "genpareto";
    const SHAPES: &'static [&'static str] = &["c"];
    const FREE: &'static [(&'static str, Scale)] = &[("c", Scale::Identity), ("scale", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn is_valid(_: &[f64]) -> bool {
        true
    }

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
}
