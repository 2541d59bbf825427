"""The line below all one-way delays: clock offset, clock skew and the delay of an empty path."""

from __future__ import annotations

import numpy as np

from trafficgen.units import BLOCK, FloatArray, IntArray


class SkewLimits:
    """When the least delays lie on one line, so that its slope is that of a clock."""

    #: The least delay of each stretch of this length counts, s: long enough for an empty queue.
    stretch_s: float = 2.0
    #: A least delay this near to the line lies on it, s.
    near_line_s: float = 0.002
    #: This share of the stretches has to lie on the line,
    near_share: float = 0.25
    #: and the first and last of those this share of the time apart; less follows a queue.
    near_span: float = 0.5
    #: Clocks differ by less: cheap quartz is off by 100 parts in a million.
    largest_skew: float = 2e-4


_LIMITS = SkewLimits()


def lower_hull(x: FloatArray, y: FloatArray) -> IntArray:
    """Return the corners of the lower convex hull of points, left to right, shape (h,), h <= n.

    Andrew's monotone chain (1979) on the least points of short stretches, so that a million points
    take no longer than sorting a few thousand. ``x`` ascends; both have shape (n,), n >= 1.
    """
    hull: list[int] = []
    candidates = _candidates(x, y)
    # Single numbers of arrays take twice as long.
    across, up = x[candidates].tolist(), y[candidates].tolist()
    for index in range(candidates.size):
        while len(hull) >= 2:
            first, second = hull[-2], hull[-1]
            turn = (across[second] - across[first]) * (up[index] - up[first]) - (
                up[second] - up[first]
            ) * (across[index] - across[first])
            if turn > 0:
                break
            hull.pop()
        hull.append(index)
    return candidates[hull]


def lower_line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Return intercept (at x = 0) and slope of the line below all points with the least distance.

    This is the estimate of clock skew of Moon, Skelly and Towsley (1999), "Estimation and removal
    of clock skew from network delay measurements": the edge of the lower convex hull at the mean of
    x. Delays less this line are delays above the least, on one clock.

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
    """Return intercept and slope of the line below the delays, or None if they do not follow it.

    If a queue never empties, the least delays wander and the slope of the line is that of the
    queue, not of a clock. So a quarter of the least delays of 2 s have to come within 2 ms of the
    line, through half of the time.

    Args:
        x: Times of sending, s, ascending, shape (n,), n >= 1.
        y: One-way delays by two clocks, s, shape (n,).
        loose_ends: Whether to leave out the first and last stretch if the line fails with them: a
            source that follows a schedule begins with a burst and may end with reordered frames.
            The slope then has to be that of a clock.
    """
    starts = _stretch_starts(x)
    line = _steady(x, y, starts)
    if line is not None or not loose_ends or starts.size < 3:
        return line
    inner = slice(starts[1], starts[-1])
    line = _steady(x[inner], y[inner], starts[1:-1] - starts[1])
    return line if line is not None and abs(line[1]) <= _LIMITS.largest_skew else None


def _stretch_starts(x: FloatArray) -> IntArray:
    """Return the first point of each stretch of 2 s that has any, shape (k,)."""
    starts, before = list[IntArray](), -1
    for row in range(0, x.size, BLOCK):
        stretch = ((x[row : row + BLOCK] - x[0]) / _LIMITS.stretch_s).astype(np.int64)
        starts.append(row + np.flatnonzero(np.diff(stretch, prepend=before)))
        before = int(stretch[-1])
    return np.concatenate(starts)


def _steady(x: FloatArray, y: FloatArray, starts: IntArray) -> tuple[float, float] | None:
    """Return the line below the delays if enough of the stretches come near it."""
    intercept, slope = lower_line(x, y)
    above = np.empty(x.size)
    for row in range(0, x.size, BLOCK):
        part = slice(row, row + BLOCK)
        above[part] = y[part] - intercept - slope * x[part]
    least = np.minimum.reduceat(above, starts)
    near = np.flatnonzero(least <= _LIMITS.near_line_s)
    if near.size < _LIMITS.near_share * least.size:
        return None
    spans = near[-1] - near[0] >= _LIMITS.near_span * (least.size - 1)
    return (intercept, slope) if spans else None


def least_line(x: FloatArray, y: FloatArray) -> tuple[float, float, bool]:
    """Return the line of :func:`steady_line`, else the least delay with slope 0, and which it is.

    It is no line where the queue never emptied, as far as the delays show: then the delay of the
    empty path is not known, and may be less than the least.
    """
    line = steady_line(x, y)
    return (*(line or (float(y.min()), 0.0)), line is not None)


def _candidates(x: FloatArray, y: FloatArray, *, stretches: int = 4096) -> IntArray:
    """Return the least point of each of some thousand stretches.

    A corner of the hull need not be the least of its stretch if the line is steep, so the line
    through the least points of both ends is removed first; the rest is within a stretch's slope.
    """
    if x.size <= 2 * stretches:
        return np.arange(x.size)
    edges = np.linspace(0, x.size, stretches + 1).astype(np.int64)
    tenth = x.size // 10
    left, right = int(np.argmin(y[:tenth])), x.size - tenth + int(np.argmin(y[-tenth:]))
    found = []
    at_once = max(1, stretches * BLOCK // x.size)
    for some in (edges[row : row + at_once + 1] for row in range(0, stretches, at_once)):
        part = slice(some[0], some[-1])
        level = y[part] - (y[right] - y[left]) * (x[part] - x[left]) / (x[right] - x[left])
        found.append(some[0] + least_of_stretches(level, some[:-1] - some[0]))
    return np.concatenate(found)


def least_of_stretches(values: FloatArray, starts: IntArray) -> IntArray:
    """Return the first least value of each stretch, shape (k,), by the first value of each."""
    lengths = np.diff(np.append(starts, values.size))
    least = np.flatnonzero(~(values > np.repeat(np.minimum.reduceat(values, starts), lengths)))
    return least[np.searchsorted(least, starts)]
