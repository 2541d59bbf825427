"""From many observations to as many points as a chart can show, without losing its extremes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trafficgen.units import FloatArray

#: Points of a curve: more than a wide screen has columns.
MOST_POINTS = 1500
#: Points of a distribution; at most this far apart in probability.
_DISTRIBUTION_POINTS = 400
_TAIL_POINTS = 60


def thinned(
    x: npt.ArrayLike, y: npt.ArrayLike, *, most: int = MOST_POINTS
) -> tuple[FloatArray, FloatArray]:
    """Return a curve of at most ``most`` points that keeps the smallest and the largest value of
    every stretch.

    Args:
        x: Places in ascending order, shape (n,).
        y: Values, shape (n,).
        most: Largest number of points, >= 4.
    """
    places, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if values.size <= most:
        return places, values
    stretch = -(-values.size // (most // 2))
    whole = values.size // stretch * stretch
    parts = values[:whole].reshape(-1, stretch)
    starts = np.arange(parts.shape[0]) * stretch
    ends = np.concatenate([starts + parts.argmin(axis=1), starts + parts.argmax(axis=1)])
    if whole < values.size:
        rest = values[whole:]
        ends = np.append(ends, [whole + int(rest.argmin()), whole + int(rest.argmax())])
    index = np.unique(ends)
    return places[index], values[index]


def few_quantiles(count: int) -> npt.NDArray[np.int64]:
    """Return places in a sorted sample of ``count`` values: evenly spread, and closer together at
    both ends.

    The ends are where distributions differ and where an even spread has nothing to show.
    """
    if count <= _DISTRIBUTION_POINTS:
        return np.arange(count, dtype=np.int64)
    even = np.linspace(0, count - 1, _DISTRIBUTION_POINTS)
    tail = np.geomspace(1, count, _TAIL_POINTS) - 1
    return np.unique(np.concatenate([even, tail, count - 1 - tail]).astype(np.int64))


def distribution_curve(sample: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the empirical distribution function at a few of its steps: values and P(X <= value).

    Args:
        sample: Observations in any order, shape (n,).

    Returns:
        Values in ascending order and their cumulative shares, each of shape (m,), m at most about
        500, from the smallest value with share 0 on. Drawn as steps.
    """
    ordered = np.sort(np.asarray(sample, dtype=np.float64))
    values, last = _distinct(ordered)
    index = few_quantiles(values.size)
    shares = (last[index] + 1) / max(ordered.size, 1)
    return np.concatenate([values[:1], values[index]]), np.concatenate(
        [np.zeros(min(1, shares.size)), shares]
    )


def survival_curve(sample: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the empirical P(X >= value) at a few values, for logarithmic axes: it is never 0.

    Args:
        sample: Observations in any order, shape (n,).

    Returns:
        Values above 0 in ascending order and the shares that reach them, each of shape (m,), m at
        most about 500.
    """
    ordered = np.sort(np.asarray(sample, dtype=np.float64))
    values, last = _distinct(ordered)
    first = np.concatenate([[0], last[:-1] + 1]) if values.size else last
    keep = few_quantiles(values.size)
    keep = keep[values[keep] > 0]
    return values[keep], (ordered.size - first[keep]) / max(ordered.size, 1)


def _distinct(ordered: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return distinct values with the place of the last of each."""
    if ordered.size == 0:
        return ordered, np.zeros(0, dtype=np.int64)
    last = np.append(np.flatnonzero(np.diff(ordered) > 0), ordered.size - 1).astype(np.int64)
    return ordered[last], last


def wide_bins(span_s: float, *, most: int = MOST_POINTS, finest_s: float = 0.1) -> float:
    """Return a width of bins, s, of which at most ``most`` fill a span: 1, 2 or 5 times a power of
    ten.

    Args:
        span_s: The span, s.
        most: Largest number of bins.
        finest_s: Narrowest bin, s.
    """
    needed = max(span_s / most, finest_s)
    decade = 10.0 ** np.floor(np.log10(needed))
    for factor in (1, 2, 5, 10):
        width = float(factor * decade)
        if width >= needed * (1 - 1e-9):
            return width
    raise AssertionError("ten times a decade is above it")
