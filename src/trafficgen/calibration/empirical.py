"""A smoothed empirical law: few quantiles between which the distribution function is linear."""

from __future__ import annotations

import numpy as np

from trafficgen.models import QuantilePoint
from trafficgen.units import FloatArray, IntArray

_POINTS = 64
#: Larger samples are thinned to about this many order statistics; this many at either end are all kept.
_ORDER_STATISTICS = 10_000
_EXTREMES = 200
_CLOSE_ENOUGH = 0.002
_SWEEPS = 50


def quantile_points(sample: FloatArray, *, most: int = _POINTS) -> tuple[QuantilePoint, ...]:
    """Return few points of a law that follows a sample and keeps its mean.

    Points are added one by one, in turn where the distribution functions are furthest apart and where the area between
    the quantile functions is largest. Between two points a straight line runs above a convex quantile function, as
    every tail has, so the points are then moved until the mean between neighbours is that of the sample.

    Args:
        sample: Sample, ascending, shape (n,), n >= 2.
        most: Number of points at most.
    """
    n = sample.size
    thinned = np.rint(np.linspace(0, n - 1, min(n, _ORDER_STATISTICS))).astype(np.int64)
    ends = np.arange(min(n, _EXTREMES))
    index = np.unique(np.concatenate((thinned, ends, n - 1 - ends)))
    p = (index + 0.5) / n
    p[0], p[-1] = 0.0, 1.0
    chosen = _chosen(p, sample[index], most=most)
    value = _mean_keeping(sample, index[chosen], p[chosen])
    return tuple(QuantilePoint(p=_short(at), value=_short(v)) for at, v in zip(p[chosen], value, strict=True))


def _short(number: float) -> float:
    """Return a number with seven significant digits: more say nothing about a law, and fill a file."""
    return float(f"{number:.7g}")


def _chosen(p: FloatArray, value: FloatArray, *, most: int) -> list[int]:
    """Return which order statistics become points, ascending."""
    chosen = [0, p.size - 1]
    while len(chosen) < min(most, p.size):
        by_area = len(chosen) % 2 == 0
        worst, distance = _worst_fit(p, value, chosen, by_area=by_area)
        if worst in chosen:
            worst, distance = _worst_fit(p, value, chosen, by_area=not by_area)
        if worst in chosen or (distance < _CLOSE_ENOUGH and len(chosen) > most // 2):
            break
        chosen = sorted([*chosen, worst])
    return chosen


def _worst_fit(p: FloatArray, value: FloatArray, chosen: list[int], *, by_area: bool) -> tuple[int, float]:
    """Return the order statistic that fits worst, and how far off the distribution function is there."""
    if not by_area:
        off = np.abs(np.interp(value, value[chosen], p[chosen]) - p)
        worst = int(np.argmax(off))
        return worst, float(off[worst])
    off = np.abs(np.interp(p, p[chosen], value[chosen]) - value) * np.gradient(p)
    piece = int(np.argmax(np.add.reduceat(off, chosen[:-1])))
    first, last = chosen[piece], chosen[piece + 1]
    return first + int(np.argmax(off[first : last + 1])), 1.0


def _mean_keeping(sample: FloatArray, index: IntArray, p: FloatArray) -> FloatArray:
    """Return values for the points such that means between neighbours, and the mean of all, are those of the sample.

    No point leaves the stretch between its neighbours' own values: the law stays close to the sample even where the
    means cannot be met, as in a few values that are far apart.
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
