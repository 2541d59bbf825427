//! Gamma law: F = P(a, z), the regularised lower incomplete gamma function.

use super::real::Real;
use super::special::gamma_tails;
use super::{Family, Kind, Scale};

pub struct Gamma;

impl Family for Gamma {
    const NAME: &'static str = "gamma";
    const SHAPES: &'static [&'static str] = &["a"];
    const FREE: &'static [(&'static str, Scale)] = &[("a", Scale::Log), ("scale", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        gamma_tails(shapes[0], z)
    }
}
