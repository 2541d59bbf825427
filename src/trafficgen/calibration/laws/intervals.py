"""The information that a sample has about the parameters of a law, and intervals from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from trafficgen.calibration.laws.block_bootstrap import variance_inflation
from trafficgen.calibration.laws.cells import TINY, ClockEdges
from trafficgen.calibration.laws.likelihood import Maximum, scores_at
from trafficgen.calibration.laws.parameters import (
    free_parameters,
    from_free_scale,
    interval_of,
    on_free_scale,
)
from trafficgen.distributions import MIXTURES, Distribution
from trafficgen.units import FloatArray, IntArray

#: Cells of equal probability, and finer ones towards both ends.
_CELLS = 128
_FINE_CELLS = 16
_SMALLEST_TAIL = 1e-6
#: Directions in which the information is less than this share of the largest are left out: mixtures
#: whose components lie on each other have them.
_SINGULAR = 1e-9
Z = float(special.ndtri(0.975))


@dataclass(frozen=True)
class LawCells:
    """All values that a fitted law can take, in cells of about equal probability between clock
    ticks.

    Attributes:
        below: Edges of the lower half. above: Edges of the upper half, counted from above.
        probabilities: Of the cells under the law, shape (k,).
        scores: Derivatives of their logarithms by the free parameters, shape (k, p).
    """

    below: ClockEdges
    above: ClockEdges
    probabilities: FloatArray
    scores: FloatArray

    @property
    def edges(self) -> FloatArray:
        """All edges, ascending, shape (k - 1,)."""
        return np.concatenate((self.below.edges, self.above.edges))

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the free parameters' estimates from one value: the inverse Fisher
        information, shape (p, p).
        """
        information = self.scores.T @ (self.probabilities[:, None] * self.scores)
        return np.asarray(
            np.linalg.pinv(information, rcond=_SINGULAR, hermitian=True), dtype=np.float64
        )

    def place(self, values: FloatArray) -> IntArray:
        """Return the cell of each value, shape (n,)."""
        return np.searchsorted(self.edges, values)


def law_cells(maximum: Maximum, *, tick: float, is_difference: bool) -> LawCells | None:
    """Return the cells of a fitted law with their scores; None where it cannot be told apart from
    its neighbours.

    Args:
        maximum: The fitted law.
        tick: Granularity of values.
        is_difference: Whether values are differences of two clock readings.
    """
    law = maximum.distribution
    fine = np.geomspace(_SMALLEST_TAIL, 1 / _CELLS, _FINE_CELLS, endpoint=False)
    half = np.arange(1, _CELLS // 2) / _CELLS
    middle = float(law.ppf(0.5))
    low = law.ppf(np.concatenate((fine, half)))
    high = law.isf(np.concatenate((fine, half, [0.5])))
    number = np.unique(np.floor(np.concatenate((low, high)) / tick))
    edges = (number[np.isfinite(number)] + 0.5) * tick
    parts = [
        ClockEdges(part, tick, is_difference)
        for part in (edges[edges <= middle], edges[edges > middle])
    ]

    def log_probabilities(of: Distribution) -> FloatArray:
        return np.asarray(np.log(np.maximum(_probabilities(of, parts[0], parts[1]), TINY)))

    probabilities = _probabilities(law, parts[0], parts[1])
    with np.errstate(all="ignore"):
        scores = scores_at(
            maximum.family,
            maximum.params,
            maximum.free,
            bounds=maximum.bounds,
            of=log_probabilities,
        )
    if scores is None or not np.all(np.isfinite(scores)):
        return None
    scores = np.where(probabilities[:, None] > 1e-12, scores, 0.0)
    return LawCells(parts[0], parts[1], probabilities, scores)


def _probabilities(law: Distribution, below: ClockEdges, above: ClockEdges) -> FloatArray:
    """Return the probabilities of the cells between the edges, and beyond both ends."""
    cdf, sf = below.cdf(law), above.sf(law)
    crossing = 1.0 - (cdf[-1] if cdf.size else 0.0) - (sf[0] if sf.size else 0.0)
    parts = (cdf[:1], np.diff(cdf), [crossing], -np.diff(sf), sf[-1:])
    return np.maximum(np.concatenate(parts), 0.0)


@dataclass(frozen=True)
class Intervals:
    """95% intervals of parameters.

    Attributes:
        low: Lower ends by parameter.
        high: Upper ends by parameter.
    """

    low: dict[str, float]
    high: dict[str, float]


def wald_intervals(maximum: Maximum, cells: LawCells, *, observations: int) -> Intervals:
    """Return intervals from the Fisher information, on scales on which parameters have no
    bounds.
    """
    low, high = interval_of(
        maximum.family, maximum.params, maximum.free, cells.covariance / observations, z=Z
    )
    return Intervals(low, high)


def widen_for_dependence(
    maximum: Maximum, cells: LawCells, values: FloatArray, intervals: Intervals
) -> tuple[Intervals, float]:
    """Return intervals that respect the dependence of values that follow each other.

    The estimate is, to first order, the mean of the values' scores times the inverse information.
    The variance of that mean under dependence is what the moving-block bootstrap gives (Kuensch,
    Annals of Statistics 17, 1989); for a linear statistic it has a closed form, so that nothing is
    fitted again. Intervals are stretched where the bootstrap finds more variance than independent
    values have, beyond what it finds by chance; they never shrink.

    Args:
        maximum: The fitted law.
        cells: Its cells.
        values: The sample in its order in time, shape (n,).
        intervals: Intervals for independent values.

    Returns:
        The intervals, and the largest factor by which one was stretched.
    """
    influence = cells.scores @ cells.covariance
    kinds = free_parameters(maximum.family, maximum.params)
    ratios = variance_inflation(influence[cells.place(values)])
    if not np.any(ratios > 1):
        return intervals, 1.0
    stretch = np.sqrt(ratios)
    # The weights of a mixture share one fewer number than they are: all get the largest stretch.
    by_name = (
        dict.fromkeys(kinds, float(stretch.max()))
        if maximum.family in MIXTURES
        else dict(zip(kinds, stretch.tolist(), strict=True))
    )
    low, high = dict(intervals.low), dict(intervals.high)
    for name, factor in by_name.items():
        kind = (
            "logit"
            if kinds[name] == "weight"
            else "identity"
            if kinds[name] == "shift"
            else kinds[name]
        )
        centre = on_free_scale(maximum.params[name], kind)
        low[name] = from_free_scale(
            centre + factor * (on_free_scale(low[name], kind) - centre), kind
        )
        high[name] = from_free_scale(
            centre + factor * (on_free_scale(high[name], kind) - centre), kind
        )
    return replace(intervals, low=low, high=high), float(stretch.max())
