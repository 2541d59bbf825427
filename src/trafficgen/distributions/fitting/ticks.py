"""A sample counted by the ticks of its clock, and its atoms: values that many share.

Ticks fit into 32 bits but for the longest gaps of the finest clocks, and what is computed from them
block by block needs no array as long as the sample: a law of ten million values takes little more
memory than their ticks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trafficgen.units import BLOCK, BoolArray, FloatArray, IntArray, WholeArray

#: Values of a quantity: whole numbers, or seconds.
Sample = npt.NDArray[Any]


@dataclass(frozen=True)
class TickCounts:
    """The ticks on which a sample has values."""

    tick: float  #: granularity of the values, > 0
    number: WholeArray  #: numbers of the ticks, ascending, shape (k,)
    counts: WholeArray  #: values on each, shape (k,)
    in_order: WholeArray  #: tick of each value, in the sample's order, shape (n,)

    @property
    def size(self) -> int:
        """Size of the sample."""
        return self.in_order.size

    @property
    def values(self) -> FloatArray:
        """The sample in its order, rounded to ticks, shape (n,)."""
        return np.multiply(self.in_order, self.tick, dtype=np.float64)

    @property
    def ascending(self) -> FloatArray:
        """The sample in ascending order, rounded to ticks, shape (n,)."""
        return np.repeat(np.multiply(self.number, self.tick, dtype=np.float64), self.counts)

    @property
    def smallest(self) -> float:
        """The smallest value."""
        return float(self.number[0]) * self.tick

    @property
    def largest(self) -> float:
        """The largest value."""
        return float(self.number[-1]) * self.tick

    @property
    def mean(self) -> float:
        """Mean of the sample."""
        return (
            self.tick * sum(float(counts @ number) for number, counts in self._parts()) / self.size
        )

    @property
    def deviation(self) -> float:
        """Standard deviation of the sample."""
        mean = self.mean / self.tick
        square = sum(float(counts @ (number - mean) ** 2) for number, counts in self._parts())
        return self.tick * float(np.sqrt(square / self.size))

    def _parts(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield the numbers of ticks with their counts as floats, block by block."""
        for row in range(0, self.number.size, BLOCK):
            rows = slice(row, row + BLOCK)
            yield self.number[rows].astype(np.float64), self.counts[rows].astype(np.float64)

    def parts(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield values, ascending, and how many each has of the sample, block by block."""
        return ((number * self.tick, counts) for number, counts in self._parts())

    def select(self, kept: BoolArray) -> TickCounts:
        """Return the values on some of the ticks, given which, shape (k,)."""
        if kept.all():
            return self
        left_out = self.number[~kept]
        blocks = blocks_of(self.in_order)
        in_order = np.concatenate([part[np.isin(part, left_out, invert=True)] for part in blocks])
        return TickCounts(self.tick, self.number[kept], self.counts[kept], in_order)

    def ranks(self, rank: IntArray) -> WholeArray:
        """Return the numbers of the values of some ranks, from 0 on and below n, shape (m,)."""
        return self.number[np.searchsorted(np.cumsum(self.counts), rank, side="right")]

    def median(self) -> int:
        """Return the median of the numbers, rounded down."""
        middle = self.ranks(np.array([(self.size - 1) // 2, self.size // 2]))
        return int(middle.astype(np.int64).mean())


def blocks_of(values: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Yield views of values, shape (n,), of which each stays in the processor's cache."""
    return (values[row : row + BLOCK] for row in range(0, values.size, BLOCK))


def round_to_ticks(sample: Sample, *, tick: float) -> WholeArray:
    """Return the numbers of the ticks of values, shape (n,), n > 0, in 32 bits where they fit."""
    farthest = max(-float(sample.min()), float(sample.max())) / tick
    number: WholeArray = np.empty(
        sample.size, np.int32 if farthest < _MOST_IN_32_BITS else np.int64
    )
    for part, target in zip(blocks_of(sample), blocks_of(number), strict=True):
        target[:] = np.rint(part / tick)
    return number


#: With room for a few ticks more.
_MOST_IN_32_BITS = 2.0**31 - 1000


def count_ticks(sample: Sample, *, tick: float) -> TickCounts:
    """Count a sample, shape (n,), n > 0, in any order, by clock ticks."""
    in_order = round_to_ticks(sample, tick=tick)
    ascending = np.sort(in_order)
    firsts = [np.zeros(1, dtype=np.intp)]
    for row in range(0, ascending.size - 1, BLOCK):
        part = ascending[row : row + BLOCK + 1]
        firsts.append(np.flatnonzero(part[1:] != part[:-1]) + (row + 1))
    first = np.concatenate(firsts, dtype=_places_below(in_order.size), casting="unsafe")
    counts = np.diff(first, append=first.dtype.type(in_order.size))
    return TickCounts(tick, ascending[first], counts, in_order)


def _places_below(size: int) -> type[np.integer[Any]]:
    return np.int32 if size < _MOST_IN_32_BITS else np.int64


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
    whole: TickCounts  #: the sample


def split_atoms(sample: Sample, *, tick: float) -> Split:
    """Separate a sample into atoms and the rest.

    A value is an atom when it has 1% of the sample (and ten values) and five times the mean of
    the three clock ticks on either side: a law with a density puts nearly the same on neighbouring
    ticks. A sample of at most a dozen distinct values, each seen ten times on average, is atoms
    throughout, and so are up to three distinct values that are left. The sample has the shape (n,),
    n > 0, and values of the granularity ``tick``.
    """
    ticks = count_ticks(sample, tick=tick)
    counts = ticks.counts
    atom = _exceeds_neighbours(ticks.number, counts, sample.size)
    if np.count_nonzero(atom) > _LIMITS.most:
        atom &= counts >= np.sort(counts[atom])[-_LIMITS.most]
    left = counts[~atom]
    few = left.size <= _LIMITS.discrete_values
    if left.size <= _LIMITS.few_left or (few and left.sum() >= _LIMITS.times_each * left.size):
        atom[:] = True
    # The median of what fell on the tick: pieces of offload packets lie between clock ticks.
    values = [float(np.median(sample[ticks.in_order == number])) for number in ticks.number[atom]]
    return Split(
        values=np.array(values),
        probabilities=counts[atom] / sample.size,
        others=ticks.select(~atom),
        whole=ticks,
    )


def _exceeds_neighbours(number: WholeArray, counts: WholeArray, size: int) -> BoolArray:
    """Return which ticks have far more values than those around them, shape (k,)."""
    often = max(_LIMITS.fewest_times, _LIMITS.smallest_share * size)
    atom = np.zeros(counts.size, dtype=np.bool_)
    for place in np.flatnonzero(counts >= often).tolist():
        tick = int(number[place])
        ends = (tick - _LIMITS.neighbours, tick + _LIMITS.neighbours + 1)
        first, last = np.searchsorted(number, np.array(ends, dtype=number.dtype))
        nearby = (int(counts[first:last].sum()) - int(counts[place])) / (2 * _LIMITS.neighbours)
        atom[place] = counts[place] > _LIMITS.excess * nearby
    return atom
