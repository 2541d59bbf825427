//! Geometric law of whole numbers from 1: P(K > k) = (1 - p)^k.

use super::real::Real;
use super::{Family, Kind, Scale};

pub struct Geometric;

impl Family for Geometric {
    const NAME: &'static str = "geom";
    const SHAPES: &'static [&'static str] = &["p"];
    const FREE: &'static [(&'static str, Scale)] = &[("p", Scale::Logit)];
    const KIND: Kind = Kind::Whole { first: 1.0 };

    fn is_valid(shapes: &[f64]) -> bool {
        shapes[0] > 0.0 && shapes[0] <= 1.0
    }

    fn tails<T: Real>(shapes: &[T], k: T) -> (T, T) {
        let log_sf = k * (-shapes[0]).ln_1p();
        (-log_sf.exp_m1(), log_sf.exp())
    }
}
