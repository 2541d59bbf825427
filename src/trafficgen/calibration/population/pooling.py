"""Pool the estimates of one quantity: how sessions differ, apart from their own errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from trafficgen.errors import TooFewObservationsError
from trafficgen.units import FloatArray

#: Probability of the intervals.
_LEVEL = 0.95
#: Upper end of the search for the variance between sessions, in units of that of their estimates.
_WIDEST = 100.0
#: A smaller spread is rounding.
_NO_SPREAD = 1e-9


@dataclass(frozen=True)
class Pooled:
    """Random effects of one quantity on the scale on which it was pooled.

    Attributes:
        mean: Mean across sessions.
        mean_low: Lower end of its 95% interval; None for one session.
        mean_high: Upper end.
        deviation: Standard deviation between sessions, without their own errors.
        deviation_low: Lower end of its 95% interval; None for one session.
        deviation_high: Upper end.
        error_share: Share of the estimates' variance that is their own error (1 - I squared of
            Higgins and Thompson).
        effects: The sessions' values shrunk so that they spread as sessions do, shape (k,).
    """

    mean: float
    mean_low: float | None
    mean_high: float | None
    deviation: float
    deviation_low: float | None
    deviation_high: float | None
    error_share: float
    effects: FloatArray


def pool_random_effects(estimates: FloatArray, *, standard_errors: FloatArray) -> Pooled:
    """Pool estimates of one quantity, each with its standard error, by normal random effects.

    The variance between sessions is estimated by restricted maximum likelihood (Viechtbauer, "Bias
    and efficiency of meta-analytic variance estimators in the random-effects model", 2005), which
    unlike the moments of DerSimonian and Laird (1986) also takes sessions whose error is zero. Its
    interval is by the Q profile (Viechtbauer 2007), that of the mean by Hartung and Knapp (2001),
    never narrower than by the variance alone (Roever et al. 2015).

    Each session shrinks towards the mean by its own error as in Efron and Morris, "Data analysis
    using Stein's estimator and its generalizations" (1975), with the constraint of Louis (1984) and
    Ghosh (1992): by the root of the usual factor, so that together they spread as sessions do.

    Args:
        estimates: Estimates on a scale on which sessions are about normal, shape (k,).
        standard_errors: Their standard errors, >= 0, shape (k,).

    Raises:
        TooFewObservationsError: If there is no session.
    """
    count = estimates.size
    if count == 0:
        raise TooFewObservationsError(what="sessions to be pooled", required=1, available=0)
    if count == 1:
        return Pooled(float(estimates[0]), None, None, 0.0, None, None, 0.0, estimates.copy())
    error = np.asarray(standard_errors, dtype=np.float64) ** 2
    spread = float(estimates.var(ddof=1))
    if spread <= _NO_SPREAD**2:
        mean = float(estimates.mean())
        return Pooled(mean, mean, mean, 0.0, 0.0, 0.0, 0.0, estimates.copy())
    # Sessions without errors of their own would have infinite weights if nothing is between them.
    error = np.maximum(error, (_NO_SPREAD * np.sqrt(spread)) ** 2)
    between = _restricted_maximum(estimates, error, spread)
    mean, half = _mean(estimates, error, between)
    low, high = _profile(estimates, error, spread)
    share = np.sqrt(between / (between + error))
    return Pooled(
        mean=mean,
        mean_low=mean - half,
        mean_high=mean + half,
        deviation=float(np.sqrt(between)),
        deviation_low=float(np.sqrt(low)),
        deviation_high=float(np.sqrt(high)),
        error_share=_error_share(error, between),
        effects=mean + share * (estimates - mean),
    )


def _restricted_maximum(estimates: FloatArray, error: FloatArray, spread: float) -> float:
    """Return the variance between sessions at the maximum of the restricted likelihood."""

    def loss(between: float) -> float:
        variance = between + error
        weight = 1 / variance
        residual = estimates - np.dot(weight, estimates) / weight.sum()
        return float(
            0.5 * (np.log(variance).sum() + np.log(weight.sum()) + np.dot(weight, residual**2))
        )

    # The likelihood may have several maxima: a grid first, then the best of its valleys.
    grid = np.concatenate(([0.0], spread * np.logspace(-6, np.log10(_WIDEST), 81)))
    best = int(np.argmin([loss(between) for between in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    found = optimize.minimize_scalar(
        loss, bounds=(low, high), method="bounded", options={"xatol": 1e-8 * spread}
    )
    return float(found.x) if found.fun < loss(grid[best]) else float(grid[best])


def _mean(estimates: FloatArray, error: FloatArray, between: float) -> tuple[float, float]:
    """Return the mean and the half width of its interval."""
    weight = 1 / (between + error)
    mean = float(np.dot(weight, estimates) / weight.sum())
    degrees = estimates.size - 1
    excess = float(np.dot(weight, (estimates - mean) ** 2)) / degrees
    variance = max(excess, 1.0) / float(weight.sum())
    return mean, float(special.stdtrit(degrees, (1 + _LEVEL) / 2)) * float(np.sqrt(variance))


def _profile(estimates: FloatArray, error: FloatArray, spread: float) -> tuple[float, float]:
    """Return the variances between sessions at the upper and lower quantile of Cochran's Q."""

    def heterogeneity(between: float) -> float:
        weight = 1 / (between + error)
        mean = np.dot(weight, estimates) / weight.sum()
        return float(np.dot(weight, (estimates - mean) ** 2))

    ends = []
    for probability in ((1 + _LEVEL) / 2, (1 - _LEVEL) / 2):
        wanted = 2 * float(special.gammaincinv((estimates.size - 1) / 2, probability))
        widest = spread
        if heterogeneity(0.0) <= wanted:
            ends.append(0.0)
            continue
        while heterogeneity(widest) > wanted:
            widest *= 2
        found = optimize.brentq(lambda at, goal=wanted: heterogeneity(at) - goal, 0.0, widest)
        ends.append(float(found))
    return ends[0], ends[1]


def _error_share(error: FloatArray, between: float) -> float:
    """Return the typical error's share of the estimates' variance (Higgins and Thompson 2002)."""
    weight = 1 / error
    typical = (error.size - 1) * weight.sum() / (weight.sum() ** 2 - np.dot(weight, weight))
    return float(np.clip(typical / (typical + between), 0.0, 1.0))
