"""Find where buffering ends: the likeliest fall of a stream's rate, and whether it is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.levels.cycles import Cycles
from trafficgen.calibration.levels.rate_drop import rate_drop_p_value, size_drop_p_value
from trafficgen.units import FloatArray


@dataclass(frozen=True)
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


FALL_LIMITS = FallLimits()
_TINY, _TINY_S = 1e-300, 1e-12


def count_buffering_cycles(cycles: Cycles) -> int | None:
    """Return how many cycles belong to buffering; None if the start is not faster than the rest.

    The likeliest change of the rate (Poisson likelihood of two rates, as in binary segmentation:
    Scott and Knott 1974) is tested against a rate that wanders
    (:func:`~trafficgen.calibration.levels.rate_drop.rate_drop_p_value`), then searched for again in
    the part before it, so that buffering ends at the first substantial fall.
    """
    change = _fall(cycles.duration_s, cycles.size_bytes, paused=cycles.paused)
    found = None
    while change is not None:
        found = change if found is None or not _continues(cycles, change, found) else found
        change = _fall(cycles.duration_s[:change], cycles.size_bytes[:change], paused=cycles.paused)
    return found


def find_tail(cycles: Cycles, *, left_bytes: float, left_s: float) -> int | None:
    """Return the cycle from which on the stream runs out (a third as fast or slower), or None.

    The likeliest change of the whole stream has to be that late, else it ends a slow playout.

    Args:
        cycles: The stream.
        left_bytes: Bytes after the last cycle, such as a last ON period: they belong to the tail.
        left_s: Time that they take, s.
    """
    if len(cycles) < FALL_LIMITS.fewest_cycles + 1:
        return None
    ends_s, total, before, after = _means(cycles.duration_s, cycles.size_bytes)
    change = (
        int(np.argmax(two_rate_log_likelihood(total[:-1], total[-1], ends_s[:-1], ends_s[-1]))) + 1
    )
    late = ends_s[change - 1] >= (1 - FALL_LIMITS.largest_tail) * ends_s[-1]
    rest = (total[-1] - total[change - 1] + left_bytes) / (ends_s[-1] - ends_s[change - 1] + left_s)
    if not late or before[change - 1] < FALL_LIMITS.tail_ratio * max(after[change - 1], rest):
        return None
    p = rate_drop_p_value(cycles.duration_s, cycles.size_bytes, change)
    return change if p < FALL_LIMITS.largest_p_of_tail else None


def two_rate_log_likelihood(
    before: FloatArray, total: FloatArray | float, elapsed: FloatArray, whole: FloatArray | float
) -> FloatArray:
    """Return the Poisson log-likelihood of a change of rate at each candidate, up to a constant.

    Args:
        before: Bytes before the change.
        total: Bytes in all.
        elapsed: Time before the change, > 0.
        whole: Time in all, > ``elapsed``.
    """
    after, remaining = total - before, np.maximum(whole - elapsed, _TINY_S)
    fast = before * np.log(np.maximum(before, _TINY) / np.maximum(elapsed, _TINY_S))
    likelihood: FloatArray = fast + after * np.log(np.maximum(after, _TINY) / remaining)
    return likelihood


def _means(
    duration_s: FloatArray, size_bytes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return ends, bytes so far, and the rates before and after each cycle's end, bytes/s."""
    ends_s, total = np.cumsum(duration_s), np.cumsum(size_bytes)
    before = total[:-1] / ends_s[:-1]
    after = (total[-1] - total[:-1]) / (ends_s[-1] - ends_s[:-1])
    return ends_s, total, before, after


def _fall(duration_s: FloatArray, size_bytes: FloatArray, *, paused: bool) -> int | None:
    """Return the cycles before the likeliest fall of the rate; None if the rate may only wander."""
    if size_bytes.size < FALL_LIMITS.fewest_cycles:
        return None
    ends_s, total, before, after = _means(duration_s, size_bytes)
    falls = (before >= FALL_LIMITS.smallest_ratio * after) & (
        ends_s[:-1] <= FALL_LIMITS.largest_share * ends_s[-1]
    )
    if not paused:
        falls[: FALL_LIMITS.fewest_cycles_of_buffering - 1] = False
        falls[1:] &= total[1:-1] - total[0] >= FALL_LIMITS.smallest_ratio * after[1:] * (
            ends_s[1:-1] - ends_s[0]
        )
    if not falls.any():
        return None
    likelihood = two_rate_log_likelihood(total[:-1], total[-1], ends_s[:-1], ends_s[-1])
    change = int(np.argmax(np.where(falls, likelihood, -np.inf))) + 1
    slow = np.flatnonzero(before[: change - 1] < after[change - 1])
    if slow.size and ends_s[slow[-1]] > FALL_LIMITS.longest_lead_s:
        return None
    if rate_drop_p_value(duration_s, size_bytes, change) < FALL_LIMITS.largest_p:
        return change
    if paused and falls[0] and size_drop_p_value(size_bytes) < FALL_LIMITS.largest_p:
        return 1
    earlier = _fall(duration_s[:change], size_bytes[:change], paused=paused)
    confirmed = (
        earlier is not None
        and rate_drop_p_value(duration_s, size_bytes, earlier) < FALL_LIMITS.largest_p_of_earlier
    )
    return earlier if confirmed else None


def _continues(cycles: Cycles, earlier: int, later: int) -> bool:
    """Return whether the part between two falls is buffering too."""
    ends_s, total = np.cumsum(cycles.duration_s), np.cumsum(cycles.size_bytes)
    length_s = ends_s[later - 1] - ends_s[earlier - 1]
    before = total[earlier - 1] / ends_s[earlier - 1]
    between = (total[later - 1] - total[earlier - 1]) / length_s
    after = (total[-1] - total[later - 1]) / (ends_s[-1] - ends_s[later - 1])
    if after <= 0 or between <= 0:
        return bool(between > 0)
    share = np.log(before / between) / np.log(before / after)
    is_short = length_s <= ends_s[earlier - 1]
    most = FALL_LIMITS.share_of_fall_short if is_short else FALL_LIMITS.share_of_fall_long
    return bool(share < most)
