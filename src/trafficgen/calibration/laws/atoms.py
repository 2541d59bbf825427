"""Values with positive probability (atoms), such as MTU-sized packets, told apart from the
continuous rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.units import BoolArray, FloatArray, IntArray

#: An atom is taken this often at least, has this share, and stands out by this factor over the
#: ticks beside it.
_FEWEST_TIMES = 10
_SMALLEST_SHARE = 0.01
_STANDS_OUT = 5.0
_TICKS_BESIDE = 3
#: So few different values, each taken ten times on average, are a discrete law.
_DISCRETE_VALUES = 12
_TIMES_EACH = 10
#: What is left beside atoms is kept value by value when it is no more than this.
_FEW_LEFT = 3
_MOST_ATOMS = 32


@dataclass(frozen=True)
class Split:
    """A sample parted into atoms and the rest.

    Attributes:
        values: Values of the atoms, ascending, shape (k,).
        probabilities: Their shares of the sample, shape (k,).
        rest: The sample without them, in its order, on the clock's ticks, shape (m,).
    """

    values: FloatArray
    probabilities: FloatArray
    rest: FloatArray


def split_atoms(sample: FloatArray, *, tick: float) -> Split:
    """Part a sample into atoms and the rest.

    A value is an atom when it has at least 1% of the sample (and ten values), and five times as
    many as the mean of
    the three clock ticks on either side: a law with a density puts nearly the same on neighbouring
    ticks. A sample of a dozen different values, each taken ten times on average, is atoms
    throughout, and so is what is left when it is three different values or fewer.

    Args:
        sample: The sample, shape (n,), n > 0.
        tick: Granularity of its values, > 0.
    """
    ticks = np.rint(sample / tick).astype(np.int64)
    distinct, place, counts = np.unique(ticks, return_inverse=True, return_counts=True)
    atom = _stand_out(distinct, counts)
    if np.count_nonzero(atom) > _MOST_ATOMS:
        atom &= counts >= np.sort(counts[atom])[-_MOST_ATOMS]
    left = counts[~atom]
    discrete = left.size <= _DISCRETE_VALUES and left.sum() >= _TIMES_EACH * left.size
    if left.size <= _FEW_LEFT or discrete:
        atom[:] = True
    in_atom = atom[place]
    # The median of what fell on the tick: the pieces of offload packets lie between the ticks of
    # the capture's clock.
    values = [float(np.median(sample[place == index])) for index in np.flatnonzero(atom)]
    return Split(
        values=np.array(values),
        probabilities=counts[atom] / ticks.size,
        rest=ticks[~in_atom].astype(np.float64) * tick,
    )


def without_atoms(sample: FloatArray, *, tick: float) -> Split:
    """Return a sample as it is, on the clock's ticks, with no value taken for an atom."""
    return Split(values=np.zeros(0), probabilities=np.zeros(0), rest=np.rint(sample / tick) * tick)


def _stand_out(distinct: IntArray, counts: IntArray) -> BoolArray:
    """Return which values are taken far more often than the ticks beside them."""
    total = np.concatenate(([0], np.cumsum(counts)))
    first = np.searchsorted(distinct, distinct - _TICKS_BESIDE)
    last = np.searchsorted(distinct, distinct + _TICKS_BESIDE, side="right")
    beside = (total[last] - total[first] - counts) / (2 * _TICKS_BESIDE)
    often = (counts >= _FEWEST_TIMES) & (counts >= _SMALLEST_SHARE * total[-1])
    atom: BoolArray = often & (counts > _STANDS_OUT * beside)
    return atom
