"""Separate values with positive probability (atoms), such as packets of MTU size, from the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trafficgen.calibration.laws.ticks import TickCounts, count_ticks
from trafficgen.units import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
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
