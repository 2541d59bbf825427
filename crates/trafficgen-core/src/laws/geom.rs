//! Geometric law of whole numbers from 1: P(K > k) = (1 - p)^k.

use super::nbinom::moments_to;
use super::real::Real;
use super::{Family, Kind, Range, Scale};

pub struct Geometric;

impl Family for Geometric {
    const NAME: &'static str = "geom";
    const SHAPES: &'static [(&'static str, Range)] = &[("p", Range::Probability)];
    const FREE: &'static [(&'static str, Scale)] = &[("p", Scale::Logit)];
    const KIND: Kind = Kind::Whole { first: 1.0 };

    fn tails<T: Real>(shapes: &[T], k: T) -> (T, T) {
        let log_sf = k * (-shapes[0]).ln_1p();
        (-log_sf.exp_m1(), log_sf.exp())
    }

    fn partial_moment(shapes: &[f64], order: i32, _: f64, high: f64) -> Option<f64> {
        // From those of K - 1, a negative binomial number.
        let p = shapes[0];
        let share = if high.is_infinite() { 1.0 } else { Self::tails(&[p], high).0 };
        let (first, second) = moments_to(high - 1.0, 1.0, p);
        Some(if order == 1 { first + share } else { second + 2.0 * first + share })
    }
}
