//! Beta law on a range: F = I(z; a, b), the regularised incomplete beta function, z in [0, 1].

use super::real::Real;
use super::special::beta_tails;
use super::{Family, Kind, Scale};

pub struct Beta;

impl Family for Beta {
    const NAME: &'static str = "beta";
    const SHAPES: &'static [&'static str] = &["a", "b"];
    const FREE: &'static [(&'static str, Scale)] = &[("a", Scale::Log), ("b", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        beta_tails(shapes[0], shapes[1], z, T::constant(1.0) - z)
    }
}
