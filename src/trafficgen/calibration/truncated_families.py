"""Maximum likelihood for families cut off at atoms, as packet sizes are at the MTU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import optimize

from trafficgen.calibration.families import FEWEST_VALUES, FamilyFit, fit_family
from trafficgen.distributions import Distribution, distribution_of
from trafficgen.models import Family
from trafficgen.units import FloatArray, IntArray

#: A law of which less than this lies between the bounds is not told by what lies there.
_SMALLEST_MASS = 0.05
_HALF_STEP = 1e-3
_Z = 1.959963984540054
_TINY = 1e-300


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused at the end
def fit_truncated_family(
    family: Family, values: FloatArray, *, minimum: float | None, maximum: float | None, tolerance: float = 1e-5
) -> FamilyFit | None:
    """Fit one family to whole numbers seen only between two bounds; None where they do not tell the law.

    The likelihood of a number k is the probability of [k - 1/2, k + 1/2] given the bounds, so rounding is in it too.
    It is maximised over the logarithms of the parameters by the simplex method of Nelder and Mead (1965), from the
    estimate without bounds; intervals come from the observed information.

    Args:
        family: scipy.stats name; of ``pareto`` the scale stays the smallest value.
        values: Sample, shape (n,); rounded to whole numbers.
        minimum: Lower bound, or None.
        maximum: Upper bound, or None.
        tolerance: Of the logarithms of the parameters.
    """
    start = fit_family(family, values) if values.size >= FEWEST_VALUES else None
    if start is None:
        return None
    free = [name for name in start.low if not (family == "pareto" and name == "scale")]
    number, count = np.unique(np.rint(values).astype(np.int64), return_counts=True)

    def negative_log_likelihood(log_params: FloatArray) -> float:
        params = start.params | dict(zip(free, np.exp(log_params).tolist(), strict=True))
        return -_log_likelihood(family, params, number, count, minimum=minimum, maximum=maximum)

    origin = np.log([start.params[name] for name in free])
    found = optimize.minimize(
        negative_log_likelihood,
        origin,
        method="Nelder-Mead",
        options={"xatol": tolerance, "fatol": tolerance, "maxiter": 400},
    )
    log_sd = _standard_errors(negative_log_likelihood, found.x)
    estimate = dict(zip(free, np.exp(found.x).tolist(), strict=True))
    fit = replace(
        start,
        params=start.params | estimate,
        low=start.low | {name: estimate[name] * float(np.exp(-_Z * sd)) for name, sd in zip(free, log_sd, strict=True)},
        high=start.high
        | {name: estimate[name] * float(np.exp(_Z * sd)) for name, sd in zip(free, log_sd, strict=True)},
        log_likelihood=-float(found.fun),
        minimum=minimum,
        maximum=maximum,
    )
    numbers = [*fit.params.values(), *fit.low.values(), *fit.high.values(), fit.log_likelihood]
    if not np.all(np.isfinite(numbers)):
        return None
    told = _mass(distribution_of(fit.family, fit.params), minimum, maximum) >= _SMALLEST_MASS
    return fit if told else None


def _log_likelihood(
    family: Family,
    params: dict[str, float],
    number: IntArray,
    count: IntArray,
    *,
    minimum: float | None,
    maximum: float | None,
) -> float:
    if not all(np.isfinite(value) and value >= 0 for value in params.values()) or params["scale"] <= 0:
        return -np.inf
    law = distribution_of(family, params)
    probability = np.maximum(law.cdf(number + 0.5) - law.cdf(number - 0.5), _TINY)
    mass = max(_mass(law, minimum, maximum), _TINY)
    return float(np.dot(count, np.log(probability))) - float(count.sum()) * float(np.log(mass))


def _mass(law: Distribution, minimum: float | None, maximum: float | None) -> float:
    above = float(law.sf(maximum)) if maximum is not None else 0.0
    below = float(law.cdf(minimum)) if minimum is not None else 0.0
    return 1.0 - above - below


def _standard_errors(negative_log_likelihood: Callable[[FloatArray], float], at: FloatArray) -> FloatArray:
    """Return standard errors from the inverse of the matrix of second differences; infinite where it is singular."""
    k = at.size
    step = np.eye(k) * _HALF_STEP
    hessian = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            corners = [
                sign * negative_log_likelihood(at + first * step[i] + second * step[j])
                for first, second, sign in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
            ]
            hessian[i, j] = sum(corners) / (4 * _HALF_STEP**2)
    try:
        variance = np.diag(np.linalg.inv(hessian))
    except np.linalg.LinAlgError:
        return np.full(k, np.inf)
    return np.where(variance > 0, np.sqrt(np.abs(variance)), np.inf)
