//! Families of laws: distribution functions, their scores, likelihoods of grouped samples.
//!
//! A family is one file with its names (those of `scipy.stats`), its free parameters and its
//! distribution function, and with its quantiles and moments where they have a closed form; others
//! are searched for and integrated ([`numeric`]). Scores follow from the distribution function by
//! automatic differentiation ([`real`]); [`law`] adds mixtures and bounds, [`likelihood`] the fit
//! to a grouped sample.

use std::sync::{PoisonError, RwLock};

use self::real::{Dual, Real};

mod beta;
mod dependence;
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
mod numeric;
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

pub use self::dependence::{block_sum_variance, lag_one_mean};
pub use self::law::{Bounds, Law, LawError};
pub use self::likelihood::{mix_normals, Edges, GroupedSample, Maximum};
pub use self::sample_distance::sample_distance;

/// Every family; its line here and the one above are all that a new file needs.
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

/// Mixtures by name, and the family of their components.
pub fn mixtures() -> &'static [(&'static str, &'static str)] {
    MIXTURES
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

/// Where a parameter may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    Real,
    Positive,
    Probability,
    Above1,
    Whole,
}

impl Range {
    fn contains(self, value: f64) -> bool {
        value.is_finite()
            && match self {
                Range::Real => true,
                Range::Positive => value > 0.0,
                Range::Probability => value > 0.0 && value <= 1.0,
                Range::Above1 => value > 1.0,
                Range::Whole => value.fract() == 0.0,
            }
    }

    /// What a parameter must be.
    pub fn text(self) -> &'static str {
        match self {
            Range::Real => "finite",
            Range::Positive => "positive and finite",
            Range::Probability => "above 0 and at most 1",
            Range::Above1 => "above 1 and finite",
            Range::Whole => "a whole number",
        }
    }
}

const LOC_AND_SCALE: &[(&str, Range)] = &[("loc", Range::Real), ("scale", Range::Positive)];
const WHOLE_LOC: &[(&str, Range)] = &[("loc", Range::Whole)];

/// What a family describes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `loc + scale * Z`, with Z at least `low`.
    Continuous { low: f64 },
    /// `loc + K`, with whole K from `first` on.
    Whole { first: f64 },
}

impl Kind {
    /// Smallest possible Z or K.
    pub fn low(self) -> f64 {
        match self {
            Kind::Continuous { low } => low,
            Kind::Whole { first } => first,
        }
    }

    pub const fn from_zero() -> Self {
        Kind::Continuous { low: 0.0 }
    }
}

/// One family. Its parameters are the shapes, `loc`, and `scale` if it is continuous.
///
/// Its functions are those of the standard form: Z of a continuous family, K of whole numbers.
pub trait Family: Send + Sync {
    /// Name in `scipy.stats`.
    const NAME: &'static str;
    const SHAPES: &'static [(&'static str, Range)];
    /// Parameters that are estimated.
    const FREE: &'static [(&'static str, Scale)];
    const KIND: Kind;

    /// Largest possible Z.
    fn high(_shapes: &[f64]) -> f64 {
        f64::INFINITY
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

    /// Returns the z that is exceeded with a probability in (0, 1) if `upper`, else its quantile,
    /// of a continuous family that has a closed form; it is searched for where there is none.
    fn quantile(_shapes: &[f64], _p: f64, _upper: bool) -> Option<f64> {
        None
    }

    /// Returns E[Z^order; low < Z <= high] for an order of 1 or 2 and ends within those of Z, where
    /// it has a closed form; else it is integrated. Of whole numbers `low` is below the first.
    fn partial_moment(_shapes: &[f64], _order: i32, _low: f64, _high: f64) -> Option<f64> {
        None
    }
}

/// What is wrong with a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    pub name: &'static str,
    pub needs: &'static str,
    pub value: f64,
}

/// A [`Family`] whose type is not known. Parameters are in the family's order.
pub trait AnyFamily: Send + Sync {
    fn name(&self) -> &'static str;
    fn shapes(&self) -> &'static [(&'static str, Range)];
    fn free(&self) -> &'static [(&'static str, Scale)];
    fn kind(&self) -> Kind;
    /// P(X > x) if `upper`, else P(X <= x).
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
    /// Largest possible value.
    fn high(&self, params: &[f64]) -> f64;
    /// Whether quantiles have a closed form.
    fn has_quantile(&self, params: &[f64]) -> bool;
    /// The values that are exceeded with probabilities if `upper`, else their quantiles.
    fn quantiles(&self, params: &[f64], probabilities: &[f64], upper: bool) -> Vec<f64>;
    /// E[X^order; low < X <= high] for an order from 0 to 2; infinite where it diverges.
    fn partial_moment(&self, params: &[f64], order: i32, low: f64, high: f64) -> f64;

    /// The first of the shapes, `loc` and `scale` that is out of its range.
    fn find_fault(&self, params: &[f64]) -> Option<Fault> {
        let mut known = self.shapes().iter().chain(self.place()).zip(params);
        known
            .find(|((_, range), value)| !range.contains(**value))
            .map(|((name, range), value)| Fault { name, needs: range.text(), value: *value })
    }

    /// Of each free number the parameter that it moves, and by how much.
    fn directions(&self, params: &[f64], unit: f64) -> Vec<(usize, f64)> {
        let names = self.parameters();
        let place = |name| names.iter().position(|known| *known == name).unwrap_or(0);
        let free = self.free().iter().map(|(name, scale)| (place(*name), *scale));
        free.map(|(at, scale)| (at, scale.slope(params[at], unit))).collect()
    }

    /// The parameters that are no shapes.
    fn place(&self) -> &'static [(&'static str, Range)] {
        match self.kind() {
            Kind::Continuous { .. } => LOC_AND_SCALE,
            Kind::Whole { .. } => WHOLE_LOC,
        }
    }

    /// Names of the parameters, in order.
    fn parameters(&self) -> Vec<&'static str> {
        self.shapes().iter().chain(self.place()).map(|(name, _)| *name).collect()
    }
}

impl<F: Family> AnyFamily for F {
    fn name(&self) -> &'static str {
        F::NAME
    }
    fn shapes(&self) -> &'static [(&'static str, Range)] {
        F::SHAPES
    }
    fn free(&self) -> &'static [(&'static str, Scale)] {
        F::FREE
    }
    fn kind(&self) -> Kind {
        F::KIND
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
    fn high(&self, params: &[f64]) -> f64 {
        let (shapes, place) = params.split_at(F::SHAPES.len());
        place[0] + place.get(1).unwrap_or(&1.0) * F::high(shapes)
    }
    fn has_quantile(&self, params: &[f64]) -> bool {
        F::quantile(&params[..F::SHAPES.len()], 0.5, false).is_some()
    }
    fn quantiles(&self, params: &[f64], probabilities: &[f64], upper: bool) -> Vec<f64> {
        let (shapes, place) = params.split_at(F::SHAPES.len());
        let scale = place.get(1).copied().unwrap_or(1.0);
        let quantile = |p: &f64| place[0] + scale * standard_quantile::<F>(shapes, *p, upper);
        probabilities.iter().map(quantile).collect()
    }
    fn partial_moment(&self, params: &[f64], order: i32, low: f64, high: f64) -> f64 {
        let (shapes, place) = params.split_at(F::SHAPES.len());
        let (loc, scale) = (place[0], place.get(1).copied().unwrap_or(1.0));
        let moment =
            |order| standard_moment::<F>(shapes, order, (low - loc) / scale, (high - loc) / scale);
        // By the binomial theorem, with the largest power first: it diverges before the others.
        let largest = scale.powi(order) * moment(order);
        if loc == 0.0 || order == 0 || largest.is_infinite() {
            return largest;
        }
        let rest = loc.powi(order) * moment(0);
        largest + rest + if order == 2 { 2.0 * loc * scale * moment(1) } else { 0.0 }
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
    if is_below || z.value() == f64::INFINITY {
        return T::constant(if is_below == upper { 1.0 } else { 0.0 });
    }
    if x.is_nan() {
        return T::constant(x);
    }
    F::tail(shapes, z, upper)
}

/// P(Z > z) if `upper`, else P(Z <= z), for any z; numbers between whole ones are not rounded.
fn standard_tail<F: Family>(shapes: &[f64], z: f64, upper: bool) -> f64 {
    let is_below = match F::KIND {
        Kind::Continuous { low } => z <= low,
        Kind::Whole { first } => z < first,
    };
    if is_below || z >= F::high(shapes) {
        return if is_below == upper { 1.0 } else { 0.0 };
    }
    F::tail(shapes, z, upper)
}

fn standard_quantile<F: Family>(shapes: &[f64], p: f64, upper: bool) -> f64 {
    let tail = |z: f64, upper: bool| standard_tail::<F>(shapes, z, upper);
    let (low, high) = (F::KIND.low(), F::high(shapes));
    if p.is_nan() || p <= 0.0 || p >= 1.0 {
        return match (p.is_nan(), (p <= 0.0) == upper) {
            (true, _) => f64::NAN,
            (false, true) => high,
            (false, false) => low,
        };
    }
    match F::KIND {
        Kind::Continuous { .. } => F::quantile(shapes, p, upper)
            .unwrap_or_else(|| numeric::quantile(tail, (low, high), p, upper))
            .clamp(low, high),
        Kind::Whole { first } => numeric::whole_quantile(tail, first, p, upper),
    }
}

fn standard_moment<F: Family>(shapes: &[f64], order: i32, low: f64, high: f64) -> f64 {
    let tail = |z: f64, upper: bool| standard_tail::<F>(shapes, z, upper);
    let ends = (F::KIND.low(), F::high(shapes));
    if low >= high {
        return 0.0;
    }
    if let Kind::Whole { first } = F::KIND {
        let moment_to = |end: f64| match order {
            _ if end < first => 0.0,
            0 => tail(end, false),
            _ => F::partial_moment(shapes, order, first - 1.0, end)
                .unwrap_or_else(|| numeric::whole_moment(tail, first, order, end)),
        };
        let (start, to_end) = (moment_to(low.floor()), moment_to(high.floor()));
        return if to_end.is_infinite() { to_end } else { to_end - start };
    }
    let (low, high) = (low.clamp(ends.0, ends.1), high.clamp(ends.0, ends.1));
    if low >= high {
        return 0.0;
    }
    if order == 0 {
        let tails = |z| (tail(z, false), tail(z, true));
        return special::between(tails(low), tails(high));
    }
    F::partial_moment(shapes, order, low, high)
        .unwrap_or_else(|| numeric::partial_moment(tail, ends, order, (low, high)))
}
