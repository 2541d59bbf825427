"""A sample as counts of clock cells, and the probabilities that a law puts into them.

What a capture shows of a gap is the difference of two readings of a clock. Its likelihood is
therefore the probability of a cell, not a density at its centre (Heitjan, "Inference from grouped
continuous data", Statistical Science 4, 1989). Cells are one tick wide where ticks are coarse
against the values, and about 2% of the values' spread where they are fine, which loses next to no
information and lets a likelihood cost the same for a thousand gaps and for a million.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from trafficgen._core import GroupedSample
from trafficgen.distributions import Distribution
from trafficgen.distributions.fitting.ticks import TickCounts, blocks_of, count_ticks
from trafficgen.units import FloatArray, IntArray, WholeArray

TINY = 1e-300


class CellSizes:
    """How fine cells are, and where the clock's rounding is taken into account."""

    #: Width of cells in units of the spread of the logarithms: finer ones gain nothing but cost.
    relative_width: float = 0.02
    #: Up to this many distinct values each has its own cell.
    most_distinct: int = 400
    most_edges: int = 100_000
    #: Above this many ticks the difference of two clock readings is as good as the gap.
    smoothed_ticks: int = 64
    #: Below this many ticks a clock's rounding is felt.
    coarse_ticks: int = 20
    #: Points of the mean over a tick, and at the first tick, where laws may rise steeply.
    nodes: int = 4
    nodes_of_first: int = 12


_SIZES = CellSizes()
#: Parts of a sample, contiguous in time, of which each is left out once.
FOLDS = 5
#: Interquartile range of a normal law, in standard deviations.
_INTERQUARTILE = 1.349


@dataclass(frozen=True)
class ClockEdges:
    """Ascending edges half-way between clock ticks; laws are evaluated as the clock shows them.

    A gap is the difference of two readings whose phases are uniform, so its distribution function
    at such an edge is the mean of the law's over one tick around it (the triangular kernel of two
    rounding errors).
    """

    edges: FloatArray  #: ascending, shape (m,); may end in infinity
    tick: float  #: granularity, > 0
    is_difference: bool  #: whether values are differences of two readings (gaps), not one (sizes)

    @cached_property
    def points(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Points, weights and first points of the mean over a tick around each edge.

        Edges of many ticks, and of values that are not differences, are points themselves.
        """
        smoothed = _SIZES.smoothed_ticks * self.tick if self.is_difference else -np.inf
        points, weights, sizes = [], [], []
        for edge in self.edges[: np.searchsorted(self.edges, smoothed)]:
            number = np.rint(edge / self.tick - 0.5)
            nodes, weight = _tick_nodes(is_first=number == 0)
            points.append((number + nodes) * self.tick)
            weights.append(weight)
            sizes.append(nodes.size)
        rest = self.edges[len(sizes) :]
        starts = np.cumsum([0, *sizes, *np.ones(rest.size)])[:-1].astype(np.int64)
        return (
            np.concatenate([*points, rest]),
            np.concatenate([*weights, np.ones(rest.size)]),
            starts,
        )

    def cdf(self, law: Distribution) -> FloatArray:
        """Return the probabilities below the edges, shape (m,)."""
        return self._smooth(law.cdf)

    def sf(self, law: Distribution) -> FloatArray:
        """Return the probabilities above the edges, shape (m,)."""
        return self._smooth(law.sf)

    def _smooth(self, probability: Callable[[FloatArray], FloatArray]) -> FloatArray:
        points, weights, starts = self.points
        return np.add.reduceat(weights * probability(points), starts)


@cache
def _tick_nodes(*, is_first: bool) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of the mean over a tick; laws may rise steeply in the first."""
    node, weight = np.polynomial.legendre.leggauss(
        _SIZES.nodes_of_first if is_first else _SIZES.nodes
    )
    u, w = (node + 1) / 2, weight / 2
    return (u**3, 3 * u**2 * w) if is_first else (u, w)  # u**3 puts the nodes near 0


@dataclass(frozen=True)
class Cells:
    """A sample grouped into cells, with its moments."""

    below: ClockEdges  #: edges of the lower half
    above: ClockEdges  #: edges of the upper half, where probabilities are counted from above
    lower: IntArray  #: index of each cell's lower edge among all edges, shape (k,)
    upper: IntArray  #: index of its upper edge, shape (k,)
    counts: FloatArray  #: values in each cell, shape (k,)
    values: FloatArray  #: a value that represents each cell, > 0, ascending, shape (k,)
    fold_counts: FloatArray  #: values in each cell by folds contiguous in time, shape (FOLDS, k)
    coarse_share: float  #: share of the values below 20 ticks, where a clock's rounding is felt

    @property
    def n(self) -> int:
        """Size of the sample."""
        return int(self.counts.sum())

    @property
    def tick(self) -> float:
        """Granularity of the values."""
        return self.below.tick

    @cached_property
    def mean(self) -> float:
        """Mean."""
        return self.average(self.values)

    @cached_property
    def variance(self) -> float:
        """Variance."""
        return self.average((self.values - self.mean) ** 2)

    @cached_property
    def logs(self) -> FloatArray:
        """Logarithms of the values, shape (k,)."""
        return np.log(self.values)

    @cached_property
    def mean_log(self) -> float:
        """Mean of the logarithms."""
        return self.average(self.logs)

    @cached_property
    def sd_log(self) -> float:
        """Standard deviation of the logarithms."""
        return float(np.sqrt(self.average((self.logs - self.mean_log) ** 2)))

    @cached_property
    def mean_number(self) -> float:
        """Mean of whole numbers, with 0 for the quarter of a tick that represents it."""
        return self.average(np.rint(self.values))

    def average(self, of: FloatArray) -> float:
        """Average a quantity of each cell, shape (k,), over the sample."""
        return float(np.dot(self.counts, of)) / self.n

    def quantile(self, probability: float) -> float:
        """Compute a quantile."""
        place = np.searchsorted(np.cumsum(self.counts), probability * self.n)
        return float(self.values[int(place)])

    @cached_property
    def log_widths(self) -> FloatArray:
        """Logarithms of the widths of the cells, shape (k,)."""
        edges = np.concatenate((self.below.edges, self.above.edges))
        return np.asarray(np.log(np.maximum(edges[self.upper] - edges[self.lower], TINY)))

    @cached_property
    def grouped(self) -> GroupedSample:
        """The sample as the core takes it."""
        return GroupedSample(
            self.below.points, self.above.points, self.lower, self.upper, self.counts
        )

    def log_likelihood(self, log_probabilities: FloatArray) -> float:
        """Return the log-likelihood as that of a density: probabilities over widths of cells."""
        return float(np.dot(self.counts, log_probabilities - self.log_widths))


def group_into_cells(sample: FloatArray, *, tick: float, is_difference: bool) -> Cells:
    """Group values >= 0 in their order in time, shape (n,), n > 0, into cells.

    Their granularity is ``tick``; gaps are differences of two clock readings, sizes are not.
    """
    return group_ticks(count_ticks(sample, tick=tick), is_difference=is_difference)


def group_ticks(ticks: TickCounts, *, is_difference: bool) -> Cells:
    """Group a sample that is counted by ticks, as :func:`group_into_cells` does."""
    few = ticks.number.size <= _SIZES.most_distinct
    ends = ticks.number if few else _geometric_ends(ticks)
    starts = np.searchsorted(ticks.number, ends, side="right")
    has_values = np.diff(starts, prepend=0) > 0
    cell = np.flatnonzero(has_values)
    before = ends - 1 if few else np.append(ends[0] - 1, ends[:-1])
    lower_number, upper_number = before[cell], ends[cell]
    starts = np.append(0, starts[cell][:-1])
    counts = np.add.reduceat(ticks.counts, starts, dtype=np.float64)
    products = np.multiply(ticks.number, ticks.counts, dtype=np.float64)
    sums = np.add.reduceat(products, starts) * ticks.tick
    edge_number = np.unique(np.concatenate((lower_number, upper_number)))
    edges = np.asarray((edge_number + 0.5) * ticks.tick, dtype=np.float64)
    split = int(np.searchsorted(edge_number, ticks.median()))
    coarse = np.searchsorted(ticks.number, ticks.number.dtype.type(_SIZES.coarse_ticks))
    return Cells(
        below=ClockEdges(edges[:split], ticks.tick, is_difference),
        above=ClockEdges(edges[split:], ticks.tick, is_difference),
        lower=np.searchsorted(edge_number, lower_number),
        upper=np.searchsorted(edge_number, upper_number),
        counts=counts,
        values=np.maximum(sums / counts, 0.25 * ticks.tick),
        fold_counts=_count_folds(ticks.in_order, upper_number),
        coarse_share=float(ticks.counts[:coarse].sum()) / ticks.size,
    )


def _count_folds(in_order: WholeArray, upper_number: WholeArray) -> FloatArray:
    """Return the values of each fold in each cell, given the cells' last ticks."""
    found = np.zeros((FOLDS, upper_number.size))
    for number, fold in enumerate(np.array_split(in_order, FOLDS)):
        for part in blocks_of(fold):
            cell = np.searchsorted(upper_number, part)
            found[number] += np.bincount(cell, minlength=upper_number.size)
    return found


def _geometric_ends(ticks: TickCounts) -> WholeArray:
    """Return the last ticks of cells that are a small part of the spread of the logarithms wide."""
    number = ticks.number
    low, high = ticks.ranks(np.ceil(ticks.size * np.array([0.25, 0.75])).astype(np.int64) - 1)
    lowest, highest = int(number[0]), int(number[-1])
    first, last = float(max(lowest, 1)), float(max(highest, 1))
    spread = np.log(max(high, 1.0) / max(low, 1.0)) / _INTERQUARTILE
    width = max(
        _SIZES.relative_width * min(1.0, spread), np.log(last / first) / _SIZES.most_edges, 1e-12
    )
    steps = np.arange(np.ceil(np.log(last / first) / width) + 1)
    ends = np.floor(first * np.exp(width * steps)).astype(np.int64)
    inside = ends[(ends > lowest) & (ends < highest)]
    inside = inside[np.diff(inside, prepend=lowest) > 0]  # they ascend: faster than np.unique
    return np.concatenate(([lowest], inside, [highest])).astype(number.dtype)
