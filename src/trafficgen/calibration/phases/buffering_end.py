"""Falls of a stream's rate: where the likeliest one is, and whether it is one."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.levels.cycles import Cycles
from trafficgen.calibration.levels.rate_drop import rate_drop_p_value, size_drop_p_value
from trafficgen.units import FloatArray

#: Fewer cycles than this show no change of rate.
_FEWEST_CYCLES = 4
#: Buffering is at least this much faster than playout.
SMALLEST_RATIO = 1.2
#: A fall less improbable than this under a rate that only wanders is none; with it fewer than 5% of
#: stationary streams have buffering, those included whose level switches or that have long memory,
#: once they last two minutes.
LARGEST_P = 0.005
#: An earlier fall than the likeliest one was that too if it is one by itself and this improbable
#: with all that follows.
_LARGEST_P_OF_EARLIER = 0.02
#: Buffering ends before this share of the session: what follows has to show what playout is.
_LARGEST_SHARE = 0.8
#: A source that takes longer than this to become fast does not start fast.
_LONGEST_LEAD_S = 5.0
#: What lies between two falls belongs to buffering when the first makes up less than this share of
#: the whole fall (in logarithms): the larger share where it is no longer than what comes before,
#: the smaller one otherwise.
_SHARE_OF_FALL_SHORT, _SHARE_OF_FALL_LONG = 0.5, 0.38
#: A tail is slower than what precedes it by this factor, and within this share of the time.
_TAIL_RATIO = 3.0
_LARGEST_TAIL = 0.2
_LARGEST_P_OF_TAIL = 0.001
#: Without pauses, buffering lasts this many cycles (a second) or more and is fast beyond the first:
#: a preroll burst is none.
_FEWEST_CYCLES_OF_BUFFERING = 4


def buffering_cycles(cycles: Cycles) -> int | None:
    """Return how many cycles belong to buffering, or None where the start is not faster than the
    rest.

    The likeliest single change of the rate (Poisson likelihood of two rates, as in binary
    segmentation: Scott and Knott 1974) is tested against a rate that wanders
    (:func:`~trafficgen.calibration.levels.rate_drop.rate_drop_p_value`); where it holds, it is sought
    again in what precedes it, so that buffering ends at the first substantial fall.
    """
    change = _fall(cycles.duration_s, cycles.size_bytes, paused=cycles.paused)
    found = None
    while change is not None:
        found = change if found is None or not _continues(cycles, change, found) else found
        change = _fall(cycles.duration_s[:change], cycles.size_bytes[:change], paused=cycles.paused)
    return found


def tail_cycles(cycles: Cycles, *, left_bytes: float, left_s: float) -> int | None:
    """Return the cycle from which on the stream runs out (a third as fast or slower), or None.

    The likeliest change of the whole stream has to be that late: else it is no more than the end of
    a slow playout.

    Args:
        cycles: The stream.
        left_bytes: Bytes after the last cycle, such as a last ON period: they belong to the tail.
        left_s: Time that they take, s.
    """
    if len(cycles) < _FEWEST_CYCLES + 1:
        return None
    ends_s, total, before, after = _means(cycles.duration_s, cycles.size_bytes)
    change = (
        int(np.argmax(two_rate_log_likelihood(total[:-1], total[-1], ends_s[:-1], ends_s[-1]))) + 1
    )
    late = ends_s[change - 1] >= (1 - _LARGEST_TAIL) * ends_s[-1]
    rest = (total[-1] - total[change - 1] + left_bytes) / (ends_s[-1] - ends_s[change - 1] + left_s)
    if not late or before[change - 1] < _TAIL_RATIO * max(after[change - 1], rest):
        return None
    p = rate_drop_p_value(cycles.duration_s, cycles.size_bytes, change)
    return change if p < _LARGEST_P_OF_TAIL else None


def two_rate_log_likelihood(
    before: FloatArray, total: FloatArray | float, elapsed: FloatArray, whole: FloatArray | float
) -> FloatArray:
    """Return the Poisson log-likelihood of a change from one rate to another, up to a constant, for
    each candidate.

    Args:
        before: Bytes before the change.
        total: Bytes in all.
        elapsed: Time before the change, > 0.
        whole: Time in all, > ``elapsed``.
    """
    after, remaining = total - before, np.maximum(whole - elapsed, 1e-12)
    tiny = 1e-300
    likelihood: FloatArray = before * np.log(
        np.maximum(before, tiny) / np.maximum(elapsed, 1e-12)
    ) + after * np.log(np.maximum(after, tiny) / remaining)
    return likelihood


def _means(
    duration_s: FloatArray, size_bytes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return ends and bytes so far of each cycle, and the mean rates before and after each change,
    bytes/s.
    """
    ends_s, total = np.cumsum(duration_s), np.cumsum(size_bytes)
    before = total[:-1] / ends_s[:-1]
    after = (total[-1] - total[:-1]) / (ends_s[-1] - ends_s[:-1])
    return ends_s, total, before, after


def _fall(duration_s: FloatArray, size_bytes: FloatArray, *, paused: bool) -> int | None:
    """Return the number of cycles before the likeliest fall of the rate, or None where the rate may
    only wander.
    """
    if size_bytes.size < _FEWEST_CYCLES:
        return None
    ends_s, total, before, after = _means(duration_s, size_bytes)
    falls = (before >= SMALLEST_RATIO * after) & (ends_s[:-1] <= _LARGEST_SHARE * ends_s[-1])
    if not paused:
        falls[: _FEWEST_CYCLES_OF_BUFFERING - 1] = False
        falls[1:] &= total[1:-1] - total[0] >= SMALLEST_RATIO * after[1:] * (
            ends_s[1:-1] - ends_s[0]
        )
    if not falls.any():
        return None
    likelihood = two_rate_log_likelihood(total[:-1], total[-1], ends_s[:-1], ends_s[-1])
    change = int(np.argmax(np.where(falls, likelihood, -np.inf))) + 1
    slow = np.flatnonzero(before[: change - 1] < after[change - 1])
    if slow.size and ends_s[slow[-1]] > _LONGEST_LEAD_S:
        return None
    if rate_drop_p_value(duration_s, size_bytes, change) < LARGEST_P:
        return change
    if paused and falls[0] and size_drop_p_value(size_bytes) < LARGEST_P:
        return 1
    earlier = _fall(duration_s[:change], size_bytes[:change], paused=paused)
    confirmed = (
        earlier is not None
        and rate_drop_p_value(duration_s, size_bytes, earlier) < _LARGEST_P_OF_EARLIER
    )
    return earlier if confirmed else None


def _continues(cycles: Cycles, earlier: int, later: int) -> bool:
    """Return whether what lies between two falls still is buffering."""
    ends_s, total = np.cumsum(cycles.duration_s), np.cumsum(cycles.size_bytes)
    length_s = ends_s[later - 1] - ends_s[earlier - 1]
    before = total[earlier - 1] / ends_s[earlier - 1]
    between = (total[later - 1] - total[earlier - 1]) / length_s
    after = (total[-1] - total[later - 1]) / (ends_s[-1] - ends_s[later - 1])
    if after <= 0 or between <= 0:
        return bool(between > 0)
    share = np.log(before / between) / np.log(before / after)
    return bool(
        share < (_SHARE_OF_FALL_SHORT if length_s <= ends_s[earlier - 1] else _SHARE_OF_FALL_LONG)
    )
