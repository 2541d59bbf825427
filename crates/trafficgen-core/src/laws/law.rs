//! A law that is fitted: a family or a mixture with its parameters, seen between two bounds.

use thiserror::Error;

use super::numeric::find_root;
use super::{find_family, AnyFamily, Fault, MIXTURES};

/// Smallest and largest value that can be seen; infinite where there is no bound.
pub type Bounds = (f64, f64);

/// Why there is no such law.
#[derive(Debug, Error, PartialEq)]
pub enum LawError {
    #[error("unknown family {0:?}")]
    UnknownFamily(String),
    #[error("{family} has no parameter {name}")]
    UnknownParameter { family: String, name: String },
    #[error("{name} of {family} must be {needs}, got {value:?}")]
    OutOfRange { family: String, name: &'static str, needs: &'static str, value: f64 },
    #[error("the weights of {0} must be positive and add up to 1")]
    WrongWeights(String),
    #[error("{0} has no probability between the bounds")]
    NothingBetween(String),
}

#[derive(Clone)]
struct Part {
    family: &'static dyn AnyFamily,
    weight: f64,
    /// In the family's order.
    params: Vec<f64>,
}

/// How bounds change a law: probabilities count from `origin` on, out of `mass`.
#[derive(Clone)]
struct Restriction {
    bounds: Bounds,
    /// Whether they count from above, so that digits are kept far in the tail.
    upper: bool,
    origin: f64,
    mass: f64,
}

/// A family or a mixture with its parameters, between bounds.
#[derive(Clone)]
pub struct Law {
    name: String,
    parts: Vec<Part>,
    restriction: Option<Restriction>,
}

impl Law {
    /// Builds a law from the names and values of its parameters; those of mixtures are numbered.
    pub fn new(name: &str, params: &[(String, f64)], bounds: Bounds) -> Result<Self, LawError> {
        let mixture = MIXTURES.iter().find(|(mixture, _)| *mixture == name);
        let component = mixture.map_or(name, |(_, component)| component);
        let family =
            find_family(component).ok_or_else(|| LawError::UnknownFamily(name.to_owned()))?;
        let names = family.parameters();
        let defaults = names.iter().map(|name| f64::from(u8::from(*name == "scale")));
        let blank = Part { family, weight: 1.0, params: defaults.collect() };
        let mut parts = vec![blank.clone()];
        for (key, value) in params {
            let (stem, number) = match mixture {
                None => (key.as_str(), 1),
                Some(_) => split_number(key),
            };
            let unknown =
                || LawError::UnknownParameter { family: name.to_owned(), name: key.clone() };
            if number == 0 || number > params.len() {
                return Err(unknown());
            }
            if parts.len() < number {
                parts.resize(number, blank.clone());
            }
            let part = &mut parts[number - 1];
            if mixture.is_some() && stem == "p" {
                part.weight = *value;
            } else {
                let at = names.iter().position(|known| *known == stem).ok_or_else(unknown)?;
                part.params[at] = *value;
            }
        }
        Law { name: name.to_owned(), parts, restriction: None }.restrict(bounds)
    }

    /// Checks the parameters and applies bounds.
    fn restrict(mut self, bounds: Bounds) -> Result<Self, LawError> {
        let fault = self.parts.iter().find_map(|part| part.family.find_fault(&part.params));
        if let Some(Fault { name, needs, value }) = fault {
            return Err(LawError::OutOfRange { family: self.name, name, needs, value });
        }
        let total: f64 = self.parts.iter().map(|part| part.weight).sum();
        let positive = self.parts.iter().all(|part| part.weight > 0.0);
        if !positive || (total - 1.0).abs() > 1e-4 {
            return Err(LawError::WrongWeights(self.name));
        }
        for part in &mut self.parts {
            part.weight /= total;
        }
        self.restriction = None;
        if bounds == (f64::NEG_INFINITY, f64::INFINITY) {
            return Ok(self);
        }
        let upper = self.tail(bounds.0, false) > 0.5;
        let (start, end) = if upper { (bounds.1, bounds.0) } else { bounds };
        let origin = self.tail(start, upper);
        let mass = self.tail(end, upper) - origin;
        if mass.is_nan() || mass <= 0.0 {
            return Err(LawError::NothingBetween(self.name));
        }
        self.restriction = Some(Restriction { bounds, upper, origin, mass });
        Ok(self)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn bounds(&self) -> Bounds {
        let endless = (f64::NEG_INFINITY, f64::INFINITY);
        self.restriction.as_ref().map_or(endless, |restriction| restriction.bounds)
    }

    /// How many numbers are estimated: weights of mixtures count one less.
    pub fn free(&self) -> usize {
        let each = self.parts.iter().map(|part| part.family.free().len() + 1);
        each.sum::<usize>() - 1
    }

    /// Value of a parameter by its name.
    pub fn param(&self, key: &str) -> Option<f64> {
        let mixture = self.parts.len() > 1 || self.name != self.parts[0].family.name();
        let (stem, number) = if mixture { split_number(key) } else { (key, 1) };
        let part = self.parts.get(number.checked_sub(1)?)?;
        if mixture && stem == "p" {
            return Some(part.weight);
        }
        let at = part.family.parameters().iter().position(|name| *name == stem)?;
        part.params.get(at).copied()
    }

    /// The unit in which shifts are counted: the scale of the first part.
    pub fn unit(&self) -> f64 {
        self.param("scale").unwrap_or(1.0)
    }

    /// Moves the law by a step of its numbers without bounds: of each part its weight (but for the
    /// last part's), then its free parameters.
    pub fn move_by(&self, step: &[f64], unit: f64) -> Result<Self, LawError> {
        let mut moved = self.clone();
        let mut steps = step.iter();
        let mut next = || steps.next().copied().unwrap_or(0.0);
        let last = self.parts.len() - 1;
        let reference = self.parts[last].weight;
        for (at, part) in moved.parts.iter_mut().enumerate() {
            let odds = if at == last { 0.0 } else { (part.weight / reference).ln() + next() };
            part.weight = odds.clamp(-40.0, 40.0).exp();
            let names = part.family.parameters();
            for (name, scale) in part.family.free() {
                if let Some(at) = names.iter().position(|known| known == name) {
                    part.params[at] = scale.move_by(part.params[at], next(), unit);
                }
            }
        }
        let total: f64 = moved.parts.iter().map(|part| part.weight).sum();
        for part in &mut moved.parts {
            part.weight /= total;
        }
        moved.restrict(self.bounds())
    }

    /// P(X > x) if `upper`, else P(X <= x).
    pub fn tail(&self, x: f64, upper: bool) -> f64 {
        if self.restriction.is_some() {
            return self.tails(&[x], upper)[0];
        }
        let each = self.parts.iter();
        let tails = each.map(|part| part.weight * part.family.tail(&part.params, x, upper));
        tails.sum::<f64>().min(1.0)
    }

    /// [`Law::tail`] at several points.
    pub fn tails(&self, points: &[f64], upper: bool) -> Vec<f64> {
        let Some(within) = &self.restriction else {
            return self.whole_tails(points, upper);
        };
        let mut tails = self.whole_tails(points, within.upper);
        for (tail, x) in tails.iter_mut().zip(points) {
            let share = ((*tail - within.origin) / within.mass).clamp(0.0, 1.0);
            let turned = within.upper != upper;
            *tail = match (*x < within.bounds.0, turned) {
                (true, _) => f64::from(u8::from(upper)),
                (false, true) => 1.0 - share,
                (false, false) => share,
            };
        }
        tails
    }

    /// Smallest and largest value of the law without bounds.
    pub fn support(&self) -> Bounds {
        let ends = self.parts.iter().map(|Part { family, params, .. }| {
            let names = family.parameters();
            let at = |name| names.iter().position(|known| *known == name).map(|at| params[at]);
            let (loc, scale) = (at("loc").unwrap_or(0.0), at("scale").unwrap_or(1.0));
            (loc + scale * family.kind().low(), family.high(params))
        });
        let endless = (f64::INFINITY, f64::NEG_INFINITY);
        ends.fold(endless, |all, own| (all.0.min(own.0), all.1.max(own.1)))
    }

    /// Whether quantiles are quick to compute.
    pub fn has_quantile(&self) -> bool {
        self.parts.len() == 1 && self.parts[0].family.has_quantile(&self.parts[0].params)
    }

    /// E[X^order; low < X <= high] of the law without bounds; infinite where it diverges.
    pub fn partial_moment(&self, order: i32, low: f64, high: f64) -> f64 {
        let moment =
            |part: &Part| part.weight * part.family.partial_moment(&part.params, order, low, high);
        self.parts.iter().map(moment).sum()
    }

    /// Quantiles of the law without bounds, or the values exceeded with probabilities if `upper`;
    /// a mixture has positive values only.
    pub fn quantiles(&self, probabilities: &[f64], upper: bool) -> Vec<f64> {
        if let [part] = self.parts.as_slice() {
            return part.family.quantiles(&part.params, probabilities, upper);
        }
        probabilities.iter().map(|p| self.quantile(*p, upper)).collect()
    }

    fn quantile(&self, p: f64, upper: bool) -> f64 {
        if p.is_nan() || p <= 0.0 || p >= 1.0 {
            return match (p.is_nan(), (p <= 0.0) == upper) {
                (true, _) => f64::NAN,
                (false, true) => f64::INFINITY,
                (false, false) => 0.0,
            };
        }
        // In logarithms, in which laws of many scales are smooth.
        let ascending = |x: f64| {
            let tail = self.tail(x.exp(), upper);
            if upper {
                p - tail
            } else {
                tail - p
            }
        };
        let (mut low, mut high) = (self.unit().ln(), self.unit().ln());
        let mut width = 1.0;
        while ascending(high) < 0.0 && high < f64::MAX.ln() {
            (low, high, width) = (high, high + width, 2.0 * width);
        }
        width = 1.0;
        while ascending(low) > 0.0 && low > f64::MIN_POSITIVE.ln() {
            (low, high, width) = (low - width, low, 2.0 * width);
        }
        find_root(ascending, low, high).exp()
    }

    /// Tails of the law without bounds.
    fn whole_tails(&self, points: &[f64], upper: bool) -> Vec<f64> {
        let mut total = vec![0.0; points.len()];
        for part in &self.parts {
            let own = part.family.tails(&part.params, points, upper);
            total.iter_mut().zip(own).for_each(|(sum, tail)| *sum += part.weight * tail);
        }
        if self.restriction.is_none() {
            total.iter_mut().for_each(|tail| *tail = tail.min(1.0));
        }
        total
    }

    /// Tails at several points, and their derivatives by the free numbers, row by row.
    pub fn tails_with_slopes(
        &self,
        points: &[f64],
        upper: bool,
        unit: f64,
    ) -> (Vec<f64>, Vec<f64>) {
        let Some(within) = &self.restriction else {
            return self.whole_slopes(unit, points, upper);
        };
        let free = self.free();
        let (low, high) = within.bounds;
        let ends = if within.upper { [high, low] } else { [low, high] };
        let (_, at_ends) = self.whole_slopes(unit, &ends, within.upper);
        let (origin, end) = at_ends.split_at(free);
        let (mut tails, mut slopes) = self.whole_slopes(unit, points, within.upper);
        let sign = if within.upper == upper { 1.0 } else { -1.0 };
        for ((tail, x), row) in tails.iter_mut().zip(points).zip(slopes.chunks_exact_mut(free)) {
            let share = (*tail - within.origin) / within.mass;
            let inside = *x >= low && share > 0.0 && share < 1.0;
            for ((slope, origin), end) in row.iter_mut().zip(origin).zip(end) {
                let own = (*slope - origin - share * (end - origin)) / within.mass;
                *slope = if inside { sign * own } else { 0.0 };
            }
            let share = share.clamp(0.0, 1.0);
            *tail = match (*x < low, within.upper == upper) {
                (true, _) => f64::from(u8::from(upper)),
                (false, true) => share,
                (false, false) => 1.0 - share,
            };
        }
        (tails, slopes)
    }

    /// [`Law::tails_with_slopes`] of the law without bounds.
    fn whole_slopes(&self, unit: f64, points: &[f64], upper: bool) -> (Vec<f64>, Vec<f64>) {
        let free = self.free();
        let last = self.parts.len() - 1;
        let (mut tails, mut slopes) = (vec![0.0; points.len()], vec![0.0; points.len() * free]);
        let mut start = 0;
        for (number, part) in self.parts.iter().enumerate() {
            let (own, own_slopes) =
                part.family.tails_with_slopes(&part.params, unit, points, upper);
            let width = part.family.free().len();
            let weighted = usize::from(number < last);
            let own = own.iter().zip(own_slopes.chunks_exact(width));
            let whole = tails.iter_mut().zip(slopes.chunks_exact_mut(free));
            for ((tail, own_row), (total, row)) in own.zip(whole) {
                *total += part.weight * tail;
                if number < last {
                    row[start] = part.weight * tail;
                }
                let row = row[start + weighted..].iter_mut();
                row.zip(own_row).for_each(|(to, slope)| *to = part.weight * slope);
            }
            start += weighted + width;
        }
        // A weight grows at the cost of all.
        for (total, row) in tails.iter_mut().zip(slopes.chunks_exact_mut(free)) {
            let mut at = 0;
            for part in &self.parts[..last] {
                row[at] -= part.weight * *total;
                at += 1 + part.family.free().len();
            }
            *total = if self.restriction.is_none() { total.min(1.0) } else { *total };
        }
        (tails, slopes)
    }
}

/// Splits the name of a mixture's parameter, such as `scale2`; 0 where there is no number.
fn split_number(key: &str) -> (&str, usize) {
    let stem = key.trim_end_matches(|letter: char| letter.is_ascii_digit());
    (stem, key[stem.len()..].parse().unwrap_or(0))
}
