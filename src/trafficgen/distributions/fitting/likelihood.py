"""Maximum likelihood: of grouped samples by the method of scoring, else in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from trafficgen import _core
from trafficgen.critical_values import NORMAL_95
from trafficgen.distributions import Distribution, distribution_of, truncate
from trafficgen.distributions.fitting.cells import Cells
from trafficgen.distributions.fitting.families import Params, Scale, free_parameters, gamma_shape
from trafficgen.distributions.fitting.ticks import TickCounts, blocks_of
from trafficgen.distributions.law import Family
from trafficgen.imports import special
from trafficgen.units import FloatArray

MOST_ROUNDS = 60

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class FamilyLaw:
    """A family with its parameters; values are seen between bounds (None where it has no bound)."""

    family: str
    params: Params
    bounds: Bounds = (None, None)

    @property
    def distribution(self) -> Distribution:
        """The law within its bounds.

        Raises:
            ValueError: If a parameter is out of range, or nothing lies within the bounds.
        """
        whole = distribution_of(self.family, self.params)
        return truncate(whole, minimum=self.bounds[0], maximum=self.bounds[1])

    @property
    def scales(self) -> dict[str, Scale]:
        """The estimated parameters with their scales, in the order of the family."""
        return free_parameters(self.family, self.params)

    @property
    def interval_scales(self) -> dict[str, Scale]:
        """The estimated parameters with the scales on which each alone has its interval."""
        alone: dict[Scale, Scale] = {"weight": "logit", "shift": "identity"}
        return {name: alone.get(scale, scale) for name, scale in self.scales.items()}

    def move_by(self, step: FloatArray) -> Params:
        """Return the parameters after a step of the estimated numbers without bounds, shape (p,).

        Raises:
            ValueError: If there is no such law.
        """
        return _core.move_law(self.family, self.params, step)


@dataclass(frozen=True)
class Maximum:
    """Where the likelihood of a family is largest."""

    law: FamilyLaw
    found: _core.Maximum

    @cached_property
    def log_probabilities(self) -> FloatArray:
        """Those of the cells, shape (k,)."""
        return self.found.log_probabilities()

    def value(self, counts: FloatArray) -> float:
        """Return the log-likelihood of counts of the cells, shape (k,)."""
        return float(np.dot(counts, self.log_probabilities))


def maximise(start: FamilyLaw, cells: Cells, *, rounds: int = MOST_ROUNDS) -> Maximum | None:
    """Find the maximum of a family's likelihood near a start; None where no maximum is found.

    Steps are those of scoring with the information estimated from the products of the scores
    (Berndt, Hall, Hall and Hausman 1974), damped until the likelihood grows (Levenberg 1944,
    Marquardt 1963), at most as many as ``rounds``. Parameters that are not estimated stay.
    """
    try:
        found = cells.grouped.maximise(start.family, start.params, start.bounds, rounds)
    except ValueError:
        return None
    if found is None:
        return None
    return Maximum(FamilyLaw(start.family, found.params(), start.bounds), found)


def to_unconstrained(value: float, scale: Scale) -> float:
    """Return a parameter as a number without bounds."""
    if scale == "log":
        return float(np.log(value))
    if scale == "logit":
        return float(np.log(value) - np.log1p(-min(value, 1 - 1e-12)))
    return float(np.log(value - 1)) if scale == "log_above_1" else value


def from_unconstrained(number: float, scale: Scale) -> float:
    """Return a parameter from a number without bounds."""
    if scale == "log":
        return float(np.exp(_clip(number, 700.0)))
    if scale == "logit":
        return float(1 / (1 + np.exp(-_clip(number, 40.0))))
    if scale == "log_above_1":
        return 1 + float(np.exp(_clip(number, 40.0)))
    return number


def _clip(number: float, most: float) -> float:
    return min(max(number, -most), most)  # a tenth of what numpy takes for one number


#: Smaller samples are not fitted: they say too little about a family.
FEWEST_VALUES = 8
#: A smaller spread of the logarithms is one value with rounding noise, which no density fits.
SMALLEST_LOG_SPREAD = 1e-9
_NEWTON_STEPS = 60
_NEWTON_TOLERANCE = 1e-10
_TAIL = 0.025


@dataclass(frozen=True)
class ClosedFit:
    """A family fitted to a sample, with 95% intervals of the estimated parameters."""

    params: Params  #: of scipy.stats
    low: Params
    high: Params
    log_likelihood: float


@dataclass(frozen=True)
class _Sample:
    """Positive values that are looked at block by block, so that no array is as long as they."""

    parts: Callable[[], Iterator[tuple[FloatArray, FloatArray | None]]]  #: values, how often each
    n: int
    mean: float
    mean_log: float
    smallest: float
    largest: float

    def average(self, of: Callable[[FloatArray], FloatArray]) -> float:
        """Average a function of the values over the sample."""
        return sum(_total(of(values), counts) for values, counts in self.parts()) / self.n

    @cached_property
    def sd_log(self) -> float:
        """Standard deviation of the logarithms."""
        return math.sqrt(self.average(lambda values: (np.log(values) - self.mean_log) ** 2))


def _total(values: FloatArray, counts: FloatArray | None) -> float:
    return float(values.sum() if counts is None else counts @ values)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused
def fit_closed_form(family: Family, sample: FloatArray | TickCounts) -> ClosedFit | None:
    """Fit a family of :data:`CLOSED_FORMS` to positive values, shape (n,), by maximum likelihood.

    There is no result where the sample is too small or of one value.

    Raises:
        ValueError: If a value is not positive.
    """
    if sample.size < FEWEST_VALUES:
        return None
    parts: Callable[[], Iterator[tuple[FloatArray, FloatArray | None]]]
    if isinstance(sample, TickCounts):
        parts, smallest, largest = sample.parts, sample.smallest, sample.largest
    else:
        parts = partial(_blocks_without_counts, sample)
        smallest, largest = float(sample.min()), float(sample.max())
    if not smallest > 0:
        raise ValueError("only positive values can be fitted")
    sums = [(_total(x, counts), _total(np.log(x), counts)) for x, counts in parts()]
    mean, mean_log = (math.fsum(one) / sample.size for one in zip(*sums, strict=True))
    found = _Sample(parts, sample.size, mean, mean_log, smallest, largest)
    if found.sd_log < SMALLEST_LOG_SPREAD:
        return None
    fit = CLOSED_FORMS[family](found)
    numbers = [*fit.params.values(), *fit.low.values(), *fit.high.values(), fit.log_likelihood]
    return fit if np.all(np.isfinite(numbers)) and fit.params["scale"] > 0 else None


def _blocks_without_counts(sample: FloatArray) -> Iterator[tuple[FloatArray, None]]:
    return ((values, None) for values in blocks_of(sample))


def _exponential(sample: _Sample) -> ClosedFit:
    n, scale = sample.n, sample.mean
    low, high = (2 * n * scale / float(special.chdtri(2 * n, p)) for p in (_TAIL, 1 - _TAIL))
    log_likelihood = -n * (float(np.log(scale)) + 1)
    return ClosedFit({"loc": 0.0, "scale": scale}, {"scale": low}, {"scale": high}, log_likelihood)


def _lognormal(sample: _Sample) -> ClosedFit:
    n, mean_log = sample.n, sample.mean_log
    sd = sample.sd_log
    half = float(-special.stdtrit(n - 1, _TAIL)) * sd / np.sqrt(n - 1)
    low, high = (sd * float(np.sqrt(n / special.chdtri(n - 1, p))) for p in (_TAIL, 1 - _TAIL))
    density = mean_log + float(np.log(sd)) + 0.5 * float(np.log(2 * np.pi)) + 0.5
    return ClosedFit(
        {"s": sd, "loc": 0.0, "scale": float(np.exp(mean_log))},
        {"s": low, "scale": float(np.exp(mean_log - half))},
        {"s": high, "scale": float(np.exp(mean_log + half))},
        -n * density,
    )


def _trigamma(shape: float) -> float:
    return float(special.zeta(2.0, shape))


def _gamma(sample: _Sample) -> ClosedFit:
    """Solve log a - digamma(a) = log mean - mean log by Newton's method on log a."""
    n = sample.n
    s = max(float(np.log(sample.mean)) - sample.mean_log, 1e-12)
    shape = gamma_shape(s)
    for _ in range(_NEWTON_STEPS):
        slope = 1 / shape - _trigamma(shape)
        step = (float(np.log(shape) - special.psi(shape)) - s) / (shape * slope)
        shape *= float(np.exp(-np.clip(step, -2, 2)))
        if abs(step) < _NEWTON_TOLERANCE:
            break
    scale = sample.mean / shape
    trigamma = _trigamma(shape)
    determinant = n * (shape * trigamma - 1)
    log_sd = {"a": np.sqrt(shape / determinant) / shape, "scale": np.sqrt(trigamma / determinant)}
    density = (shape - 1) * sample.mean_log - shape - float(special.gammaln(shape))
    density -= shape * float(np.log(scale))
    return _with_wald_intervals({"a": shape, "scale": scale}, log_sd, n * density)


def _weibull(sample: _Sample) -> ClosedFit:
    """Find the shape by Newton's method; values are scaled by the largest against overflow."""
    n = sample.n
    log_largest = float(np.log(sample.largest))
    mean_log = sample.mean_log - log_largest
    shape = 1.2825 / sample.sd_log  # of the extreme-value law of the logarithms
    for _ in range(_NEWTON_STEPS):
        _, first, second = _weibull_sums(sample, shape, log_largest)
        step = (first - 1 / shape - mean_log) / (second - first**2 + 1 / shape**2)
        shape = max(shape - step, shape / 4)
        if abs(step) < _NEWTON_TOLERANCE * shape:
            break
    mean_power = _weibull_sums(sample, shape, log_largest)[0] / n
    log_scale = float(np.log(mean_power)) / shape + log_largest
    log_sd = {
        "c": np.sqrt(6 / n) / np.pi,
        "scale": np.sqrt((1 + 6 * (1 - np.euler_gamma) ** 2 / np.pi**2) / n) / shape,
    }
    density = float(np.log(shape)) - shape * log_scale + (shape - 1) * sample.mean_log - 1
    params = {"c": shape, "scale": float(np.exp(log_scale))}
    return _with_wald_intervals(params, log_sd, n * density)


def _weibull_sums(sample: _Sample, shape: float, log_largest: float) -> tuple[float, float, float]:
    """Return the sum of powers, and the means of logarithms and their squares weighted by them."""
    total = first = second = 0.0
    for values, counts in sample.parts():
        logs = np.log(values) - log_largest
        power = np.exp(shape * logs)
        total += _total(power, counts)
        power *= logs
        first += _total(power, counts)
        power *= logs
        second += _total(power, counts)
    return total, first / total, second / total


def _pareto(sample: _Sample) -> ClosedFit:
    """Take the smallest value as scale; 2 n b / b_hat is chi-squared with 2 n - 2 degrees."""
    n = sample.n
    smallest = sample.smallest
    log_smallest = float(np.log(smallest))
    b = 1 / (sample.mean_log - log_smallest)
    low, high = (b * float(special.chdtri(2 * n - 2, p)) / (2 * n) for p in (1 - _TAIL, _TAIL))
    return ClosedFit(
        {"b": b, "loc": 0.0, "scale": smallest},
        {"b": low, "scale": smallest * float((2 * _TAIL) ** (1 / (n * b)))},
        {"b": high, "scale": smallest},
        n * (float(np.log(b)) + b * log_smallest - (b + 1) * sample.mean_log),
    )


def _with_wald_intervals(params: Params, log_sd: Params, log_likelihood: float) -> ClosedFit:
    """Add intervals from the Fisher information of the logarithms of the parameters."""
    low, high = (
        {n: float(value * np.exp(z * log_sd[n])) for n, value in params.items()}
        for z in (-NORMAL_95, NORMAL_95)
    )
    params = {"loc": 0.0} | {name: float(value) for name, value in params.items()}
    return ClosedFit(params, low, high, log_likelihood)


#: scipy.stats name -> estimator.
CLOSED_FORMS: dict[Family, Callable[[_Sample], ClosedFit]] = {
    "expon": _exponential,
    "lognorm": _lognormal,
    "gamma": _gamma,
    "weibull_min": _weibull,
    "pareto": _pareto,
}
