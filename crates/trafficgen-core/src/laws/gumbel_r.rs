//! Law of the largest extreme value (Gumbel): F = exp(-exp(-z)).

use super::real::Real;
use super::special::integrate;
use super::{Family, Kind, Range, Scale};

/// Beyond these ends the density is 0 in double precision, and that of an exponential law.
const LOWEST: f64 = -7.0;
const EXPONENTIAL_FROM: f64 = 38.0;

pub struct LargestExtremeValue;

impl Family for LargestExtremeValue {
    const NAME: &'static str = "gumbel_r";
    const SHAPES: &'static [(&'static str, Range)] = &[];
    const FREE: &'static [(&'static str, Scale)] = &[("loc", Scale::Shift), ("scale", Scale::Log)];
    const KIND: Kind = Kind::Continuous { low: f64::NEG_INFINITY };

    fn tail<T: Real>(_: &[T], z: T, upper: bool) -> T {
        let hazard = -(-z).exp();
        if upper {
            -hazard.exp_m1()
        } else {
            hazard.exp()
        }
    }

    fn quantile(_: &[f64], p: f64, upper: bool) -> Option<f64> {
        let hazard = if upper { -(-p).ln_1p() } else { -p.ln() };
        Some(-hazard.ln())
    }

    fn partial_moment(_: &[f64], order: i32, low: f64, high: f64) -> Option<f64> {
        let density = |z: f64| z.powi(order) * (-z - (-z).exp()).exp();
        let (bottom, top) = (low.max(LOWEST), high.min(EXPONENTIAL_FROM));
        let start = low.max(EXPONENTIAL_FROM);
        let beyond =
            if start < high { exponential(order, start) - exponential(order, high) } else { 0.0 };
        Some(integrate(density, bottom, top) + beyond)
    }
}

/// E[Z^order; Z > z] of the exponential law.
fn exponential(order: i32, z: f64) -> f64 {
    if z.is_infinite() {
        return 0.0;
    }
    (-z).exp() * if order == 1 { z + 1.0 } else { z * z + 2.0 * z + 2.0 }
}
