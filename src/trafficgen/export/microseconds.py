"""Times on a clock of microseconds, for tools that count no finer."""

from __future__ import annotations

import numpy as np

from trafficgen.units import US_PER_S, IntArray, us_from_ns


def rising_us(time_ns: IntArray) -> IntArray:
    """Return absolute times rounded to microseconds, each later than the one before, shape (n,).

    Packets within one microsecond are put one microsecond apart, in their order: tools that are
    told the same time twice send in an order of their own, or do not send at all.

    Args:
        time_ns: Times, ns, ascending, shape (n,).
    """
    whole_us = us_from_ns(time_ns)
    place = np.arange(whole_us.size)
    return np.asarray(np.maximum.accumulate(whole_us - place) + place, dtype=np.int64)


def seconds_text(time_us: int) -> str:
    """Return microseconds as seconds with six decimals, exactly."""
    seconds, rest = divmod(time_us, US_PER_S)
    return f"{seconds}.{rest:06d}"
