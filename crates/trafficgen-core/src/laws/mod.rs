//! Families of laws: distribution functions, their scores, likelihoods of grouped samples.
//!
//! A family is one file with its names (those of `scipy.stats`), its free parameters and its
//! distribution function. Scores follow from the function by automatic differentiation ([`real`]);
//! [`law`] adds mixtures and bounds, [`likelihood`] the fit to a grouped sample.

use std::sync::{PoisonError, RwLock};

use self::real::{Dual, Real};

mod beta;
mod expon;
mod fisk;
mod gamma;
mod genpareto;
mod geom;
mod gumbel_r;
mod law;
mod likelihood;
mod logistic;
mod lognorm;
mod nbinom;
mod norm;
mod pareto;
mod poisson;
pub mod real;
mod sample_distance;
pub mod special;
#[cfg(test)]
mod tests;
mod truncpareto;
mod weibull_min;
mod zipf;

pub use self::law::{Bounds, Law, LawError};
pub use self::likelihood::{mix_normals, Edges, GroupedSample, Maximum};
pub use self::sample_distance::sample_distance;

/// Every family; its name here is all that a new file needs.
static FAMILIES: &[&dyn AnyFamily] = &[
    &expon::Exponential,
    &lognorm::Lognormal,
    &gamma::Gamma,
    &weibull_min::Weibull,
    &pareto::Pareto,
    &genpareto::GeneralisedPareto,
    &truncpareto::TruncatedPareto,
    &fisk::LogLogistic,
    &norm::Normal,
    &logistic::Logistic,
    &gumbel_r::LargestExtremeValue,
    &beta::Beta,
    &geom::Geometric,
    &nbinom::NegativeBinomial,
    &zipf::Zeta,
    &poisson::Poisson,
];

/// Mixtures of any number of components, and the family of these.
static MIXTURES: &[(&str, &str)] = &[("hyperexpon", "expon"), ("lognorm_mixture", "lognorm")];

/// Families from elsewhere, such as Python.
static ADDED: RwLock<Vec<&'static dyn AnyFamily>> = RwLock::new(Vec::new());

/// Adds a family, or replaces one that was added, for as long as the process lives.
pub fn add_family(family: Box<dyn AnyFamily>) {
    ADDED.write().unwrap_or_else(PoisonError::into_inner).push(Box::leak(family));
}

fn find_family(name: &str) -> Option<&'static dyn AnyFamily> {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    let known = FAMILIES.iter().chain(added.iter().rev());
    known.copied().find(|family| family.name() == name)
}

/// The core's own families, in the order in which lists show them.
pub fn families() -> &'static [&'static dyn AnyFamily] {
    FAMILIES
}

/// How a parameter becomes a number without bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Log,
    Identity,
    Logit,
    LogAbove1,
    /// Counted from where it is, in units of the scale parameter.
    Shift,
}

impl Scale {
    pub fn name(self) -> &'static str {
        match self {
            Scale::Log => "log",
            Scale::Identity => "identity",
            Scale::Logit => "logit",
            Scale::LogAbove1 => "log_above_1",
            Scale::Shift => "shift",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Scale::Log, Scale::Identity, Scale::Logit, Scale::LogAbove1, Scale::Shift];
        all.into_iter().find(|scale| scale.name() == name)
    }

    /// Moves a parameter by a step of its number without bounds.
    fn move_by(self, value: f64, step: f64, unit: f64) -> f64 {
        match self {
            Scale::Log => (value.ln() + step).clamp(-700.0, 700.0).exp(),
            Scale::Identity => value + step,
            Scale::Logit => {
                let number = value.ln() - (-value.min(1.0 - 1e-12)).ln_1p() + step;
                1.0 / (1.0 + (-number.clamp(-40.0, 40.0)).exp())
            }
            Scale::LogAbove1 => 1.0 + ((value - 1.0).ln() + step).clamp(-40.0, 40.0).exp(),
            Scale::Shift => value + unit * step,
        }
    }

    /// Derivative of a parameter by its number without bounds.
    fn slope(self, value: f64, unit: f64) -> f64 {
        match self {
            Scale::Log => value,
            Scale::Identity => 1.0,
            Scale::Logit => value * (1.0 - value),
            Scale::LogAbove1 => value - 1.0,
            Scale::Shift => unit,
        }
    }
}

/// What a family describes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `loc + scale * Z`, with Z at least `low`.
    Continuous { low: f64 },
    /// `loc + K`, with whole K from `first` on.
    Whole { first: f64 },
}

impl Kind {
    pub const fn from_zero() -> Self {
        Kind::Continuous { low: 0.0 }
    }
}

/// One family. Its parameters are the shapes, `loc`, and `scale` if it is continuous.
pub trait Family: Send + Sync {
    /// Name in `scipy.stats`.
    const NAME: &'static str;
    const SHAPES: &'static [&'static str];
    /// Parameters that are estimated.
    const FREE: &'static [(&'static str, Scale)];
    const KIND: Kind;

    /// Whether shapes are within their range; by default they are positive.
    fn is_valid(shapes: &[f64]) -> bool {
        shapes.iter().all(|shape| *shape > 0.0)
    }

    /// Returns P(Z <= z) and P(Z > z) for z above the lower end.
    fn tails<T: Real>(shapes: &[T], z: T) -> (T, T) {
        (Self::tail(shapes, z, false), Self::tail(shapes, z, true))
    }

    /// Returns one of [`Family::tails`]; a family defines the one or the other.
    fn tail<T: Real>(shapes: &[T], z: T, upper: bool) -> T {
        let (below, above) = Self::tails(shapes, z);
        if upper {
            above
        } else {
            below
        }
    }
}

/// A [`Family`] whose type is not known.
pub trait AnyFamily: Send + Sync {
    fn name(&self) -> &'static str;
    fn shapes(&self) -> &'static [&'static str];
    fn free(&self) -> &'static [(&'static str, Scale)];
    fn kind(&self) -> Kind;
    /// Whether shapes, `loc` and `scale` are within their ranges.
    fn is_valid(&self, params: &[f64]) -> bool;
    /// P(X > x) if `upper`, else P(X <= x), with parameters in the family's order.
    fn tail(&self, params: &[f64], x: f64, upper: bool) -> f64;
    /// [`AnyFamily::tail`] at several points.
    fn tails(&self, params: &[f64], points: &[f64], upper: bool) -> Vec<f64>;
    /// The same, and their derivatives by the free numbers, row by row.
    fn tails_with_slopes(
        &self,
        params: &[f64],
        unit: f64,
        points: &[f64],
        upper: bool,
    ) -> (Vec<f64>, Vec<f64>);

    /// Of each free number the parameter that it moves, and by how much.
    fn directions(&self, params: &[f64], unit: f64) -> Vec<(usize, f64)> {
        let names = self.parameters();
        let place = |name| names.iter().position(|known| *known == name).unwrap_or(0);
        let free = self.free().iter().map(|(name, scale)| (place(*name), *scale));
        free.map(|(at, scale)| (at, scale.slope(params[at], unit))).collect()
    }

    /// Names of the parameters, in order.
    fn parameters(&self) -> Vec<&'static str> {
        let scale: &[&str] = match self.kind() {
            Kind::Continuous { .. } => &["loc", "scale"],
            Kind::Whole { .. } => &["loc"],
        };
        [self.shapes(), scale].concat()
    }
}

impl<F: Family> AnyFamily for F {
    fn name(&self) -> &'static str {
        F::NAME
    }
    fn shapes(&self) -> &'static [&'static str] {
        F::SHAPES
    }
    fn free(&self) -> &'static [(&'static str, Scale)] {
        F::FREE
    }
    fn kind(&self) -> Kind {
        F::KIND
    }
    fn is_valid(&self, params: &[f64]) -> bool {
        let (shapes, place) = params.split_at(F::SHAPES.len());
        let in_place = match F::KIND {
            Kind::Continuous { .. } => place[1] > 0.0,
            Kind::Whole { .. } => place[0].fract() == 0.0,
        };
        params.iter().all(|number| number.is_finite()) && in_place && F::is_valid(shapes)
    }
    fn tail(&self, params: &[f64], x: f64, upper: bool) -> f64 {
        whole_tail::<F, f64>(params, x, upper)
    }
    fn tails(&self, params: &[f64], points: &[f64], upper: bool) -> Vec<f64> {
        points.iter().map(|x| whole_tail::<F, f64>(params, *x, upper)).collect()
    }
    fn tails_with_slopes(
        &self,
        params: &[f64],
        unit: f64,
        points: &[f64],
        upper: bool,
    ) -> (Vec<f64>, Vec<f64>) {
        let mut duals: Vec<Dual> = params.iter().map(|value| Dual::constant(*value)).collect();
        for (number, (at, slope)) in self.directions(params, unit).into_iter().enumerate() {
            duals[at].slopes[number] = slope;
        }
        let width = F::FREE.len();
        let mut tails = Vec::with_capacity(points.len());
        let mut slopes = Vec::with_capacity(points.len() * width);
        for x in points {
            let tail = whole_tail::<F, Dual>(&duals, *x, upper);
            tails.push(tail.value);
            slopes.extend_from_slice(&tail.slopes[..width]);
        }
        (tails, slopes)
    }
}

fn whole_tail<F: Family, T: Real>(params: &[T], x: f64, upper: bool) -> T {
    let (shapes, place) = params.split_at(F::SHAPES.len());
    let at = T::constant(x) - place[0];
    let (z, is_below) = match F::KIND {
        Kind::Continuous { low } => {
            let z = at / place[1];
            (z, z.value() <= low)
        }
        Kind::Whole { first } => {
            let whole = T::constant(at.value().floor());
            (whole, whole.value() < first)
        }
    };
    if is_below || x == f64::INFINITY {
        return T::constant(if is_below == upper { 1.0 } else { 0.0 });
    }
    F::tail(shapes, z, upper)
}
