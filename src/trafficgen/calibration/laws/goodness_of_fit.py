"""Distances of a sample to a fitted law, and their p-values by parametric bootstrap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.laws.cells import ClockEdges
from trafficgen.calibration.laws.intervals import LawCells
from trafficgen.distributions import Distribution
from trafficgen.units import FloatArray

#: Size of the subsample and number of bootstrap samples of a p-value.
SUBSAMPLE = 2000
REPLICATES = 499
#: The distance is evaluated at so many distinct values at most.
_MOST_VALUES = 20_000
P_VALUE_METHOD = (
    "parametric bootstrap of the KS and Anderson-Darling distances with re-estimation by one step"
    f" of scoring, {REPLICATES} replicates, on a random subsample of at most {SUBSAMPLE} values"
)


@dataclass(frozen=True)
class FitCheck:
    """Distances of a sample to a law that was fitted to it, with p-values.

    Attributes:
        ks_p_value: p-value of the Kolmogorov-Smirnov distance.
        anderson_darling: Anderson-Darling statistic of the values that were tested.
        anderson_darling_p_value: Its p-value.
    """

    ks_p_value: float
    anderson_darling: float
    anderson_darling_p_value: float


def ks_distance(
    sample: FloatArray, law: Distribution, *, tick: float, is_difference: bool
) -> float:
    """Compute the largest distance of a sample's distribution function to a law's.

    Both are compared half a tick below and half a tick above the values, as the clock shows the
    law, so that a law is not blamed for rounding. With ticks that are small against the values this
    is the usual distance. The sample, shape (n,), n > 0, may have any order.
    """
    number, counts = np.unique(np.rint(sample / tick), return_counts=True)
    after = np.cumsum(counts) / sample.size
    before = np.concatenate(([0.0], after[:-1]))
    if number.size > _MOST_VALUES:
        kept = np.unique(np.rint(np.linspace(0, number.size - 1, _MOST_VALUES)).astype(np.int64))
        number, after, before = number[kept], after[kept], before[kept]
    below = ClockEdges((number - 0.5) * tick, tick, is_difference).cdf(law)
    above = ClockEdges((number + 0.5) * tick, tick, is_difference).cdf(law)
    return float(min(1.0, max(np.abs(after - above).max(), np.abs(before - below).max())))


def check_fit(values: FloatArray, cells: LawCells, *, generator: np.random.Generator) -> FitCheck:
    """Test whether a sample may come from the family that was fitted to it.

    Samples of the same size are drawn from the fitted law, as counts of its cells, so that rounding
    and bounds are those of the data. Of each, and of the sample itself, the parameters are
    estimated anew by one step of scoring from the fitted ones, and the distribution function moves
    by its derivatives; to first order that is the parametric bootstrap with refitting (Stute,
    Gonzalez-Manteiga and Presedo-Quindimil 1993; Kojadinovic and Yan 2012 for the linear form), at
    the cost of one matrix product. Without it, p-values would be far too large (Lilliefors 1967).
    """
    part = values
    if values.size > SUBSAMPLE:
        part = generator.choice(values, SUBSAMPLE, replace=False)
    n = part.size
    probabilities = cells.probabilities / cells.probabilities.sum()
    drawn = generator.multinomial(n, probabilities, size=REPLICATES)
    observed = np.bincount(cells.place(part), minlength=probabilities.size)
    shares = np.concatenate((observed[None, :], drawn)) / n
    fitted = np.cumsum(probabilities)[:-1]
    slopes = np.cumsum(probabilities[:, None] * cells.scores, axis=0)[:-1]
    step = shares @ (cells.scores @ cells.covariance)
    distance = np.cumsum(shares, axis=1)[:, :-1] - fitted - step @ slopes.T
    mass = 0.5 * (probabilities[1:] + probabilities[:-1])
    square = n * (distance**2 @ (mass / np.maximum(fitted * (1 - fitted), 1e-12)))
    return FitCheck(
        ks_p_value=_p_value(np.abs(distance).max(axis=1)),
        anderson_darling=float(square[0]),
        anderson_darling_p_value=_p_value(square),
    )


def _p_value(statistics: FloatArray) -> float:
    """Return the share of the statistics, the first included, that are not below the first."""
    tolerance = 1e-12 * abs(statistics[0])
    return float(np.mean(statistics >= statistics[0] - tolerance))
