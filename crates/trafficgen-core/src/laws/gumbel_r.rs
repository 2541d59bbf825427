//! Law of the largest extreme value (Gumbel): F = exp(-exp(-z)).

use super::real::Real;
use super::{Family, Kind, Scale};

pub struct LargestExtremeValue;

impl Family for LargestExtremeValue {
    const NAME: &'static str = "gumbel_r";
    const SHAPES: &'static [&'static str] = &[];
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
}
