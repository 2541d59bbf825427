//! Log-logistic law: F = 1 / (1 + z^-c).

use super::real::Real;
use super::{Family, Kind, Scale};

pub struct LogLogistic;

impl Family for LogLogistic {
    const NAME: &'static str = "fisk";
    const SHAPES: &'static [&'static str] = &["c"];
    const FREE: &'static [(&'static str, Scale)] = &[("c", Scale::Log), ("scale", Scale::Log)];
    const KIND: Kind = Kind::from_zero();

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        let logit = shapes[0] * z.ln();
        (logit.logistic(), (-logit).logistic())
    }
}
