"""A smoothed empirical law: few quantiles between which the distribution function is linear, and a
Pareto tail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from trafficgen.calibration.laws.cells import group
from trafficgen.calibration.laws.goodness_of_fit import ks_distance
from trafficgen.calibration.laws.initial_estimates import starts_of, weighted
from trafficgen.calibration.laws.intervals import law_cells, wald_intervals
from trafficgen.calibration.laws.likelihood import maximise
from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.distributions import GeneralisedPareto, truncated
from trafficgen.models import QuantilePoint, Tail
from trafficgen.units import FloatArray, IntArray

_POINTS = 64
#: A law of few values has about half as many points, but three at least: it describes, it doesn't
#: store.
_VALUES_PER_POINT = 2
_FEWEST_POINTS = 3
_FEW_POINTS = 16
#: Of fewer values than this, two points in three follow the distribution function rather than the
#: tails.
_FEW_VALUES = 100
#: Larger samples are thinned to about this many order statistics; this many at either end are all
#: kept.
_ORDER_STATISTICS = 10_000
_EXTREMES = 200
#: No more points where the law is this close, in units of the sampling error and at least.
_CLOSE_ENOUGH = 0.002
_CLOSE_TO_SAMPLING_ERROR = 0.25
_SWEEPS = 50
_DIGITS = 6
#: Shares of the sample in which a tail is sought, values it has at least, and how far beyond the
#: largest it reaches.
_TAIL_SHARES = (0.02, 0.01, 0.005)
_FEWEST_IN_TAIL = 50
_REACH = 1.5
_HEAVIEST = 0.75


@dataclass(frozen=True)
class Empirical:
    """A smoothed empirical law.

    Attributes:
        points: Its quantiles, as probabilities of the body.
        tail: What follows the last of them, or None.
        largest: Where a tail ends: some way beyond the largest value, for no capture shows more;
            None without a tail.
    """

    points: tuple[QuantilePoint, ...]
    tail: Tail | None
    largest: float | None


def empirical_law(sample: FloatArray, *, tick: float, is_difference: bool) -> Empirical:
    """Return the smoothed empirical law of a sample, with a generalised Pareto tail where the
    sample has one.

    The tail is the largest of a fiftieth, a hundredth and a two-hundredth of the sample whose
    excesses over its start follow a generalised Pareto law (Pickands 1975; Balkema and de Haan
    1974) that is heavier than exponential beyond doubt. Its shape is the likeliest one, its scale
    such that the mean of the sample is kept.

    Args:
        sample: Sample, ascending, shape (n,), n >= 2.
        tick: Granularity of the values.
        is_difference: Whether values are differences of two clock readings; only these have tails.
    """
    if is_difference:
        for share in _TAIL_SHARES:
            count = int(share * sample.size)
            if count < _FEWEST_IN_TAIL:
                break
            found = _tail(sample, count, tick=tick)
            if found is not None:
                largest = _REACH * float(sample[-1])
                return Empirical(
                    quantile_points(sample[:-count], last=found.threshold), found, largest
                )
    return Empirical(quantile_points(sample), None, None)


def _tail(sample: FloatArray, count: int, *, tick: float) -> Tail | None:
    """Return the tail of so many values, or None where they have none that is heavier than
    exponential.
    """
    threshold = _rounded(0.5 * float(sample[-count - 1] + sample[-count]))
    excess = sample[-count:] - threshold
    if excess[0] < 0 or np.unique(excess).size < _FEWEST_IN_TAIL // 2:
        return None
    cells = group(excess, tick=tick, is_difference=False)
    starts = starts_of("genpareto", weighted(cells))
    maximum = maximise("genpareto", starts[0], cells) if starts else None
    around = law_cells(maximum, tick=tick, is_difference=False) if maximum is not None else None
    if maximum is None or around is None:
        return None
    c = maximum.params["c"]
    heavy = wald_intervals(maximum, around, observations=count).low["c"] > 0
    far = ks_distance(
        excess, maximum.distribution, tick=tick, is_difference=False
    ) > KOLMOGOROV_95 / np.sqrt(count)
    if far or not heavy or c > _HEAVIEST:
        return None
    scale = _mean_keeping_scale(c, float(excess.mean()), _REACH * float(sample[-1]) - threshold)
    return (
        Tail(p=count / sample.size, threshold=threshold, c=_rounded(c), scale=_rounded(scale))
        if scale
        else None
    )


def _mean_keeping_scale(c: float, mean: float, reach: float) -> float | None:
    """Return the scale with which a generalised Pareto law up to a largest value has a mean."""

    def too_large(scale: float) -> float:
        return (
            truncated(GeneralisedPareto(c=c, scale=scale), minimum=None, maximum=reach).mean - mean
        )

    low, high = 0.5 * mean * (1 - c), 20 * mean
    if too_large(low) > 0 or too_large(high) < 0:
        return None
    return float(optimize.brentq(too_large, low, high, rtol=1e-7))


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def quantile_points(
    sample: FloatArray, *, most: int = _POINTS, last: float | None = None
) -> tuple[QuantilePoint, ...]:
    """Return few points of a law that follows a sample and keeps its mean.

    Points are added one by one, in turn where the distribution functions are furthest apart and
    where the area between the quantile functions is largest, until the law is within a quarter of
    the sampling error. A sample of n has no more than about n / 2. Between two points a straight
    line runs above a convex quantile function, as every tail has, so the points are then moved
    until the mean between neighbours is that of the sample.

    Args:
        sample: Sample, ascending, shape (n,), n >= 2.
        most: Number of points at most.
        last: Value of the last point where it is not the largest value.
    """
    n = sample.size
    thinned = np.rint(np.linspace(0, n - 1, min(n, _ORDER_STATISTICS))).astype(np.int64)
    ends = np.arange(min(n, _EXTREMES))
    index = np.unique(np.concatenate((thinned, ends, n - 1 - ends)))
    p = (index + 0.5) / n
    p[0], p[-1] = 0.0, 1.0
    chosen = _chosen(p, sample[index], min(most, max(_FEWEST_POINTS, n // _VALUES_PER_POINT)), n)
    value = _mean_keeping(sample, index[chosen], p[chosen])
    if last is not None:
        value[-1] = last
    rounded_p = [_rounded(float(at)) for at in p[chosen]]
    rounded_value = np.maximum.accumulate([_rounded(float(at)) for at in value])
    return tuple(
        QuantilePoint(p=at, value=float(v)) for at, v in zip(rounded_p, rounded_value, strict=True)
    )


def _chosen(p: FloatArray, value: FloatArray, most: int, n: int) -> list[int]:
    """Return which order statistics become points, ascending."""
    chosen = [0, p.size - 1]
    close = max(_CLOSE_ENOUGH, _CLOSE_TO_SAMPLING_ERROR / np.sqrt(n))
    while len(chosen) < min(most, p.size):
        by_area = len(chosen) % (3 if n < _FEW_VALUES else 2) == 0
        worst, distance = _worst_fit(p, value, chosen, by_area=by_area)
        if worst in chosen:
            worst, distance = _worst_fit(p, value, chosen, by_area=not by_area)
        if worst in chosen or (distance < close and len(chosen) > max(_FEW_POINTS, most // 4)):
            break
        chosen = sorted([*chosen, worst])
    return chosen


def _worst_fit(
    p: FloatArray, value: FloatArray, chosen: list[int], *, by_area: bool
) -> tuple[int, float]:
    """Return the order statistic that fits worst, and how far off the distribution function is
    there.
    """
    if not by_area:
        off = _gaps(p, value, chosen)
        worst = int(np.argmax(off))
        return worst, float(off[worst])
    off = np.abs(np.interp(p, p[chosen], value[chosen]) - value) * np.gradient(p)
    piece = int(np.argmax(np.add.reduceat(off, chosen[:-1])))
    first, last = chosen[piece], chosen[piece + 1]
    return first + int(np.argmax(off[first : last + 1])), float(_gaps(p, value, chosen).max())


def _gaps(p: FloatArray, value: FloatArray, chosen: list[int]) -> FloatArray:
    """Return how far the law through the chosen points is from the sample's distribution
    function.
    """
    return np.asarray(np.abs(np.interp(value, value[chosen], p[chosen]) - p))


def _mean_keeping(sample: FloatArray, index: IntArray, p: FloatArray) -> FloatArray:
    """Return values for the points such that means between neighbours, and the mean of all, are
    those of the sample.

    No point leaves the stretch between its neighbours' own values: the law stays close to the
    sample even where the means cannot be met, as in a few values that are far apart.
    """
    value = sample[index].copy()
    lowest, highest = value[:-2].copy(), value[2:].copy()
    weight = np.diff(p)
    total = np.concatenate(([0.0], np.cumsum(sample)))
    # A sample value counts half on either side of its point, wholly at the two ends.
    below = total[index] + 0.5 * sample[index]
    below[0], below[-1] = 0.0, total[-1]
    target = np.diff(below) / sample.size
    for _ in range(_SWEEPS):
        short = target - weight * (value[:-1] + value[1:]) / 2
        moved = value[1:-1] + (short[:-1] + short[1:]) / (weight[:-1] + weight[1:])
        value[1:-1] = np.maximum.accumulate(np.clip(moved, lowest, highest))
    return value
