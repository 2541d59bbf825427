//! Log-normal law: F = Phi(ln(z) / s).

use super::real::Real;
use super::{Family, Kind, Scale};

pub struct Lognormal;

impl Family for Lognormal {
    const NAME: &'static str = "lognorm";
    const SHAPES: &'static [&'static str] = &["s"];
    const FREE: &'static [(&'static str, Scale)] = &[("s", Scale::Log), ("scale", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tail<T: Real>(shapes: &[T], z: T, upper: bool) -> T {
        let normal = z.ln() / shapes[0];
        let normal = if upper { -normal } else { normal };
        normal.normal_cdf()
    }
}
