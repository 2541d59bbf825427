//! Numbers that formulas of laws are written for once: plain ones, and ones with derivatives.
//!
//! A law's distribution function evaluated for [`Dual`] parameters gives its analytic scores
//! (forward-mode automatic differentiation), so no family writes its derivatives down.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::special::digamma;

/// Parameters of a family of the core that are estimated at once, at most.
pub const MOST_FREE: usize = 2;

/// A real number, with derivatives or without.
pub trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    fn constant(value: f64) -> Self;
    fn value(self) -> f64;
    /// Applies a function, given its value and its slope at this number.
    fn map(self, value: f64, slope: impl FnOnce() -> f64) -> Self;
    /// Whether the number, derivatives included, is as good as 0 beside `of`.
    fn is_negligible(self, of: Self) -> bool;

    fn exp(self) -> Self {
        let value = self.value().exp();
        self.map(value, || value)
    }
    fn exp_m1(self) -> Self {
        self.map(self.value().exp_m1(), || self.value().exp())
    }
    fn ln(self) -> Self {
        self.map(self.value().ln(), || 1.0 / self.value())
    }
    fn ln_1p(self) -> Self {
        self.map(self.value().ln_1p(), || 1.0 / (1.0 + self.value()))
    }
    fn sqrt(self) -> Self {
        let value = self.value().sqrt();
        self.map(value, || 0.5 / value)
    }
    fn ln_gamma(self) -> Self {
        self.map(libm::lgamma(self.value()), || digamma(self.value()))
    }
    /// The normal distribution function.
    fn normal_cdf(self) -> Self {
        let z = self.value();
        let value = 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
        self.map(value, || (-0.5 * z * z).exp() * 0.398_942_280_401_432_7)
    }
    /// 1 / (1 + exp(-x)).
    fn logistic(self) -> Self {
        let value = 1.0 / (1.0 + (-self.value()).exp());
        self.map(value, || value / (1.0 + self.value().exp()))
    }
    fn plus(self, other: f64) -> Self {
        self + Self::constant(other)
    }
    fn times(self, factor: f64) -> Self {
        self * Self::constant(factor)
    }
}

impl Real for f64 {
    fn constant(value: f64) -> Self {
        value
    }
    fn value(self) -> f64 {
        self
    }
    fn map(self, value: f64, _slope: impl FnOnce() -> f64) -> Self {
        value
    }
    fn is_negligible(self, of: Self) -> bool {
        self.abs() <= 1e-17 * of.abs()
    }
}

/// A number with its derivatives by the free parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual {
    pub value: f64,
    pub slopes: [f64; MOST_FREE],
}

/// A product that is 0 where a factor is: a tail that has vanished no longer has a slope.
fn product(one: f64, other: f64) -> f64 {
    if one == 0.0 || other == 0.0 {
        0.0
    } else {
        one * other
    }
}

impl Dual {
    fn combine(self, other: Self, value: f64, by_self: f64, by_other: f64) -> Self {
        let slopes = std::array::from_fn(|at| {
            product(by_self, self.slopes[at]) + product(by_other, other.slopes[at])
        });
        Dual { value, slopes }
    }
}

impl Add for Dual {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.combine(other, self.value + other.value, 1.0, 1.0)
    }
}

impl Sub for Dual {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.combine(other, self.value - other.value, 1.0, -1.0)
    }
}

impl Mul for Dual {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        self.combine(other, self.value * other.value, other.value, self.value)
    }
}

impl Div for Dual {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let ratio = self.value / other.value;
        self.combine(other, ratio, 1.0 / other.value, -ratio / other.value)
    }
}

impl Neg for Dual {
    type Output = Self;
    fn neg(self) -> Self {
        Dual { value: -self.value, slopes: self.slopes.map(|slope| -slope) }
    }
}

impl Real for Dual {
    fn constant(value: f64) -> Self {
        Dual { value, slopes: [0.0; MOST_FREE] }
    }
    fn value(self) -> f64 {
        self.value
    }
    fn map(self, value: f64, slope: impl FnOnce() -> f64) -> Self {
        if self.slopes == [0.0; MOST_FREE] {
            return Dual::constant(value);
        }
        let slope = slope();
        Dual { value, slopes: self.slopes.map(|own| product(slope, own)) }
    }
    fn is_negligible(self, of: Self) -> bool {
        let own = self.slopes.iter().zip(of.slopes);
        self.value.is_negligible(of.value)
            && own
                .into_iter()
                .all(|(slope, of_slope)| slope.abs() <= 1e-16 * (of.value.abs() + of_slope.abs()))
    }
}
