"""The line below all one-way delays: offset and skew of two clocks, and the delay of an empty
path.
"""

from __future__ import annotations

import numpy as np

from trafficgen.units import FloatArray, IntArray

#: Stretch of which the least delay is looked at, s, and when it lies on the line below all of them.
_STRETCH_S, _NEAR_LINE_S, _NEAR_SHARE, _NEAR_SPAN = 2.0, 0.002, 0.25, 0.5
#: Clocks differ by less: cheap quartz is off by 100 parts in a million.
_LARGEST_SKEW = 2e-4


def lower_hull(x: FloatArray, y: FloatArray) -> IntArray:
    """Return the corners of the lower convex hull of some points, left to right, shape (h,), h <=
    n.

    Andrew's monotone chain (1979), after points that lie above a neighbouring stretch's least have
    been left out, so that a million points take no longer than sorting a few thousand.

    Args:
        x: Abscissae, ascending, shape (n,), n >= 1.
        y: Ordinates, shape (n,).
    """
    hull: list[int] = []
    for index in _candidates(x, y).tolist():
        while len(hull) >= 2:
            first, second = hull[-2], hull[-1]
            turn = (x[second] - x[first]) * (y[index] - y[first]) - (y[second] - y[first]) * (
                x[index] - x[first]
            )
            if turn > 0:
                break
            hull.pop()
        hull.append(index)
    return np.asarray(hull, dtype=np.int64)


def lower_line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Return intercept (at x = 0) and slope of the line below all points that is nearest to them in
    the sum.

    This is the estimate of clock skew of Moon, Skelly and Towsley (1999), "Estimation and removal
    of clock skew from network delay measurements": of the edges of the lower convex hull the one
    above which the mean of x lies. Delays less this line are delays above the least, on one clock.

    Args:
        x: Times of sending, s, ascending, shape (n,), n >= 1.
        y: One-way delays by two clocks, s, shape (n,).
    """
    hull = lower_hull(x, y)
    if hull.size == 1 or x[hull[0]] == x[hull[-1]]:
        return float(y.min()), 0.0
    right = int(np.clip(np.searchsorted(x[hull], x.mean(), side="left"), 1, hull.size - 1))
    one, other = hull[right - 1], hull[right]
    slope = float((y[other] - y[one]) / (x[other] - x[one])) if x[other] > x[one] else 0.0
    return float(y[one] - slope * x[one]), slope


def steady_line(
    x: FloatArray, y: FloatArray, *, loose_ends: bool = False
) -> tuple[float, float] | None:
    """Return intercept and slope of the line below the delays where the least of them follow it,
    else None.

    Where a queue never empties, the least delays wander and the slope of the line below them is
    that of the queue, not of a clock. So the least delay of each stretch of 2 s is looked at: if at
    least a quarter of them come within 2 ms of the line, through at least half of the time, it is
    taken.

    Args:
        x: Times of sending, s, ascending, shape (n,), n >= 1.
        y: One-way delays by two clocks, s, shape (n,).
        loose_ends: Whether the first and the last stretch are left out where the line fails for
            them: against a schedule, a source begins with a burst and ends within frames that it
            has put in another order. The line then has to have the slope of a clock.
    """
    stretch = ((x - x[0]) / _STRETCH_S).astype(np.int64)
    line = _steady(x, y, stretch)
    inner = (stretch > 0) & (stretch < stretch[-1])
    if line is not None or not loose_ends or not inner.any():
        return line
    line = _steady(x[inner], y[inner], stretch[inner])
    return line if line is not None and abs(line[1]) <= _LARGEST_SKEW else None


def _steady(x: FloatArray, y: FloatArray, stretch: IntArray) -> tuple[float, float] | None:
    """Return the line below the delays where enough of the stretches come near it."""
    intercept, slope = lower_line(x, y)
    starts = np.flatnonzero(np.concatenate(([True], np.diff(stretch) != 0)))
    least = np.minimum.reduceat(y - intercept - slope * x, starts)
    near = np.flatnonzero(least <= _NEAR_LINE_S)
    if near.size >= _NEAR_SHARE * least.size and near[-1] - near[0] >= _NEAR_SPAN * (
        least.size - 1
    ):
        return intercept, slope
    return None


def least_line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Return the line of :func:`steady_line`, else the least delay of all, without a slope."""
    return steady_line(x, y) or (float(y.min()), 0.0)


def _candidates(x: FloatArray, y: FloatArray, *, stretches: int = 4096) -> IntArray:
    """Return the least point of each of some thousand stretches, and all points of the first and
    last stretch.

    A corner of the hull need not be the least of its stretch where the line is steep, so each
    stretch is levelled by the line through the least points of the two ends first; what little is
    missed lies within one stretch's slope.
    """
    if x.size <= 2 * stretches:
        return np.arange(x.size)
    edges = np.linspace(0, x.size, stretches + 1).astype(np.int64)[:-1]
    tenth = x.size // 10
    left, right = int(np.argmin(y[:tenth])), x.size - tenth + int(np.argmin(y[-tenth:]))
    level = y - (y[right] - y[left]) * (x - x[left]) / (x[right] - x[left])
    stretch = np.repeat(np.arange(stretches), np.diff(np.append(edges, x.size)))
    order = np.lexsort((level, stretch))
    return np.sort(order[edges])
