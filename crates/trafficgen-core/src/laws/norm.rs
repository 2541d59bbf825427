//! Normal law: F = Phi(z).

use std::f64::consts::PI;

use super::real::Real;
use super::special::{between, normal_quantile};
use super::{Family, Kind, Range, Scale};

pub struct Normal;

impl Family for Normal {
    const NAME: &'static str = "norm";
    const SHAPES: &'static [(&'static str, Range)] = &[];
    const FREE: &'static [(&'static str, Scale)] = &[("loc", Scale::Shift), ("scale", Scale::Log)];
    const KIND: Kind = Kind::Continuous { low: f64::NEG_INFINITY };

    fn tail<T: Real>(_: &[T], z: T, upper: bool) -> T {
        let normal = z;
        let normal = if upper { -normal } else { normal };
        normal.normal_cdf()
    }

    fn quantile(_: &[f64], p: f64, upper: bool) -> Option<f64> {
        let normal = normal_quantile(p);
        Some(if upper { -normal } else { normal })
    }

    fn partial_moment(_: &[f64], order: i32, low: f64, high: f64) -> Option<f64> {
        let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        if order == 1 {
            return Some(density(low) - density(high));
        }
        let times_density = |z: f64| if z.is_infinite() { 0.0 } else { z * density(z) };
        let tails = |z: f64| (z.normal_cdf(), (-z).normal_cdf());
        let share = between(tails(low), tails(high));
        Some(share + times_density(low) - times_density(high))
    }
}
