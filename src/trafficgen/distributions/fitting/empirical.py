"""A smoothed empirical law: few quantiles with straight lines between them, and a Pareto tail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.distributions import distribution_of, truncate
from trafficgen.distributions.fitting.cells import group_ticks
from trafficgen.distributions.fitting.families import initial_estimates
from trafficgen.distributions.fitting.likelihood import FamilyLaw, maximise
from trafficgen.distributions.fitting.ticks import count_ticks
from trafficgen.distributions.fitting.uncertainty import law_cells, share_ticks, wald_intervals
from trafficgen.distributions.law import QuantilePoint, Tail
from trafficgen.units import FloatArray, IntArray


class PointLimits:
    """How many quantiles describe a sample: enough to follow it, too few to store it."""

    #: Points at most; more do not bring a law closer than sampling error.
    most: int = 64
    #: A point needs this many values, but a law has at least this many points.
    values_per_point: int = 2
    fewest: int = 3
    #: With fewer values, two points in three follow the distribution function, not the tails.
    few_values: int = 100
    #: Larger samples are thinned to this many order statistics, and this many at either end.
    order_statistics: int = 10_000
    extremes: int = 200
    #: No point is added where the law is this close (at least, and in units of sampling error)
    #: and has more points than this, or than a quarter of the most.
    close_enough: float = 0.002
    close_to_sampling_error: float = 0.25
    few_points: int = 16


class TailLimits:
    """When the largest values follow a Pareto tail."""

    #: Shares of the sample in which a tail is sought, and the values it needs at least.
    shares: tuple[float, ...] = (0.02, 0.01, 0.005)
    fewest: int = 50
    #: A tail ends at this multiple of the largest value: no capture shows more.
    reach: float = 1.5
    #: Heavier tails have a mean that the sample does not determine.
    largest_shape: float = 0.75


_POINTS = PointLimits()
_TAILS = TailLimits()
_SWEEPS = 50
_DIGITS = 6


def empirical_law(
    sample: FloatArray, *, tick: float, is_difference: bool
) -> tuple[tuple[QuantilePoint, ...], Tail | None, float | None]:
    """Smooth the empirical law of a sample, with a generalised Pareto tail where it has one.

    The tail is the largest of a fiftieth, a hundredth and a two-hundredth of the sample whose
    excesses over its start follow a generalised Pareto law (Pickands 1975; Balkema and de Haan
    1974) that is heavier than exponential beyond doubt. Its shape is the likeliest one, its scale
    keeps the mean of the sample. Only differences of two clock readings have tails.

    The sample, shape (n,), n >= 2, ascends. Returned are quantiles of the body, its tail, and where
    the tail ends: some way beyond the largest value.
    """
    for share in _TAILS.shares if is_difference else ():
        count = int(share * sample.size)
        if count < _TAILS.fewest:
            break
        tail = _fit_tail(sample, count, tick=tick)
        if tail is not None:
            points = quantile_points(sample[:-count], last=tail.threshold)
            return points, tail, _TAILS.reach * float(sample[-1])
    return quantile_points(sample), None, None


def _fit_tail(sample: FloatArray, count: int, *, tick: float) -> Tail | None:
    """Fit the tail of this many values; None where it is not heavier than exponential."""
    threshold = _round_digits(0.5 * float(sample[-count - 1] + sample[-count]))
    excess = sample[-count:] - threshold
    if excess[0] < 0 or np.unique(excess).size < _TAILS.fewest // 2:
        return None
    counted = count_ticks(excess, tick=tick)
    cells = group_ticks(counted, is_difference=False)
    starts = initial_estimates("genpareto", cells)
    maximum = maximise(FamilyLaw("genpareto", starts[0]), cells) if starts else None
    if maximum is None:
        return None
    law = maximum.law
    around = law_cells(law, tick=tick, is_difference=False)
    if around is None:
        return None
    c = law.params["c"]
    heavy = wald_intervals(law, around, observations=count).low["c"] > 0
    ks = share_ticks(counted).distance_to(law.distribution, is_difference=False)
    if ks > KOLMOGOROV_95 / np.sqrt(count) or not heavy or c > _TAILS.largest_shape:
        return None
    reach = _TAILS.reach * float(sample[-1]) - threshold
    scale = _scale_for_mean(c, float(excess.mean()), reach)
    if not scale:
        return None
    p = count / sample.size
    return Tail(p=p, threshold=threshold, c=_round_digits(c), scale=_round_digits(scale))


def _scale_for_mean(c: float, mean: float, reach: float) -> float | None:
    """Find the scale with which a generalised Pareto law up to a largest value has a mean."""

    def excess_mean(scale: float) -> float:
        whole = distribution_of("genpareto", {"c": c, "scale": scale})
        return truncate(whole, minimum=None, maximum=reach).mean - mean

    low, high = 0.5 * mean * (1 - c), 20 * mean
    if excess_mean(low) > 0 or excess_mean(high) < 0:
        return None
    return find_root(excess_mean, low, high)


def _round_digits(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def quantile_points(
    sample: FloatArray, *, most: int = _POINTS.most, last: float | None = None
) -> tuple[QuantilePoint, ...]:
    """Choose few points of a law that follows a sample and keeps its mean.

    Points are added one by one, in turn where the distribution functions are furthest apart and
    where the area between the quantile functions is largest, until the law is within a quarter of
    the sampling error. A sample of n has no more than about n / 2. Between two points a straight
    line runs above a convex quantile function, as every tail has, so the points are then moved
    until the mean between neighbours is that of the sample.

    The sample, shape (n,), n >= 2, ascends; ``last`` is the value of the last point where that is
    not the largest value.
    """
    n = sample.size
    thinned = np.rint(np.linspace(0, n - 1, min(n, _POINTS.order_statistics))).astype(np.int64)
    ends = np.arange(min(n, _POINTS.extremes))
    index = np.unique(np.concatenate((thinned, ends, n - 1 - ends)))
    p = (index + 0.5) / n
    p[0], p[-1] = 0.0, 1.0
    most = min(most, max(_POINTS.fewest, n // _POINTS.values_per_point))
    chosen = _choose_points(p, sample[index], most, n)
    value = _keep_mean(sample, index[chosen], p[chosen])
    if last is not None:
        value[-1] = last
    values = np.maximum.accumulate([_round_digits(float(at)) for at in value])
    rounded = [_round_digits(float(at)) for at in p[chosen]]
    # Those of the largest of millions are alike once they are rounded: the last of them stays.
    points = zip(rounded, values.tolist(), np.diff(rounded, append=2.0) > 0, strict=True)
    return tuple(QuantilePoint(p=at, value=of) for at, of, is_last in points if is_last)


def _choose_points(p: FloatArray, value: FloatArray, most: int, n: int) -> list[int]:
    """Return which order statistics become points, ascending."""
    chosen = [0, p.size - 1]
    close = max(_POINTS.close_enough, _POINTS.close_to_sampling_error / np.sqrt(n))
    while len(chosen) < min(most, p.size):
        by_area = len(chosen) % (3 if n < _POINTS.few_values else 2) == 0
        worst, distance = _find_worst(p, value, chosen, by_area=by_area)
        if worst in chosen:
            worst, distance = _find_worst(p, value, chosen, by_area=not by_area)
        enough = distance < close and len(chosen) > max(_POINTS.few_points, most // 4)
        if worst in chosen or enough:
            break
        chosen = sorted([*chosen, worst])
    return chosen


def _find_worst(
    p: FloatArray, value: FloatArray, chosen: list[int], *, by_area: bool
) -> tuple[int, float]:
    """Return the order statistic that fits worst, and the error of the distribution function."""
    gaps = np.abs(np.interp(value, value[chosen], p[chosen]) - p)
    if not by_area:
        worst = int(np.argmax(gaps))
        return worst, float(gaps[worst])
    off = np.abs(np.interp(p, p[chosen], value[chosen]) - value) * np.gradient(p)
    piece = int(np.argmax(np.add.reduceat(off, chosen[:-1])))
    first, last = chosen[piece], chosen[piece + 1]
    return first + int(np.argmax(off[first : last + 1])), float(gaps.max())


def _keep_mean(sample: FloatArray, index: IntArray, p: FloatArray) -> FloatArray:
    """Move points until the means between neighbours, and of all, are those of the sample.

    No point leaves the stretch between its neighbours' own values: the law stays close to the
    sample even where the means cannot be met, as in a few values that are far apart.
    """
    value = sample[index].copy()
    lowest, highest = value[:-2].copy(), value[2:].copy()
    weight = np.diff(p)
    # A sample value counts half on either side of its point, wholly at the two ends.
    sums = np.cumsum(np.add.reduceat(sample, index))
    below = np.append(0.0, sums[:-1]) + 0.5 * sample[index]
    below[0], below[-1] = 0.0, sums[-1]
    target = np.diff(below) / sample.size
    for _ in range(_SWEEPS):
        short = target - weight * (value[:-1] + value[1:]) / 2
        moved = value[1:-1] + (short[:-1] + short[1:]) / (weight[:-1] + weight[1:])
        value[1:-1] = np.maximum.accumulate(np.clip(moved, lowest, highest))
    return value


#: Halvings of the range: 13 digits.
_HALVINGS = 44


def find_root(ascending: Callable[[float], float], low: float, high: float) -> float:
    """Return where an ascending function is 0 by bisection, or the end of the range nearest to it.

    Loading scipy.optimize takes longer than the few roots of a fit.
    """
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if ascending(middle) < 0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
