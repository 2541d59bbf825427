//! Log-logistic law: F = 1 / (1 + z^-c).

use super::real::Real;
use super::special::{beta_tails, between, logit};
use super::{Family, Kind, Range, Scale};

pub struct LogLogistic;

impl Family for LogLogistic {
    const NAME: &'static str = "fisk";
    const SHAPES: &'static [(&'static str, Range)] = &[("c", Range::Positive)];
    const FREE: &'static [(&'static str, Scale)] = &[("c", Scale::Log), ("scale", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        let logit = shapes[0] * z.ln();
        (logit.logistic(), (-logit).logistic())
    }

    fn quantile(shapes: &[f64], p: f64, upper: bool) -> Option<f64> {
        Some((if upper { -logit(p) } else { logit(p) } / shapes[0]).exp())
    }

    fn partial_moment(shapes: &[f64], order: i32, low: f64, high: f64) -> Option<f64> {
        let power = f64::from(order) / shapes[0];
        if power >= 1.0 {
            return high.is_infinite().then_some(f64::INFINITY);
        }
        // The integral of (u / (1 - u))^power over u is an incomplete beta function.
        let whole = libm::tgamma(1.0 + power) * libm::tgamma(1.0 - power);
        let tails = |z: f64| {
            let (below, above) = if z.is_infinite() { (1.0, 0.0) } else { Self::tails(shapes, z) };
            beta_tails(1.0 + power, 1.0 - power, below, above)
        };
        Some(whole * between(tails(low), tails(high)))
    }
}
