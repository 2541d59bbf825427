"""A response curve from several captures: mixed regression and monotone points."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from trafficgen.models import Estimate, PathCondition, PooledPoint, ResponseCurve
from trafficgen.scipy_special import special
from trafficgen.units import FloatArray, IntArray


class CurveLimits:
    """How many points a curve has, and bounds that keep its regression defined."""

    #: Probability of the intervals.
    level: float = 0.95
    #: More points than this have intervals too wide to show a shape,
    most_points: int = 6
    #: and so have points of fewer intervals.
    fewest_intervals: int = 5
    #: Variances below this are rounding.
    smallest_variance: float = 1e-8
    #: A larger autocorrelation would leave no independent interval.
    largest_autocorrelation: float = 0.95


_LIMITS = CurveLimits()
_METHOD = (
    "log rate against the condition with a random effect of each capture (restricted maximum"
    " likelihood), errors widened for lag-one autocorrelation; points by weighted means with both"
    " errors, made monotone (isotonic regression); 95% intervals"
)


@dataclass(frozen=True)
class Observations:
    """Intervals of all captures in which rate and condition are known.

    Attributes:
        log_rate: Log of the rate an interval later over that without congestion, shape (n,).
        capture: Number of the capture, shape (n,), in order of captures and time.
        increasing: Whether the rate may only grow with the condition; else it may only fall.
    """

    condition: FloatArray
    log_rate: FloatArray
    capture: IntArray
    increasing: bool


@dataclass(frozen=True)
class _Regression:
    """A slope with its error, the quantile for intervals, and both variances of the log rate."""

    slope: float
    slope_error: float
    quantile: float
    between: float
    within: float


def fit_response_curve(observations: Observations, condition: PathCondition) -> ResponseCurve:
    """Fit the curve of the rate against a condition that varies.

    The slope uses differences between captures and within them; a condition that differs between
    captures alone leaves few degrees of freedom (Laird and Ware 1982; Satterthwaite's rule with the
    share of the condition's variance between captures).
    """
    scale = np.log if observations.increasing else np.asarray
    x = np.asarray(scale(observations.condition), dtype=np.float64)
    found = _regress(x, observations.log_rate, observations.capture)
    groups = _ranges(observations.condition)
    points = _points(observations, groups, found)
    ends = [float(x[groups == group].mean()) for group in (0, int(groups.max()))]
    step = (ends[0] - ends[1]) if observations.increasing else (ends[1] - ends[0])
    return ResponseCurve(
        condition=condition,
        points=points,
        end_to_end=_estimate(found.slope * step, found.quantile * found.slope_error * abs(step)),
        capture_log_deviation=float(np.sqrt(found.between)),
        method=_METHOD,
    )


def _regress(x: FloatArray, y: FloatArray, capture: IntArray) -> _Regression:
    """Return the slope of y against x with a random effect of each capture."""
    captures = np.unique(capture).size
    spread = float(x.std())
    standard = (x - x.mean()) / spread
    design = np.column_stack([np.ones(x.size), standard])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    between, scale = 0.0, float(residual @ residual) / max(y.size - 2, 1)
    if captures > 1:
        # Takes a second, and few commands need it.
        from statsmodels.regression.mixed_linear_model import MixedLM  # noqa: PLC0415

        # A variance of zero, between captures or about the line, is a result, not a failure.
        with warnings.catch_warnings(), suppress(np.linalg.LinAlgError):
            warnings.simplefilter("ignore")
            fitted = MixedLM(y, design, groups=capture).fit(reml=True, method=["lbfgs", "powell"])
            between, scale = float(np.asarray(fitted.cov_re)[0, 0]), float(fitted.scale)
    between, within = max(0.0, between), max(scale, _LIMITS.smallest_variance)
    slope, variance, factor = _weighted_slope(design, y, capture, between=between, within=within)
    # Share of the condition's variance that lies between captures.
    means = np.bincount(capture, weights=standard) / np.maximum(np.bincount(capture), 1)
    share = float(np.average((means[capture] - standard.mean()) ** 2)) / max(
        float(standard.var()), _LIMITS.smallest_variance
    )
    effective = max(y.size / factor - captures - 1, 1.0)
    degrees = 1 / (share**2 / max(captures - 2, 1) + (1 - share) ** 2 / effective)
    quantile = float(special.stdtrit(degrees, (1 + _LIMITS.level) / 2))
    error = float(np.sqrt(variance)) / spread
    return _Regression(slope / spread, error, quantile, between, within * factor)


def _weighted_slope(
    design: FloatArray, y: FloatArray, capture: IntArray, *, between: float, within: float
) -> tuple[float, float, float]:
    """Return slope and variance by generalised least squares, and the widening of the errors."""
    factor = 1.0
    for _ in range(2):
        information, moment = np.zeros((2, 2)), np.zeros(2)
        for number in np.unique(capture):
            rows = capture == number
            part, noise = design[rows], within * factor
            # Inverse of noise x identity + between x ones (Sherman and Morrison).
            pull = between / (noise + between * int(rows.sum()))
            weighted = (part - pull * part.sum(axis=0)) / noise
            information += part.T @ weighted
            moment += weighted.T @ y[rows]
        covariance = np.linalg.pinv(information)
        beta = covariance @ moment
        factor = _widening(y - design @ beta, capture)
    return float(beta[1]), float(covariance[1, 1]), factor


def _widening(residual: FloatArray, capture: IntArray) -> float:
    """Return (1 + r) / (1 - r), at least 1, r the lag-one autocorrelation within captures."""
    means = np.bincount(capture, weights=residual) / np.maximum(np.bincount(capture), 1)
    centred = residual - means[capture]
    pairs = capture[1:] == capture[:-1]
    power = float(centred @ centred)
    if power <= 0:
        return 1.0
    lagged = float(centred[1:][pairs] @ centred[:-1][pairs]) / power
    r = float(np.clip(lagged, 0.0, _LIMITS.largest_autocorrelation))
    return (1 + r) / (1 - r)


def _ranges(condition: FloatArray) -> IntArray:
    """Return the range of each interval: equal shares of the intervals, equal values together."""
    ranks = np.searchsorted(np.sort(condition), condition)
    count = int(np.clip(condition.size // _LIMITS.fewest_intervals, 1, _LIMITS.most_points))
    group = (ranks * count // condition.size).astype(np.int64)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _points(
    observations: Observations, groups: IntArray, found: _Regression
) -> tuple[PooledPoint, ...]:
    """Return the points of the curve, monotone."""
    from scipy import optimize  # noqa: PLC0415 - takes long, and few commands need it

    ranges = [groups == group for group in range(int(groups.max()) + 1)]
    means, errors = [], []
    for rows in ranges:
        number, counts = np.unique(observations.capture[rows], return_counts=True)
        by_capture = [
            observations.log_rate[rows & (observations.capture == each)].mean() for each in number
        ]
        weight = 1 / (found.between + found.within / counts)
        means.append(float(np.dot(weight, by_capture) / weight.sum()))
        errors.append(float(1 / np.sqrt(weight.sum())))
    weights = 1 / np.maximum(np.array(errors), np.sqrt(_LIMITS.smallest_variance)) ** 2
    level = optimize.isotonic_regression(
        np.array(means), weights=weights, increasing=observations.increasing
    ).x
    points = []
    for rows, value, error in zip(ranges, level.tolist(), errors, strict=True):
        inside = observations.condition[rows]
        points.append(
            PooledPoint(
                condition=float(inside.mean()),
                low=float(inside.min()),
                high=float(inside.max()),
                relative_rate=_estimate(value, found.quantile * error),
                intervals=int(rows.sum()),
                captures=int(np.unique(observations.capture[rows]).size),
            )
        )
    return tuple(points)


def _estimate(log_value: float, half: float) -> Estimate:
    logs = np.clip([log_value - half, log_value, log_value + half], -20, 20)  # no larger factors
    low, value, high = np.exp(logs).tolist()
    return Estimate(value=value, low=low, high=high, method=_METHOD)
