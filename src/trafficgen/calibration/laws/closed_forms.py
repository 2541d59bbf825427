"""Maximum likelihood in closed form for values that no clock has rounded much, with exact intervals
where there are.

Parameters are those of scipy.stats, ``loc`` 0.
Estimators and exact intervals of the exponential, log-normal and Pareto laws, and the Fisher
information of the gamma
and Weibull laws: Johnson, Kotz and Balakrishnan, "Continuous univariate distributions", volume 1
(1994).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.distributions import Distribution, distribution_of
from trafficgen.models import Family
from trafficgen.units import FloatArray

#: Fewer positive values than this are not fitted.
FEWEST_VALUES = 8
_NEWTON_STEPS = 60
_NEWTON_TOLERANCE = 1e-10
_TAIL = 0.025
#: Standard normal quantile of the upper end of a 95% interval.
_Z = float(special.ndtri(1 - _TAIL))
#: A spread of the logarithms below this is one value with rounding noise, which no density fits.
_SMALLEST_LOG_SPREAD = 1e-9


@dataclass(frozen=True)
class FamilyFit:
    """A family fitted to a sample.

    Attributes:
        family: scipy.stats name.
        params: scipy.stats parameters.
        low: Lower ends of the 95% intervals of the estimated parameters.
        high: Upper ends of the 95% intervals.
        log_likelihood: At the estimate.
        observations: Size of the sample.
    """

    family: Family
    params: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]
    log_likelihood: float
    observations: int

    @property
    def distribution(self) -> Distribution:
        """The fitted law."""
        return distribution_of(self.family, self.params)


@dataclass(frozen=True)
class Moments:
    """What most estimators need of a sample of positive values.

    Attributes:
        values: The sample, shape (n,).
        log_values: Its natural logarithm, shape (n,).
        mean: Its mean.
        mean_log: Mean of the logarithms.
    """

    values: FloatArray
    log_values: FloatArray
    mean: float
    mean_log: float

    @property
    def n(self) -> int:
        """Size of the sample."""
        return int(self.values.size)


@np.errstate(
    over="ignore", invalid="ignore", divide="ignore"
)  # what is not finite is refused at the end
def fit_family(family: Family, values: FloatArray) -> FamilyFit | None:
    """Fit one family by maximum likelihood; None where the sample is too small or all of one value.

    Args:
        family: scipy.stats name, one of :data:`ESTIMATORS`.
        values: Sample of positive values, shape (n,).

    Raises:
        ValueError: If a value is not positive.
    """
    if values.size < FEWEST_VALUES:
        return None
    if not np.all(values > 0):
        raise ValueError("only positive values can be fitted")
    log_values = np.log(values)
    sample = Moments(values, log_values, float(values.mean()), float(log_values.mean()))
    if float(log_values.std()) < _SMALLEST_LOG_SPREAD:
        return None
    fit = ESTIMATORS[family](sample)
    numbers = [*fit.params.values(), *fit.low.values(), *fit.high.values(), fit.log_likelihood]
    return fit if np.all(np.isfinite(numbers)) and fit.params["scale"] > 0 else None


def _exponential(sample: Moments) -> FamilyFit:
    n, scale = sample.n, sample.mean
    return FamilyFit(
        family="expon",
        params={"loc": 0.0, "scale": scale},
        low={"scale": 2 * n * scale / float(special.chdtri(2 * n, _TAIL))},
        high={"scale": 2 * n * scale / float(special.chdtri(2 * n, 1 - _TAIL))},
        log_likelihood=-n * (float(np.log(scale)) + 1),
        observations=n,
    )


def _lognormal(sample: Moments) -> FamilyFit:
    n, mean_log = sample.n, sample.mean_log
    sd = float(sample.log_values.std())
    half_width = float(-special.stdtrit(n - 1, _TAIL)) * sd / np.sqrt(n - 1)
    return FamilyFit(
        family="lognorm",
        params={"s": sd, "loc": 0.0, "scale": float(np.exp(mean_log))},
        low={
            "s": sd * float(np.sqrt(n / special.chdtri(n - 1, _TAIL))),
            "scale": float(np.exp(mean_log - half_width)),
        },
        high={
            "s": sd * float(np.sqrt(n / special.chdtri(n - 1, 1 - _TAIL))),
            "scale": float(np.exp(mean_log + half_width)),
        },
        log_likelihood=-n * (mean_log + float(np.log(sd)) + 0.5 * float(np.log(2 * np.pi)) + 0.5),
        observations=n,
    )


def _gamma(sample: Moments) -> FamilyFit:
    """Newton's method on log a for log a - digamma(a) = log mean - mean log (Minka's starting
    point, 2002).
    """
    n = sample.n
    s = max(float(np.log(sample.mean)) - sample.mean_log, 1e-12)
    shape = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
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
    log_likelihood = n * (
        (shape - 1) * sample.mean_log
        - shape
        - float(special.gammaln(shape))
        - shape * float(np.log(scale))
    )
    return _with_wald_intervals(
        "gamma", {"a": shape, "scale": scale}, log_sd, log_likelihood=log_likelihood, observations=n
    )


def _weibull(sample: Moments) -> FamilyFit:
    """Newton's method on the shape, values scaled by the largest so that powers cannot overflow."""
    n = sample.n
    log_largest = float(sample.log_values.max())
    logs = sample.log_values - log_largest
    mean_log = sample.mean_log - log_largest
    shape = 1.2825 / float(
        logs.std()
    )  # of the extreme-value law of the logarithms, by its standard deviation
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
    log_likelihood = n * (
        float(np.log(shape)) - shape * log_scale + (shape - 1) * sample.mean_log - 1
    )
    params = {"c": shape, "scale": float(np.exp(log_scale))}
    return _with_wald_intervals(
        "weibull_min", params, log_sd, log_likelihood=log_likelihood, observations=n
    )


def _pareto(sample: Moments) -> FamilyFit:
    """Scale is the smallest value; 2 n b / b_hat is chi-squared with 2 n - 2 degrees of freedom."""
    n = sample.n
    smallest = float(sample.values.min())
    excess = sample.mean_log - float(np.log(smallest))
    b = 1 / excess
    return FamilyFit(
        family="pareto",
        params={"b": b, "loc": 0.0, "scale": smallest},
        low={
            "b": b * float(special.chdtri(2 * n - 2, 1 - _TAIL)) / (2 * n),
            "scale": smallest * float((2 * _TAIL) ** (1 / (n * b))),
        },
        high={"b": b * float(special.chdtri(2 * n - 2, _TAIL)) / (2 * n), "scale": smallest},
        log_likelihood=n
        * (float(np.log(b)) + b * float(np.log(smallest)) - (b + 1) * sample.mean_log),
        observations=n,
    )


def _with_wald_intervals(
    family: Family,
    params: dict[str, float],
    log_sd: dict[str, float],
    *,
    log_likelihood: float,
    observations: int,
) -> FamilyFit:
    """Return a fit with intervals from the Fisher information of the logarithms of the
    parameters.
    """
    return FamilyFit(
        family=family,
        params={"loc": 0.0} | {name: float(value) for name, value in params.items()},
        low={name: float(value * np.exp(-_Z * log_sd[name])) for name, value in params.items()},
        high={name: float(value * np.exp(_Z * log_sd[name])) for name, value in params.items()},
        log_likelihood=log_likelihood,
        observations=observations,
    )


#: scipy.stats name -> estimator.
ESTIMATORS: dict[Family, Callable[[Moments], FamilyFit]] = {
    "expon": _exponential,
    "lognorm": _lognormal,
    "gamma": _gamma,
    "weibull_min": _weibull,
    "pareto": _pareto,
}
