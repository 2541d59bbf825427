"""A sample counted by the ticks of the clock that it was read from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen._core import stable_order
from trafficgen.units import BoolArray, FloatArray, IntArray

#: Ticks between the ends of a sample, for each of its values, that are counted one by one.
_TICKS_PER_VALUE = 4
_FEW_TICKS = 10_000


@dataclass(frozen=True)
class TickCounts:
    """The ticks on which a sample has values."""

    tick: float  #: granularity of the values, > 0
    number: IntArray  #: numbers of the ticks, ascending, shape (k,)
    counts: IntArray  #: values on each, shape (k,)
    place: IntArray  #: tick of each value, in the sample's order, shape (n,)

    @property
    def distinct(self) -> FloatArray:
        """The values of the ticks, ascending, shape (k,)."""
        return self.number.astype(np.float64) * self.tick

    @property
    def values(self) -> FloatArray:
        """The sample in its order, rounded to ticks, shape (n,)."""
        return self.distinct[self.place]

    @property
    def ascending(self) -> FloatArray:
        """The sample in ascending order, rounded to ticks, shape (n,)."""
        return np.repeat(self.distinct, self.counts)

    def select(self, kept: BoolArray) -> TickCounts:
        """Return the values on some of the ticks, given which, shape (k,)."""
        place = (np.cumsum(kept) - 1)[self.place[kept[self.place]]]
        return TickCounts(self.tick, self.number[kept], self.counts[kept], place)

    def median(self) -> int:
        """Return the median of the numbers, rounded down."""
        n, total = self.place.size, np.cumsum(self.counts)
        middle = self.number[np.searchsorted(total, [(n - 1) // 2, n // 2], side="right")]
        return int(middle.mean())


def count_ticks(sample: FloatArray, *, tick: float) -> TickCounts:
    """Count a sample, shape (n,), n > 0, in any order, by clock ticks."""
    number = np.rint(sample / tick).astype(np.int64)
    first = int(number.min())
    span = int(number.max()) - first + 1
    if span > max(_FEW_TICKS, _TICKS_PER_VALUE * number.size):
        return _count_by_order(number, tick=tick)
    number -= first
    counts = np.bincount(number, minlength=span)
    present = counts > 0
    place = (np.cumsum(present) - 1)[number]
    return TickCounts(tick, np.flatnonzero(present) + first, counts[present], place)


def _count_by_order(number: IntArray, *, tick: float) -> TickCounts:
    """Count ticks that are far apart, in a third of the time of ``np.unique``."""
    order = stable_order(number.astype(np.float64))
    ascending = number[order]
    is_first = np.diff(ascending, prepend=ascending[0] - 1) > 0
    starts = np.flatnonzero(is_first)
    place = np.empty(number.size, dtype=np.int64)
    place[order] = np.cumsum(is_first) - 1
    return TickCounts(tick, ascending[starts], np.diff(starts, append=number.size), place)
