//! Exponential law: F = 1 - exp(-z).

use super::real::Real;
use super::{Family, Kind, Scale};

pub struct Exponential;

impl Family for Exponential {
    const NAME: &'static str = "expon";
    const SHAPES: &'static [&'static str] = &[];
    const FREE: &'static [(&'static str, Scale)] = &[("scale", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tails<T: Real>(_: &[T], z: T) -> (T, T) {
        (-(-z).exp_m1(), (-z).exp())
    }
}
