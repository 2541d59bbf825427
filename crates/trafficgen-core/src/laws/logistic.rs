//! Logistic law: F = 1 / (1 + exp(-z)).

use super::real::Real;
use super::{Family, Kind, Scale};

pub struct Logistic;

impl Family for Logistic {
    const NAME: &'static str = "logistic";
    const SHAPES: &'static [&'static str] = &[];
    const FREE: &'static [(&'static str, Scale)] = &[("loc", Scale::Shift), ("scale", Scale::Log)];
    const KIND: Kind = Kind::Continuous { low: f64::NEG_INFINITY };

    fn tail<T: Real>(_: &[T], z: T, upper: bool) -> T {
        if upper {
            (-z).logistic()
        } else {
            z.logistic()
        }
    }
}
