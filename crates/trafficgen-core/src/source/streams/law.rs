//! Laws as standards write them: a family of `scipy.stats`, and what becomes of draws beyond ends.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution, Exp1, Gamma, StandardNormal};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Draws beyond the ends are repeated so often; then the end counts.
const MOST_DRAWS: usize = 10_000;

/// A family in its standard form, by the names of `scipy.stats`.
#[derive(Clone, Copy, Debug)]
enum Family {
    Constant,
    Norm,
    Lognorm(f64),
    Expon,
    Pareto(f64),
    WeibullMin(f64),
    GumbelR,
    Logistic,
    Laplace,
    Uniform,
    Gamma(Gamma<f64>),
    Beta(Beta<f64>),
    Geom(f64),
}

impl Family {
    fn draw(self, rng: &mut ChaCha8Rng) -> f64 {
        let exponential: f64 = match self {
            Self::Constant => return 0.0,
            Self::Norm => return StandardNormal.sample(rng),
            Self::Lognorm(s) => {
                let normal: f64 = StandardNormal.sample(rng);
                return (s * normal).exp();
            }
            Self::Uniform => return rng.random(),
            Self::Logistic => {
                // Not 0, whose logarithm is infinite.
                let u: f64 = 1.0 - rng.random::<f64>();
                return (u / (1.0 - u).max(f64::EPSILON)).ln();
            }
            Self::Gamma(law) => return law.sample(rng),
            Self::Beta(law) => return law.sample(rng),
            _ => Exp1.sample(rng),
        };
        match self {
            Self::Pareto(b) => (exponential / b).exp(),
            Self::WeibullMin(c) => exponential.powf(1.0 / c),
            Self::GumbelR => -exponential.ln(),
            Self::Laplace if rng.random() => -exponential,
            Self::Geom(p) => 1.0 + (exponential / -(-p).ln_1p()).floor(),
            _ => exponential,
        }
    }
}

/// What becomes of a draw beyond an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Beyond {
    /// It is drawn again.
    Resample,
    /// The end takes its place.
    Clip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Whole {
    Floor,
    Nearest,
}

/// A law of one quantity; a plain number is a constant.
#[derive(Clone, Debug)]
pub struct Law {
    /// With their weights, which add up to 1.
    parts: Vec<(f64, Part)>,
    low: f64,
    high: f64,
    beyond: Option<Beyond>,
    whole: Option<Whole>,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    family: Family,
    loc: f64,
    scale: f64,
}

impl Law {
    pub fn constant(value: f64) -> Self {
        let part = Part { family: Family::Constant, loc: value, scale: 1.0 };
        Self {
            parts: vec![(1.0, part)],
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            beyond: None,
            whole: None,
        }
    }

    /// Whether values below 0 have no end.
    pub fn has_endless_negatives(&self) -> bool {
        let signed = |family| {
            matches!(family, Family::Norm | Family::GumbelR | Family::Logistic | Family::Laplace)
        };
        !self.low.is_finite() && self.parts.iter().any(|(_, part)| signed(part.family))
    }

    /// Whether values are usually no larger than a limit.
    pub fn is_within(&self, limit: f64) -> bool {
        let usual = |part: &Part| match part.family {
            Family::Constant => part.loc,
            _ => part.loc + part.scale,
        };
        self.high <= limit || self.parts.iter().all(|(_, part)| usual(part) <= limit)
    }

    /// How far below 0 values may be.
    pub fn depth(&self) -> f64 {
        let least = |part: &Part| if self.low.is_finite() { self.low } else { part.loc };
        self.parts.iter().map(|(_, part)| -least(part)).fold(0.0, f64::max)
    }

    pub fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
        let mut value = self.draw_once(rng);
        if self.beyond == Some(Beyond::Resample) {
            for _ in 0..MOST_DRAWS {
                if (self.low..=self.high).contains(&value) {
                    break;
                }
                value = self.draw_once(rng);
            }
        }
        value.clamp(self.low, self.high)
    }

    fn draw_once(&self, rng: &mut ChaCha8Rng) -> f64 {
        let mut left: f64 = if self.parts.len() > 1 { rng.random() } else { 0.0 };
        let chosen = self.parts.iter().find(|(weight, _)| {
            left -= weight;
            left < 0.0
        });
        let part = chosen.unwrap_or(&self.parts[self.parts.len() - 1]).1;
        let value = part.loc + part.scale * part.family.draw(rng);
        match self.whole {
            None => value,
            Some(Whole::Floor) => value.floor(),
            Some(Whole::Nearest) => value.round(),
        }
    }

    fn read(value: &Value) -> Result<Self, String> {
        if let Some(number) = value.as_f64() {
            return Ok(Self::constant(number));
        }
        let mut keys = value.as_object().cloned().ok_or("a law is a number or a table")?;
        let mut law = Self::constant(0.0);
        law.low = take(&mut keys, "low")?.unwrap_or(law.low);
        law.high = take(&mut keys, "high")?.unwrap_or(law.high);
        law.beyond = choice(&mut keys, "beyond")?;
        law.whole = choice(&mut keys, "whole")?;
        if (law.low.is_finite() || law.high.is_finite()) && law.beyond.is_none() {
            return Err("a law with ends says what is beyond them: resample or clip".into());
        }
        if law.low > law.high {
            return Err(format!("low {} of a law is above high {}", law.low, law.high));
        }
        law.parts = match keys.remove("mixture") {
            None => vec![(1.0, read_part(&mut keys)?)],
            Some(Value::Array(parts)) => {
                parts.iter().map(read_weighted).collect::<Result<Vec<_>, _>>()?
            }
            Some(_) => return Err("a mixture is a list of laws with a weight each".into()),
        };
        let total: f64 = law.parts.iter().map(|(weight, _)| weight).sum();
        if total.is_nan() || total <= 0.0 {
            return Err("the weights of a mixture must be above 0".into());
        }
        law.parts.iter_mut().for_each(|(weight, _)| *weight /= total);
        refuse_others(&keys)?;
        Ok(law)
    }
}

impl<'de> Deserialize<'de> for Law {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(&Value::deserialize(from)?).map_err(D::Error::custom)
    }
}

fn read_weighted(value: &Value) -> Result<(f64, Part), String> {
    let mut keys = value.as_object().cloned().ok_or("a part of a mixture is a table")?;
    let weight = take(&mut keys, "weight")?.ok_or("a part of a mixture has a weight")?;
    let part = read_part(&mut keys)?;
    refuse_others(&keys)?;
    Ok((weight, part))
}

fn read_part(keys: &mut Map<String, Value>) -> Result<Part, String> {
    let named = keys.remove("family");
    let name = named.as_ref().and_then(Value::as_str).ok_or("a law has a family")?.to_owned();
    let mut shape = |key: &str| match take(keys, key)? {
        Some(value) if value > 0.0 => Ok(value),
        Some(value) => Err(format!("{key} of {name} must be above 0, not {value}")),
        None => Err(format!("{name} has a parameter {key}")),
    };
    let family = match name.as_str() {
        "norm" => Family::Norm,
        "lognorm" => Family::Lognorm(shape("s")?),
        "expon" => Family::Expon,
        "pareto" => Family::Pareto(shape("b")?),
        "weibull_min" => Family::WeibullMin(shape("c")?),
        "gumbel_r" => Family::GumbelR,
        "logistic" => Family::Logistic,
        "laplace" => Family::Laplace,
        "uniform" => Family::Uniform,
        "gamma" => Family::Gamma(Gamma::new(shape("a")?, 1.0).map_err(|error| error.to_string())?),
        "beta" => {
            let (a, b) = (shape("a")?, shape("b")?);
            Family::Beta(Beta::new(a, b).map_err(|error| error.to_string())?)
        }
        "geom" => Family::Geom(shape("p")?.min(1.0)),
        _ => return Err(format!("{name} is no family of laws")),
    };
    let loc = take(keys, "loc")?.unwrap_or(0.0);
    let scale = take(keys, "scale")?.unwrap_or(1.0);
    if scale < 0.0 {
        return Err(format!("scale of {name} must not be below 0, not {scale}"));
    }
    Ok(Part { family, loc, scale })
}

fn take(keys: &mut Map<String, Value>, key: &str) -> Result<Option<f64>, String> {
    match keys.remove(key) {
        None => Ok(None),
        Some(value) => match value.as_f64() {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{key} of a law must be a number, not {value}")),
        },
    }
}

fn choice<T: serde::de::DeserializeOwned>(
    keys: &mut Map<String, Value>,
    key: &str,
) -> Result<Option<T>, String> {
    let found = keys.remove(key).map(serde_json::from_value);
    found.transpose().map_err(|error| error.to_string())
}

fn refuse_others(keys: &Map<String, Value>) -> Result<(), String> {
    match keys.keys().next() {
        None => Ok(()),
        Some(key) => Err(format!("a law has no {key}")),
    }
}
