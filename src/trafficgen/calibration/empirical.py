"""A smoothed empirical law: few quantiles between which the distribution function is linear."""

from __future__ import annotations

import numpy as np

from trafficgen.models import QuantilePoint
from trafficgen.units import FloatArray

_POINTS = 64
#: Larger samples are thinned to this many order statistics before the points are placed.
_ORDER_STATISTICS = 20_001
_CLOSE_ENOUGH = 0.002


def quantile_points(sample: FloatArray) -> tuple[QuantilePoint, ...]:
    """Return at most 64 points of a law that follows a sample.

    Points are added one by one, in turn where the distribution functions are furthest apart and where the area between
    the quantile functions is largest, so that both the distribution and the mean (the rate) are kept.

    Args:
        sample: Sample, ascending, shape (n,), n >= 2.
    """
    p = np.linspace(0, 1, min(sample.size, _ORDER_STATISTICS))
    value = np.interp(p * (sample.size - 1), np.arange(sample.size), sample)
    chosen = [0, p.size - 1]
    while len(chosen) < min(_POINTS, p.size):
        worst, distance = _worst_fit(p, value, chosen, by_area=len(chosen) % 2 == 0)
        if worst in chosen:
            worst, distance = _worst_fit(p, value, chosen, by_area=len(chosen) % 2 == 1)
        if worst in chosen or (distance < _CLOSE_ENOUGH and len(chosen) > _POINTS // 2):
            break
        chosen = sorted([*chosen, worst])
    return tuple(QuantilePoint(p=float(p[i]), value=float(value[i])) for i in chosen)


def _worst_fit(p: FloatArray, value: FloatArray, chosen: list[int], *, by_area: bool) -> tuple[int, float]:
    """Return the order statistic that fits worst, and how far off the distribution function is there."""
    if not by_area:
        off = np.abs(np.interp(value, value[chosen], p[chosen]) - p)
        worst = int(np.argmax(off))
        return worst, float(off[worst])
    off = np.abs(np.interp(p, p[chosen], value[chosen]) - value)
    area = np.add.reduceat(off, chosen[:-1])
    piece = int(np.argmax(area))
    first, last = chosen[piece], chosen[piece + 1]
    worst = first + int(np.argmax(off[first : last + 1]))
    return worst, 1.0
