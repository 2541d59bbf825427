"""The information that a sample has about the parameters of a law, and intervals from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.laws.block_bootstrap import variance_inflation
from trafficgen.calibration.laws.cells import TINY, ClockEdges
from trafficgen.calibration.laws.families import Params
from trafficgen.calibration.laws.likelihood import FamilyLaw, from_unconstrained, to_unconstrained
from trafficgen.critical_values import NORMAL_95
from trafficgen.distributions import MIXTURES, Distribution
from trafficgen.units import FloatArray, IntArray

#: Cells of equal probability, and finer ones towards both ends.
_CELLS = 128
_FINE_CELLS = 16
_SMALLEST_TAIL = 1e-6
#: Directions with less than this share of the largest information are left out: mixtures whose
#: components lie on each other have them.
_SINGULAR = 1e-9
_STEP = 1e-5


@dataclass(frozen=True)
class LawCells:
    """All values of a fitted law, in cells of about equal probability between clock ticks.

    Attributes:
        below: Edges of the lower half.
        above: Edges of the upper half, counted from above.
        probabilities: Of the cells under the law, shape (k,).
        scores: Derivatives of their logarithms by the free parameters, shape (k, p).
    """

    below: ClockEdges
    above: ClockEdges
    probabilities: FloatArray
    scores: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the free parameters' estimates from one value, shape (p, p)."""
        information = self.scores.T @ (self.probabilities[:, None] * self.scores)
        inverse = np.linalg.pinv(information, rcond=_SINGULAR, hermitian=True)
        return np.asarray(inverse, dtype=np.float64)

    def place(self, values: FloatArray) -> IntArray:
        """Return the cell of each value, shape (n,)."""
        return np.searchsorted(np.concatenate((self.below.edges, self.above.edges)), values)


def law_cells(law: FamilyLaw, *, tick: float, is_difference: bool) -> LawCells | None:
    """Cut a fitted law into cells with their scores; None where its neighbours look the same."""
    whole = law.distribution
    fine = np.geomspace(_SMALLEST_TAIL, 1 / _CELLS, _FINE_CELLS, endpoint=False)
    half = np.arange(1, _CELLS // 2) / _CELLS
    middle = float(whole.ppf(0.5))
    low = whole.ppf(np.concatenate((fine, half)))
    high = whole.isf(np.concatenate((fine, half, [0.5])))
    number = np.unique(np.floor(np.concatenate((low, high)) / tick))
    edges = (number[np.isfinite(number)] + 0.5) * tick
    below = ClockEdges(edges[edges <= middle], tick, is_difference)
    above = ClockEdges(edges[edges > middle], tick, is_difference)

    def log_probabilities(of: Distribution) -> FloatArray:
        return np.asarray(np.log(np.maximum(_probabilities(of, below, above), TINY)))

    probabilities = _probabilities(whole, below, above)
    with np.errstate(all="ignore"):
        scores = law.scores(log_probabilities, law.free)
    if scores is None:
        return None
    return LawCells(
        below, above, probabilities, np.where(probabilities[:, None] > 1e-12, scores, 0.0)
    )


def _probabilities(law: Distribution, below: ClockEdges, above: ClockEdges) -> FloatArray:
    """Return the probabilities of the cells between the edges, and beyond both ends."""
    cdf, sf = below.cdf(law), above.sf(law)
    crossing = 1.0 - (cdf[-1] if cdf.size else 0.0) - (sf[0] if sf.size else 0.0)
    parts = (cdf[:1], np.diff(cdf), [crossing], -np.diff(sf), sf[-1:])
    return np.maximum(np.concatenate(parts), 0.0)


@dataclass(frozen=True)
class Intervals:
    """Lower and upper ends of 95% intervals by parameter."""

    low: Params
    high: Params


def wald_intervals(law: FamilyLaw, cells: LawCells, *, observations: int) -> Intervals:
    """Compute intervals from the Fisher information by the delta method, each on its own scale."""
    covariance, numbers = cells.covariance / observations, law.free
    params = law.at(numbers).params
    moved = [
        [law.at(numbers + sign * _STEP * axis).params for sign in (1, -1)]
        for axis in np.eye(numbers.size)
    ]
    low, high = {}, {}
    for name, scale in law.interval_scales.items():
        ends = [[to_unconstrained(at[name], scale) for at in pair] for pair in moved]
        slope = np.array([(up - down) / (2 * _STEP) for up, down in ends])
        half = NORMAL_95 * float(np.sqrt(max(0.0, slope @ covariance @ slope)))
        centre = to_unconstrained(params[name], scale)
        low[name] = from_unconstrained(centre - half, scale)
        high[name] = from_unconstrained(centre + half, scale)
    return Intervals(low, high)


def widen_for_dependence(
    law: FamilyLaw, cells: LawCells, values: FloatArray, intervals: Intervals
) -> tuple[Intervals, float]:
    """Widen intervals where values that follow each other are dependent.

    The estimate is, to first order, the mean of the values' scores times the inverse information.
    The variance of that mean under dependence is what the moving-block bootstrap gives (Kuensch,
    Annals of Statistics 17, 1989); for a linear statistic it has a closed form, so that nothing is
    fitted again. Intervals widen where the bootstrap finds more variance than independent values
    have, beyond what it finds by chance; they never shrink. The values, shape (n,), are in their
    order in time.

    Returns:
        The intervals, and the largest factor by which one was widened.
    """
    influence = cells.scores @ cells.covariance
    ratios = variance_inflation(influence[cells.place(values)])
    if not np.any(ratios > 1):
        return intervals, 1.0
    stretch = np.sqrt(ratios)
    # The weights of a mixture share one fewer number than they are: all get the largest stretch.
    largest = float(stretch.max())
    factors = [largest] * len(law.scales) if law.family in MIXTURES else stretch.tolist()
    low, high = dict(intervals.low), dict(intervals.high)
    for (name, scale), factor in zip(law.interval_scales.items(), factors, strict=True):
        centre = to_unconstrained(law.params[name], scale)
        for ends in (low, high):
            moved = centre + factor * (to_unconstrained(ends[name], scale) - centre)
            ends[name] = from_unconstrained(moved, scale)
    return Intervals(low, high), largest
