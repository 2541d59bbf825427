//! Pareto law with an upper end: F = (1 - z^-b) / (1 - c^-b) for z between 1 and c.

use super::real::Real;
use super::{Family, Kind, Scale};

pub struct TruncatedPareto;

impl Family for TruncatedPareto {
    const NAME: &'static str = "truncpareto";
    const SHAPES: &'static [&'static str] = &["b", "c"];
    const FREE: &'static [(&'static str, Scale)] = &[("b", Scale::Log)];
    const KIND: Kind = Kind::Continuous { low: 1.0 };

    fn is_valid(shapes: &[f64]) -> bool {
        shapes[0] > 0.0 && shapes[1] > 1.0
    }

    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        let (b, c) = (shapes[0], shapes[1]);
        if z.value() >= c.value() {
            return (T::constant(1.0), T::constant(0.0));
        }
        let mass = -(-(b * c.ln())).exp_m1();
        let log_sf = -(b * z.ln());
        // Counted from the upper end, so that it keeps its digits there.
        let upper = log_sf.exp() * -(-(b * (c / z).ln())).exp_m1();
        (-log_sf.exp_m1() / mass, upper / mass)
    }
}
