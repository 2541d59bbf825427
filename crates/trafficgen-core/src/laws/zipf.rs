//! Zeta law of whole numbers from 1, the discrete Pareto law: P(K = k) = k^-a / zeta(a).

use super::real::Real;
use super::special::zeta;
use super::{Family, Kind, Scale};

pub struct Zeta;

impl Family for Zeta {
    const NAME: &'static str = "zipf";
    const SHAPES: &'static [&'static str] = &["a"];
    const FREE: &'static [(&'static str, Scale)] = &[("a", Scale::LogAbove1)];
    const KIND: Kind = Kind::Whole { first: 1.0 };

    fn is_valid(shapes: &[f64]) -> bool {
        shapes[0] > 1.0
    }

    fn tails<T: Real>(shapes: &[T], k: T) -> (T, T) {
        let upper = zeta(shapes[0], k.value() + 1.0) / zeta(shapes[0], 1.0);
        (T::constant(1.0) - upper, upper)
    }
}
