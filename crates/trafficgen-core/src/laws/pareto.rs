//! Pareto law: F = 1 - z^-b for z >= 1.

use super::real::Real;
use super::{Family, Kind, Scale};

pub struct Pareto;

impl Family for Pareto {
    const NAME: &'static str = "pareto";
    const SHAPES: &'static [&'static str] = &["b"];
    const FREE: &'static [(&'static str, Scale)] = &[("b", Scale::Log)];
    const KIND: Kind = Kind::Continuous { low: 1.0 };

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        let log_sf = -(shapes[0] * z.ln());
        (-log_sf.exp_m1(), log_sf.exp())
    }
}
