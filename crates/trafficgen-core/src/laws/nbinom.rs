//! Negative binomial law of whole numbers from 0: F(k) = I(p; n, k + 1).

use super::real::Real;
use super::special::beta_tails;
use super::{Family, Kind, Scale};

pub struct NegativeBinomial;

impl Family for NegativeBinomial {
    const NAME: &'static str = "nbinom";
    const SHAPES: &'static [&'static str] = &["n", "p"];
    const FREE: &'static [(&'static str, Scale)] = &[("n", Scale::Log), ("p", Scale::Logit)];
    const KIND: Kind = Kind::Whole { first: 0.0 };

    fn is_valid(shapes: &[f64]) -> bool {
        shapes[0] > 0.0 && shapes[1] > 0.0 && shapes[1] <= 1.0
    }

    fn tails<T: Real>(shapes: &[T], k: T) -> (T, T) {
        beta_tails(shapes[0], k.plus(1.0), shapes[1], T::constant(1.0) - shapes[1])
    }
}
