//! Poisson law of whole numbers from 0: F(k) = Q(k + 1, mu), an upper incomplete gamma function.

use super::real::Real;
use super::special::gamma_tails;
use super::{Family, Kind, Range, Scale};

pub struct Poisson;

impl Family for Poisson {
    const NAME: &'static str = "poisson";
    const SHAPES: &'static [(&'static str, Range)] = &[("mu", Range::Positive)];
    const FREE: &'static [(&'static str, Scale)] = &[("mu", Scale::Log)];
    const KIND: Kind = Kind::Whole { first: 0.0 };

    fn tails<T: Real>(shapes: &[T], k: T) -> (T, T) {
        let (above, below) = gamma_tails(k.plus(1.0), shapes[0]);
        (below, above)
    }

    fn partial_moment(shapes: &[f64], order: i32, _: f64, high: f64) -> Option<f64> {
        // k P(k) is mu P(k - 1).
        let mu = shapes[0];
        let share = |k: f64| match k {
            _ if k < 0.0 => 0.0,
            f64::INFINITY => 1.0,
            _ => Self::tails(&[mu], k).0,
        };
        let first = mu * share(high - 1.0);
        Some(if order == 1 { first } else { first + mu * mu * share(high - 2.0) })
    }
}
