"""A sample counted by the ticks of its clock, and its atoms: values that many share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
        if kept.all():
            return self
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


class AtomLimits:
    """When a value is an atom."""

    #: An atom occurs at least this often; with less, chance makes atoms.
    fewest_times: int = 10
    #: ... and has at least this share of the sample; rarer values do not shape the law.
    smallest_share: float = 0.01
    #: ... and is this many times as frequent as the mean of this many ticks on either side.
    excess: float = 5.0
    neighbours: int = 3
    #: Up to this many distinct values, each seen this often on average, are a discrete law.
    discrete_values: int = 12
    times_each: int = 10
    #: Up to this many distinct values besides the atoms become atoms too.
    few_left: int = 3
    #: A law has at most this many atoms: the model file stays small.
    most: int = 32


_LIMITS = AtomLimits()


@dataclass(frozen=True)
class Split:
    """A sample separated into atoms and the rest."""

    values: FloatArray  #: of the atoms, ascending, shape (k,)
    probabilities: FloatArray  #: their shares of the sample, shape (k,)
    others: TickCounts  #: the other values

    @cached_property
    def rest(self) -> FloatArray:
        """The other values, in their order, rounded to the clock's ticks, shape (m,)."""
        return self.others.values


def split_atoms(sample: FloatArray, *, tick: float, counted: TickCounts | None = None) -> Split:
    """Separate a sample into atoms and the rest.

    A value is an atom when it has 1% of the sample (and ten values) and five times the mean of
    the three clock ticks on either side: a law with a density puts nearly the same on neighbouring
    ticks. A sample of at most a dozen distinct values, each seen ten times on average, is atoms
    throughout, and so are up to three distinct values that are left. The sample has the shape (n,),
    n > 0, and values of the granularity ``tick``; ``counted`` are its ticks, if they are known.
    """
    ticks = counted or count_ticks(sample, tick=tick)
    counts = ticks.counts
    atom = _exceeds_neighbours(ticks.number, counts)
    if np.count_nonzero(atom) > _LIMITS.most:
        atom &= counts >= np.sort(counts[atom])[-_LIMITS.most]
    left = counts[~atom]
    few = left.size <= _LIMITS.discrete_values
    if left.size <= _LIMITS.few_left or (few and left.sum() >= _LIMITS.times_each * left.size):
        atom[:] = True
    # The median of what fell on the tick: pieces of offload packets lie between clock ticks.
    values = [float(np.median(sample[ticks.place == index])) for index in np.flatnonzero(atom)]
    return Split(
        values=np.array(values),
        probabilities=counts[atom] / sample.size,
        others=ticks.select(~atom),
    )


def _exceeds_neighbours(distinct: IntArray, counts: IntArray) -> BoolArray:
    total = np.concatenate(([0], np.cumsum(counts)))
    first = np.searchsorted(distinct, distinct - _LIMITS.neighbours)
    last = np.searchsorted(distinct, distinct + _LIMITS.neighbours, side="right")
    nearby = (total[last] - total[first] - counts) / (2 * _LIMITS.neighbours)
    often = (counts >= _LIMITS.fewest_times) & (counts >= _LIMITS.smallest_share * total[-1])
    atom: BoolArray = often & (counts > _LIMITS.excess * nearby)
    return atom
