//! Poisson law of whole numbers from 0: F(k) = Q(k + 1, mu), an upper incomplete gamma function.

use super::real::Real;
use super::special::gamma_tails;
use super::{Family, Kind, Scale};

pub struct Poisson;

impl Family for Poisson {
    const NAME: &'static str = "poisson";
    const SHAPES: &'static [&'static str] = &["mu"];
    const FREE: &'static [(&'static str, Scale)] = &[("mu", Scale::Log)];
    const KIND: Kind = Kind::Whole { first: 0.0 };

    fn tails<T: Real>(shapes: &[T], k: T) -> (T, T) {
        let (above, below) = gamma_tails(k.plus(1.0), shapes[0]);
        (below, above)
    }
}
