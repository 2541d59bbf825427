"""Find where buffering ends: the likeliest fall of a stream's rate, and whether it is one.

A fall counts where it is larger than the rate's own wandering, as a start-up burst is.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from trafficgen.flows.cycles import Cycles
from trafficgen.imports import special
from trafficgen.units import BoolArray, FloatArray, IntArray, kbps_from_bytes, s_from_ns


class FallLimits:
    """When a fall of the rate ends buffering, and when a stream runs out."""

    #: Fewer cycles show no change of rate.
    fewest_cycles: int = 4
    #: Buffering is at least this much faster than playout: less is a playout's own variation.
    smallest_ratio: float = 1.2
    #: A rate that only wanders falls so far with a smaller probability than this: fewer than 5% of
    #: stationary streams of two minutes then have buffering, also with level switches or long
    #: memory.
    largest_p: float = 0.005
    #: A fall before the likeliest one counts too if it is one by itself, and this improbable with
    #: all that follows.
    largest_p_of_earlier: float = 0.02
    #: A start that carries this share of the bytes in at most this share of the time, at this
    #: multiple of the later rate, is visible,
    visible_bytes: float = 0.25
    visible_time: float = 0.4
    visible_ratio: float = 1.5
    #: and kept, as doubtful, if a rate that only wanders falls so far no more often than this.
    largest_p_of_visible: float = 0.2
    #: Buffering ends before this share of the session: the rest has to show the playout.
    largest_share: float = 0.8
    #: A source that takes longer than this to become fast does not start fast, s.
    longest_lead_s: float = 5.0
    #: The part between two falls is buffering if the first one is a smaller share of the whole fall
    #: (in logarithms) than this, for a part no longer than what precedes it,
    share_of_fall_short: float = 0.5
    #: or than this for a longer one.
    share_of_fall_long: float = 0.38
    #: A stream runs out if its end is slower by this factor,
    tail_ratio: float = 3.0
    #: within this share of the time,
    largest_tail: float = 0.2
    #: with this probability under a rate that only wanders.
    largest_p_of_tail: float = 0.001
    #: Without pauses, buffering lasts this many cycles (a second) and is fast beyond the first one:
    #: a preroll burst alone is not buffering.
    fewest_cycles_of_buffering: int = 4
    #: Scales with fewer degrees of freedom say nothing of the variance of a rate.
    fewest_degrees: int = 3
    #: With fewer ON periods after the first one, the spread of their sizes is not known. Where more
    #: were needed, captures of a minute, with a few segments after those that fill a player's
    #: buffer, would have no buffering.
    fewest_later_periods: int = 3
    #: Empty blocks get this share of the mean rate, so that they have a logarithm.
    empty_share: float = 0.05
    #: Variance of log-rates below which rates count as equal (relative differences of 1%).
    smallest_variance: float = 1e-4


_LIMITS = FallLimits()
_TINY, _TINY_S = 1e-300, 1e-12


def count_buffering_cycles(cycles: Cycles) -> int | None:
    """Return how many cycles belong to buffering; None if the start is not faster than the rest.

    The likeliest change of the rate (Poisson likelihood of two rates, as in binary segmentation:
    Scott and Knott 1974) is tested against a rate that wanders (:func:`rate_drop_p_value`), then
    searched for again in the part before it, so that buffering ends at the first substantial fall.
    """
    change, found = _find_fall(cycles), None
    while change is not None:
        found = change if found is None or not _continues(cycles, change, found) else found
        change = _find_fall(cycles.keep_first(change))
    return found


def begins_with_long_fetch(cycles: Cycles) -> bool:
    """Return whether the first ON period is far larger than the later ones.

    So a player begins that fetches without a pause until its buffer is full. Whether it is faster
    than the rest, :func:`measure_fast_start` says: here its rate would count the pause after it.
    """
    if not cycles.paused or len(cycles) < _LIMITS.fewest_cycles:
        return False
    duration_s = cycles.duration_s
    is_early = duration_s[0] <= _LIMITS.largest_share * duration_s.sum()
    return bool(is_early and size_drop_p_value(cycles.size_bytes) < _LIMITS.largest_p)


def find_visible_burst(cycles: Cycles) -> tuple[int, float] | None:
    """Find a start that looks like a burst although the test cannot separate it.

    Returns:
        Its cycles, and the probability of such a fall where the rate only wanders; None if the
        start does not stand out.
    """
    fall = _find_likeliest_fall(cycles)
    if fall is None:
        return None
    change, _ = fall
    ends_s, total, before, after = _measure_means(cycles)
    stands_out = (
        total[change - 1] >= _LIMITS.visible_bytes * total[-1]
        and ends_s[change - 1] <= _LIMITS.visible_time * ends_s[-1]
        and before[change - 1] >= _LIMITS.visible_ratio * after[change - 1]
    )
    p_value = rate_drop_p_value(cycles, change)
    return (change, p_value) if stands_out and p_value <= _LIMITS.largest_p_of_visible else None


def measure_fast_start(
    time_ns: IntArray, size_bytes: IntArray, end_ns: int, *, side: Literal["left", "right"]
) -> tuple[int, float, float] | None:
    """Return packets, length, s, and rate, kbit/s, of a start; None if the rest is as fast.

    Times ascend, sizes are of IP packets, both of shape (n,). A packet at ``end_ns`` is part of the
    start if ``side`` is ``"right"``, else of the rest.
    """
    packets = int(np.searchsorted(time_ns, end_ns, side=side))
    start_s, rest_s = s_from_ns(end_ns - int(time_ns[0])), s_from_ns(int(time_ns[-1]) - end_ns)
    if start_s <= 0 or rest_s <= 0:
        return None
    fast = kbps_from_bytes(float(size_bytes[:packets].sum()), start_s)
    slow = kbps_from_bytes(float(size_bytes[packets:].sum()), rest_s)
    return (packets, start_s, fast) if is_much_faster(fast, slow) else None


def is_much_faster(fast: float, slow: float) -> bool:
    """Return whether a rate is higher than another by more than a playout's own variation."""
    return fast >= _LIMITS.smallest_ratio * slow


def find_tail(cycles: Cycles, *, left_bytes: float, left_s: float) -> int | None:
    """Return the cycle from which on the stream runs out (a third as fast or slower), or None.

    The likeliest change of the whole stream has to be that late, else it ends a slow playout.
    ``left_bytes`` come in ``left_s`` after the last cycle, such as a last ON period: they belong to
    the tail.
    """
    if len(cycles) < _LIMITS.fewest_cycles + 1:
        return None
    ends_s, total, before, after = _measure_means(cycles)
    likelihood = two_rate_log_likelihood(total[:-1], total[-1], ends_s[:-1], ends_s[-1])
    last = int(np.argmax(likelihood))
    late = ends_s[last] >= (1 - _LIMITS.largest_tail) * ends_s[-1]
    rest = (total[-1] - total[last] + left_bytes) / (ends_s[-1] - ends_s[last] + left_s)
    if not late or before[last] < _LIMITS.tail_ratio * max(after[last], rest):
        return None
    return last + 1 if rate_drop_p_value(cycles, last + 1) < _LIMITS.largest_p_of_tail else None


def two_rate_log_likelihood(
    before: FloatArray, total: FloatArray | float, elapsed: FloatArray, whole: FloatArray | float
) -> FloatArray:
    """Return the Poisson log-likelihood of a change of rate at each candidate, up to a constant.

    ``before`` and ``total`` are bytes, ``elapsed`` and ``whole`` times, 0 < elapsed < whole.
    """
    after, remaining = total - before, np.maximum(whole - elapsed, _TINY_S)
    fast = before * np.log(np.maximum(before, _TINY) / np.maximum(elapsed, _TINY_S))
    likelihood: FloatArray = fast + after * np.log(np.maximum(after, _TINY) / remaining)
    return likelihood


def _measure_means(cycles: Cycles) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return ends, bytes so far, and the rates before and after each cycle's end, bytes/s."""
    ends_s, total = np.cumsum(cycles.duration_s), np.cumsum(cycles.size_bytes)
    before = total[:-1] / ends_s[:-1]
    after = (total[-1] - total[:-1]) / (ends_s[-1] - ends_s[:-1])
    return ends_s, total, before, after


def _find_likeliest_fall(cycles: Cycles) -> tuple[int, BoolArray] | None:
    """Return the cycles before the likeliest fall, and after which the rate falls; None if none."""
    if len(cycles) < _LIMITS.fewest_cycles:
        return None
    ends_s, total, before, after = _measure_means(cycles)
    early = ends_s[:-1] <= _LIMITS.largest_share * ends_s[-1]
    falls = (before >= _LIMITS.smallest_ratio * after) & early
    if not cycles.paused:
        falls[: _LIMITS.fewest_cycles_of_buffering - 1] = False
        since_first_s = ends_s[1:-1] - ends_s[0]
        falls[1:] &= total[1:-1] - total[0] >= _LIMITS.smallest_ratio * after[1:] * since_first_s
    if not falls.any():
        return None
    likelihood = two_rate_log_likelihood(total[:-1], total[-1], ends_s[:-1], ends_s[-1])
    change = int(np.argmax(np.where(falls, likelihood, -np.inf))) + 1
    slow = np.flatnonzero(before[: change - 1] < after[change - 1])
    return None if slow.size and ends_s[slow[-1]] > _LIMITS.longest_lead_s else (change, falls)


def _find_fall(cycles: Cycles) -> int | None:
    """Return the cycles before the likeliest fall of the rate; None if the rate may only wander."""
    fall = _find_likeliest_fall(cycles)
    if fall is None:
        return None
    change, falls = fall
    if rate_drop_p_value(cycles, change) < _LIMITS.largest_p:
        return change
    if cycles.paused and falls[0] and size_drop_p_value(cycles.size_bytes) < _LIMITS.largest_p:
        return 1
    earlier = _find_fall(cycles.keep_first(change)) or 0
    confirmed = earlier and rate_drop_p_value(cycles, earlier) < _LIMITS.largest_p_of_earlier
    return earlier if confirmed else None


def _continues(cycles: Cycles, earlier: int, later: int) -> bool:
    """Return whether the part between two falls is buffering too."""
    ends_s, total, before, after = _measure_means(cycles)
    length_s = ends_s[later - 1] - ends_s[earlier - 1]
    between = (total[later - 1] - total[earlier - 1]) / length_s
    if after[later - 1] <= 0 or between <= 0:
        return bool(between > 0)
    rates = before[earlier - 1], after[later - 1]
    share = np.log(rates[0] / between) / np.log(rates[0] / rates[1])
    is_short = length_s <= ends_s[earlier - 1]
    most = _LIMITS.share_of_fall_short if is_short else _LIMITS.share_of_fall_long
    return bool(share < most)


def rate_drop_p_value(cycles: Cycles, change: int) -> float:
    """Compute the probability of a fall like this one where the rate only wanders, one-sided.

    The log-rates before and after a change are compared. How far a mean over a time t wanders is
    learnt from blocks of the two parts: the variance of log-rates of blocks of length s falls as s
    ** (2 H - 2) (variance-time plot, Leland et al. 1994), with H from 1/2 where nothing is
    remembered to 1 where levels last; line and uncertainty of its slope are fitted by weighted
    least squares and carried to the lengths of the two parts. The difference is judged by Student's
    law, its degrees of freedom those of the largest scale that has three. Level switching, rates
    with long memory and heavy-tailed gaps wander on all scales, and so need a larger fall than
    independent gaps. At least one cycle comes before the change, and one after.
    """
    duration_s = cycles.duration_s
    edges_s = np.concatenate(([0.0], np.cumsum(duration_s)))
    total = np.concatenate(([0.0], np.cumsum(cycles.size_bytes)))
    before_s, after_s = float(edges_s[change]), float(edges_s[-1] - edges_s[change])
    before, after = float(total[change]) / before_s, float(total[-1] - total[change]) / after_s
    if after <= 0:
        return 0.0 if before > 0 else 1.0
    # Below the mean length of a cycle, as time sees it, a rate is that of a part of a cycle.
    shortest_s = float(np.average(duration_s, weights=duration_s))
    scale_s, variance, degrees = _variance_time(edges_s, total, change, shortest_s=shortest_s)
    if scale_s.size == 0:
        return 1.0
    intercept, slope = _fit_line(scale_s, variance, degrees)
    wander = [np.exp(intercept + slope * np.log(length_s)) for length_s in (before_s, after_s)]
    spread = np.sqrt(max(_LIMITS.smallest_variance, float(sum(wander))))
    return float(special.stdtr(degrees[-1], -(np.log(before / after) / spread)))


def size_drop_p_value(size_bytes: FloatArray) -> float:
    """Compute the probability that the first of log-normal sizes is this much larger than the rest.

    One-sided; the prediction interval of a normal law (Student's with n - 2 degrees of freedom for
    n sizes, four or more). It serves the ON periods of ON/OFF streams with few of them, of which
    the first fills the player's buffer.
    """
    rest = np.log(np.maximum(size_bytes[1:], 1.0))
    if rest.size < _LIMITS.fewest_later_periods:
        return 1.0
    spread = max(float(np.sqrt(_LIMITS.smallest_variance)), float(rest.std(ddof=1)))
    excess = np.log(max(1.0, float(size_bytes[0]))) - rest.mean()
    return float(special.stdtr(rest.size - 1, -excess / (spread * np.sqrt(1 + 1 / rest.size))))


def _variance_time(
    edges_s: FloatArray, total: FloatArray, change: int, *, shortest_s: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return scales, s, variance of log-rates about their part's mean, and degrees of freedom."""
    rows = []
    scale_s = shortest_s
    spans = [(0.0, float(edges_s[change])), (float(edges_s[change]), float(edges_s[-1]))]
    while True:
        squares, degrees = 0.0, 0
        for start_s, end_s in spans:
            blocks = int((end_s - start_s) / scale_s * (1 + 1e-9))
            if blocks < 2:
                continue
            at_s = start_s + scale_s * np.arange(blocks + 1)
            rate = np.diff(np.interp(at_s, edges_s, total)) / scale_s
            log_rate = np.log(rate + _LIMITS.empty_share * rate.mean())
            squares += float(((log_rate - log_rate.mean()) ** 2).sum())
            degrees += blocks - 1
        if degrees < _LIMITS.fewest_degrees:
            break
        rows.append((scale_s, max(_LIMITS.smallest_variance / 10, squares / degrees), degrees))
        scale_s *= 2
    columns = np.asarray(rows, dtype=np.float64).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]


def _fit_line(
    scale_s: FloatArray, variance: FloatArray, degrees: FloatArray
) -> tuple[float, float]:
    """Return intercept and slope of log-variance on log-scale through the weighted mean.

    The slope is taken one standard error up and within [-1, 0]; of one scale alone it is -1/2.
    """
    weight = degrees / degrees.sum()
    log_scale, log_variance = np.log(scale_s), np.log(variance)
    centre, level = float(weight @ log_scale), float(weight @ log_variance)
    spread = float(weight @ (log_scale - centre) ** 2)
    if spread <= 0:
        return level + 0.5 * centre, -0.5
    slope = float(weight @ ((log_scale - centre) * (log_variance - level))) / spread
    slope += float(np.sqrt(2 / (degrees.sum() * spread)))
    slope = min(0.0, max(-1.0, slope))
    return level - slope * centre, slope
