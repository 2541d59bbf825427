"""Maximum likelihood in closed form for values that no clock rounded, with exact intervals.

Parameters are those of scipy.stats, ``loc`` 0. Estimators and exact intervals of the exponential,
log-normal and Pareto laws, and the Fisher information of the gamma and Weibull laws: Johnson, Kotz
and Balakrishnan, "Continuous univariate distributions", volume 1 (1994).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.calibration.laws.families import Params, gamma_shape
from trafficgen.critical_values import NORMAL_95
from trafficgen.models import Family
from trafficgen.units import FloatArray

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
    values: FloatArray
    logs: FloatArray
    n: int
    mean: float
    mean_log: float


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused
def fit_closed_form(family: Family, values: FloatArray) -> ClosedFit | None:
    """Fit a family of :data:`CLOSED_FORMS` to positive values, shape (n,), by maximum likelihood.

    There is no result where the sample is too small or of one value.

    Raises:
        ValueError: If a value is not positive.
    """
    if values.size < FEWEST_VALUES:
        return None
    if not np.all(values > 0):
        raise ValueError("only positive values can be fitted")
    logs = np.log(values)
    if float(logs.std()) < SMALLEST_LOG_SPREAD:
        return None
    mean, mean_log = float(values.mean()), float(logs.mean())
    fit = CLOSED_FORMS[family](_Sample(values, logs, values.size, mean, mean_log))
    numbers = [*fit.params.values(), *fit.low.values(), *fit.high.values(), fit.log_likelihood]
    return fit if np.all(np.isfinite(numbers)) and fit.params["scale"] > 0 else None


def _exponential(sample: _Sample) -> ClosedFit:
    n, scale = sample.n, sample.mean
    low, high = (2 * n * scale / float(special.chdtri(2 * n, p)) for p in (_TAIL, 1 - _TAIL))
    log_likelihood = -n * (float(np.log(scale)) + 1)
    return ClosedFit({"loc": 0.0, "scale": scale}, {"scale": low}, {"scale": high}, log_likelihood)


def _lognormal(sample: _Sample) -> ClosedFit:
    n, mean_log = sample.n, sample.mean_log
    sd = float(sample.logs.std())
    half = float(-special.stdtrit(n - 1, _TAIL)) * sd / np.sqrt(n - 1)
    low, high = (sd * float(np.sqrt(n / special.chdtri(n - 1, p))) for p in (_TAIL, 1 - _TAIL))
    density = mean_log + float(np.log(sd)) + 0.5 * float(np.log(2 * np.pi)) + 0.5
    return ClosedFit(
        {"s": sd, "loc": 0.0, "scale": float(np.exp(mean_log))},
        {"s": low, "scale": float(np.exp(mean_log - half))},
        {"s": high, "scale": float(np.exp(mean_log + half))},
        -n * density,
    )


def _gamma(sample: _Sample) -> ClosedFit:
    """Solve log a - digamma(a) = log mean - mean log by Newton's method on log a."""
    n = sample.n
    s = max(float(np.log(sample.mean)) - sample.mean_log, 1e-12)
    shape = gamma_shape(s)
    for _ in range(_NEWTON_STEPS):
        slope = 1 / shape - float(special.polygamma(1, shape))
        step = (float(np.log(shape) - special.digamma(shape)) - s) / (shape * slope)
        shape *= float(np.exp(-np.clip(step, -2, 2)))
        if abs(step) < _NEWTON_TOLERANCE:
            break
    scale = sample.mean / shape
    trigamma = float(special.polygamma(1, shape))
    determinant = n * (shape * trigamma - 1)
    log_sd = {"a": np.sqrt(shape / determinant) / shape, "scale": np.sqrt(trigamma / determinant)}
    density = (shape - 1) * sample.mean_log - shape - float(special.gammaln(shape))
    density -= shape * float(np.log(scale))
    return _with_wald_intervals({"a": shape, "scale": scale}, log_sd, n * density)


def _weibull(sample: _Sample) -> ClosedFit:
    """Find the shape by Newton's method; values are scaled by the largest against overflow."""
    n = sample.n
    log_largest = float(sample.logs.max())
    logs = sample.logs - log_largest
    mean_log = sample.mean_log - log_largest
    shape = 1.2825 / float(logs.std())  # of the extreme-value law of the logarithms
    for _ in range(_NEWTON_STEPS):
        power = np.exp(shape * logs)
        total = float(power.sum())
        first = float(np.dot(power, logs)) / total
        second = float(np.dot(power, logs * logs)) / total
        step = (first - 1 / shape - mean_log) / (second - first**2 + 1 / shape**2)
        shape = max(shape - step, shape / 4)
        if abs(step) < _NEWTON_TOLERANCE * shape:
            break
    log_scale = float(np.log(np.mean(np.exp(shape * logs)))) / shape + log_largest
    log_sd = {
        "c": np.sqrt(6 / n) / np.pi,
        "scale": np.sqrt((1 + 6 * (1 - np.euler_gamma) ** 2 / np.pi**2) / n) / shape,
    }
    density = float(np.log(shape)) - shape * log_scale + (shape - 1) * sample.mean_log - 1
    params = {"c": shape, "scale": float(np.exp(log_scale))}
    return _with_wald_intervals(params, log_sd, n * density)


def _pareto(sample: _Sample) -> ClosedFit:
    """Take the smallest value as scale; 2 n b / b_hat is chi-squared with 2 n - 2 degrees."""
    n = sample.n
    smallest = float(sample.values.min())
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
