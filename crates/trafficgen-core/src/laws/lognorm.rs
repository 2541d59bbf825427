//! Log-normal law: F = Phi(ln(z) / s).

use super::real::Real;
use super::special::{between, normal_quantile};
use super::{Family, Kind, Range, Scale};

pub struct Lognormal;

impl Family for Lognormal {
    const NAME: &'static str = "lognorm";
    const SHAPES: &'static [(&'static str, Range)] = &[("s", Range::Positive)];
    const FREE: &'static [(&'static str, Scale)] = &[("s", Scale::Log), ("scale", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tail<T: Real>(shapes: &[T], z: T, upper: bool) -> T {
        let normal = z.ln() / shapes[0];
        let normal = if upper { -normal } else { normal };
        normal.normal_cdf()
    }

    fn quantile(shapes: &[f64], p: f64, upper: bool) -> Option<f64> {
        let normal = normal_quantile(p);
        Some((shapes[0] * if upper { -normal } else { normal }).exp())
    }

    fn partial_moment(shapes: &[f64], order: i32, low: f64, high: f64) -> Option<f64> {
        let shift = f64::from(order) * shapes[0];
        let tails = |z: f64| {
            let normal = z.ln() / shapes[0] - shift;
            (normal.normal_cdf(), (-normal).normal_cdf())
        };
        let share = between(tails(low), tails(high));
        Some(if share == 0.0 { 0.0 } else { (0.5 * shift * shift).exp() * share })
    }
}
