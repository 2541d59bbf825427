//! Negative binomial law of whole numbers from 0: F(k) = I(p; n, k + 1).

use super::real::Real;
use super::special::beta_tails;
use super::{Family, Kind, Range, Scale};

pub struct NegativeBinomial;

impl Family for NegativeBinomial {
    const NAME: &'static str = "nbinom";
    const SHAPES: &'static [(&'static str, Range)] =
        &[("n", Range::Positive), ("p", Range::Probability)];
    const FREE: &'static [(&'static str, Scale)] = &[("n", Scale::Log), ("p", Scale::Logit)];
    const KIND: Kind = Kind::Whole { first: 0.0 };

    fn tails<T: Real>(shapes: &[T], k: T) -> (T, T) {
        beta_tails(shapes[0], k.plus(1.0), shapes[1], T::constant(1.0) - shapes[1])
    }

    fn partial_moment(shapes: &[f64], order: i32, _: f64, high: f64) -> Option<f64> {
        let (first, second) = moments_to(high, shapes[0], shapes[1]);
        Some(if order == 1 { first } else { second })
    }
}

/// E[K; K <= k] and E[K^2; K <= k] for k >= 0.
///
/// With P(k; n) the probabilities, k P(k; n) is n (1 - p) / p P(k - 1; n + 1): no sum over values,
/// of which a bound may leave billions.
pub fn moments_to(k: f64, n: f64, p: f64) -> (f64, f64) {
    let odds = (1.0 - p) / p;
    let share = |n: f64, k: f64| match k {
        _ if k < 0.0 => 0.0,
        f64::INFINITY => 1.0,
        _ => beta_tails(n, k + 1.0, p, 1.0 - p).0,
    };
    let first = n * odds * share(n + 1.0, k - 1.0);
    (first, first + n * (n + 1.0) * odds * odds * share(n + 2.0, k - 2.0))
}
