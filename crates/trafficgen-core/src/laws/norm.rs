//! Normal law: F = Phi(z).

use super::real::Real;
use super::{Family, Kind, Scale};

pub struct Normal;

impl Family for Normal {
    const NAME: &'static str = "norm";
    const SHAPES: &'static [&'static str] = &[];
    const FREE: &'static [(&'static str, Scale)] = &[("loc", Scale::Shift), ("scale", Scale::Log)];
    const KIND: Kind = Kind::Continuous { low: f64::NEG_INFINITY };

    fn tail<T: Real>(_: &[T], z: T, upper: bool) -> T {
        let normal = z;
        let normal = if upper { -normal } else { normal };
        normal.normal_cdf()
    }
}
