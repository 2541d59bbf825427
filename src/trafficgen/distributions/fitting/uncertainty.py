"""How well a sample supports a law: intervals of parameters and means, distances, p-values.

Means of dependent values have intervals by the moving-block bootstrap: blocks of neighbours are
drawn instead of single values, which keeps the dependence within a block (Kuensch, "The jackknife
and the bootstrap for general stationary observations", Annals of Statistics 17, 1989).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen import _core
from trafficgen._core import GroupedSample
from trafficgen.critical_values import NORMAL_95
from trafficgen.distributions import MIXTURES, Distribution
from trafficgen.distributions.fitting.cells import ClockEdges
from trafficgen.distributions.fitting.families import Params
from trafficgen.distributions.fitting.likelihood import (
    FamilyLaw,
    from_unconstrained,
    to_unconstrained,
)
from trafficgen.distributions.fitting.ticks import TickCounts, blocks_of
from trafficgen.distributions.law import GoodnessOfFit
from trafficgen.imports import special
from trafficgen.units import FloatArray, IntArray


class BlockLimits:
    """How blocks are formed and when dependence counts."""

    #: Ratios of variances above 1 by fewer standard errors than this are chance.
    chance_errors: float = 2.0
    #: Resamples of an interval; more make its ends vary less with the seed.
    replicates: int = 999
    #: A block is at most this share of the series, and an interval uses at least this many blocks.
    longest_share: float = 0.1
    fewest_blocks: int = 4
    #: Shorter series have no interval.
    fewest_values: int = 20


_LIMITS = BlockLimits()


@dataclass(frozen=True)
class MeanInterval:
    """A mean with its 95% interval; without ends where the values are too few."""

    value: float
    low: float | None
    high: float | None


def block_length(values: FloatArray) -> int:
    """Choose the length of blocks that suits the dependence of a series, shape (n,).

    The plug-in rule of Andrews (Econometrica 59, 1991) for Bartlett's kernel, to which moving
    blocks correspond, with a first-order autoregression; at least the cube root of the number of
    values and at most a tenth of it.
    """
    centred = values - values.mean()
    variance = float(np.dot(centred, centred))
    lag_1 = float(np.dot(centred[1:], centred[:-1])) / variance if variance > 0 else 0.0
    return _block_length(values.size, lag_1)


def _block_length(n: int, lag_1: float) -> int:
    """Return the length of blocks, given the correlation of neighbours."""
    lag_1 = min(abs(lag_1), 0.97)
    length = 1.1447 * (n * 4 * lag_1**2 / (1 - lag_1**2) ** 2) ** (1 / 3)
    longest = int(_LIMITS.longest_share * n)
    return max(1, min(round(max(float(length), float(n ** (1 / 3)))), longest))


def variance_inflation(values: FloatArray, place: npt.NDArray[np.uint16]) -> float:
    """Compute by what factor dependence enlarges the variance of the mean of a series.

    It is 1 where independent values could show it: where it exceeds 1 by less than two standard
    errors sqrt(4 length / (3 n)) of Bartlett's estimate (Priestley 1981, section 6.2). It is never
    below 1. ``values``, shape (k,), are those that the series takes, ``place`` says which of them
    at each time, shape (n,).
    """
    n = place.size
    if n < _LIMITS.fewest_values:
        return 1.0
    shares = np.bincount(place, minlength=values.size) / n
    centred = values - shares @ values
    variance = float(shares @ centred**2)
    if variance <= 0:
        return 1.0
    length = _block_length(n, _core.lag_one_mean(centred, place) / variance)
    ratio = _core.block_sum_variance(centred, place, length) / length / variance
    by_chance = _LIMITS.chance_errors * float(np.sqrt(4 * length / (3 * n)))
    return ratio if ratio > 1 + by_chance else 1.0


def mean_with_interval(values: FloatArray, generator: np.random.Generator) -> MeanInterval:
    """Compute a mean with its 95% interval by the moving-block bootstrap.

    The ends are the mean plus and minus the quantiles of the bootstrap means about theirs (basic
    interval), from 999 resamples of as many whole blocks as fill the series. As k blocks show their
    spread with k - 1 degrees of freedom, ends are wider by Student's law and sqrt(k / (k - 1)). The
    values are in the order of time, such as the bytes in successive bins, shape (n,), n > 0.
    """
    n, mean = values.size, float(values.mean())
    if n < _LIMITS.fewest_values:
        return MeanInterval(mean, None, None)
    length = min(block_length(values), n // _LIMITS.fewest_blocks)
    total = np.concatenate(([0.0], np.cumsum(values)))
    block_means = (total[length:] - total[:-length]) / length
    blocks = n // length
    size = _LIMITS.replicates, blocks
    means = block_means[generator.integers(0, block_means.size, size)].mean(axis=1)
    wider = special.stdtrit(blocks - 1, 0.975) / NORMAL_95 * np.sqrt(blocks / (blocks - 1))
    below, above = wider * np.quantile(means - means.mean(), [0.025, 0.975])
    return MeanInterval(mean, mean - float(above), mean - float(below))


#: Cells of equal probability, and finer ones towards both ends.
_CELLS = 128
_FINE_CELLS = 16
_SMALLEST_TAIL = 1e-6
#: Directions with less than this share of the largest information are left out: mixtures whose
#: components lie on each other have them.
_SINGULAR = 1e-9
_STEP = 1e-5
#: Size of the subsample and number of bootstrap samples of a p-value.
_SUBSAMPLE = 2000
_REPLICATES = 499
#: A distance is evaluated at this many distinct values at most.
_MOST_VALUES = 20_000
_P_VALUE_METHOD = (
    "parametric bootstrap of the KS and Anderson-Darling distances with re-estimation by one step"
    f" of scoring, {_REPLICATES} replicates, on a random subsample of at most {_SUBSAMPLE} values"
)


@dataclass(frozen=True)
class LawCells:
    """All values of a fitted law, in cells of about equal probability between clock ticks."""

    edges: FloatArray  #: between the cells, ascending, shape (k - 1,)
    probabilities: FloatArray  #: of the cells under the law, shape (k,)
    scores: FloatArray  #: derivatives of their logarithms by the free parameters, shape (k, p)

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the free parameters' estimates if there were one value, shape (p, p)."""
        information = self.scores.T @ (self.probabilities[:, None] * self.scores)
        inverse = np.linalg.pinv(information, rcond=_SINGULAR, hermitian=True)
        return np.asarray(inverse, dtype=np.float64)

    def place(self, values: FloatArray) -> IntArray:
        """Return the cell of each value, shape (n,)."""
        return np.searchsorted(self.edges, values)


def law_cells(law: FamilyLaw, *, tick: float, is_difference: bool) -> LawCells | None:
    """Cut a fitted law into cells with their scores; None where its neighbours look the same."""
    whole = law.distribution
    fine = np.geomspace(_SMALLEST_TAIL, 1 / _CELLS, _FINE_CELLS, endpoint=False)
    half = np.arange(1, _CELLS // 2) / _CELLS
    middle = float(whole.ppf(0.5))
    low = whole.ppf(np.concatenate((fine, half)))
    high = whole.isf(np.concatenate((fine, half, [0.5])))
    with np.errstate(over="ignore"):  # quantiles that no float holds in ticks are left out
        number = np.unique(np.floor(np.concatenate((low, high)) / tick))
    edges = (number[np.isfinite(number)] + 0.5) * tick
    ends = np.concatenate(([-np.inf], edges, [np.inf]))
    cell = np.arange(edges.size + 1)
    grouped = GroupedSample(
        ClockEdges(ends[ends <= middle], tick, is_difference).points,
        ClockEdges(ends[ends > middle], tick, is_difference).points,
        cell,
        cell + 1,
        np.ones(cell.size),
    )
    probabilities = np.exp(grouped.log_probabilities(law.family, law.params, law.bounds))
    scores = grouped.scores(law.family, law.params, law.bounds)
    if scores is None:
        return None
    return LawCells(edges, probabilities, np.where(probabilities[:, None] > 1e-12, scores, 0.0))


@dataclass(frozen=True)
class Intervals:
    """Lower and upper ends of 95% intervals by parameter."""

    low: Params
    high: Params


def wald_intervals(law: FamilyLaw, cells: LawCells, *, observations: int) -> Intervals:
    """Compute intervals from the Fisher information by the delta method, each on its own scale."""
    covariance = cells.covariance / observations
    params = law.params
    moved = [
        [law.move_by(sign * _STEP * axis) for sign in (1, -1)] for axis in np.eye(len(covariance))
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
    law: FamilyLaw, cells: LawCells, sample: TickCounts, intervals: Intervals
) -> Intervals:
    """Widen intervals where values that follow each other are dependent.

    The estimate is, to first order, the mean of the values' scores times the inverse information.
    The variance of that mean under dependence is what the moving-block bootstrap gives (Kuensch,
    Annals of Statistics 17, 1989); for a linear statistic it has a closed form, so that nothing is
    fitted again. Intervals widen where the bootstrap finds more variance than independent values
    have, beyond what it finds by chance; they never shrink. The sample is in its order in time.
    """
    influence = cells.scores @ cells.covariance
    values = (np.multiply(part, sample.tick) for part in blocks_of(sample.in_order))
    place = np.concatenate([cells.place(part).astype(np.uint16) for part in values])
    of_parameters = np.ascontiguousarray(influence.T)
    ratios = np.array([variance_inflation(one, place) for one in of_parameters])
    if not np.any(ratios > 1):
        return intervals
    stretch = np.sqrt(ratios)
    if law.family in MIXTURES:  # its weights share one fewer number than they are
        stretch = np.full(len(law.scales), stretch.max())
    low, high = dict(intervals.low), dict(intervals.high)
    for (name, scale), factor in zip(law.interval_scales.items(), stretch.tolist(), strict=True):
        centre = to_unconstrained(law.params[name], scale)
        for ends in (low, high):
            moved = centre + factor * (to_unconstrained(ends[name], scale) - centre)
            ends[name] = from_unconstrained(moved, scale)
    return Intervals(low, high)


@dataclass(frozen=True)
class TickShares:
    """The distribution function of a sample around the clock ticks that have values."""

    tick: float
    number: FloatArray  #: of the ticks, ascending, shape (k,)
    before: FloatArray  #: share of the values below each, shape (k,)
    after: FloatArray  #: share of the values up to each, shape (k,)

    def distance_to(self, law: Distribution, *, is_difference: bool) -> float:
        """Compute the largest distance of the sample's distribution function to a law's.

        Both are compared half a tick below and half a tick above the values, as the clock shows
        the law, so that a law is not blamed for rounding. With ticks that are small against the
        values this is the usual distance.
        """
        below = ClockEdges((self.number - 0.5) * self.tick, self.tick, is_difference).cdf(law)
        above = ClockEdges((self.number + 0.5) * self.tick, self.tick, is_difference).cdf(law)
        off = max(np.abs(self.after - above).max(), np.abs(self.before - below).max())
        return float(min(1.0, off))


def share_ticks(counted: TickCounts) -> TickShares:
    """Return the distribution function at the ticks of a sample, or at even ranks of many."""
    kept = np.arange(counted.number.size)
    if kept.size > _MOST_VALUES:
        kept = np.unique(np.rint(np.linspace(0, kept.size - 1, _MOST_VALUES)).astype(np.int64))
    after = np.cumsum(np.add.reduceat(counted.counts, kept, dtype=np.int64))
    before = np.append(0, after[:-1])
    after = before + counted.counts[kept]
    number = counted.number[kept].astype(np.float64)
    return TickShares(counted.tick, number, before / counted.size, after / counted.size)


def check_fit(
    sample: TickCounts, cells: LawCells, *, ks: float, generator: np.random.Generator
) -> GoodnessOfFit:
    """Test whether a sample may come from the family that was fitted to it.

    Samples of the same size are drawn from the fitted law, as counts of its cells, so that rounding
    and bounds are those of the data. Of each, and of the sample itself, the parameters are
    estimated anew by one step of scoring from the fitted ones, and the distribution function moves
    by its derivatives; to first order that is the parametric bootstrap with refitting (Stute,
    Gonzalez-Manteiga and Presedo-Quindimil 1993; Kojadinovic and Yan 2012 for the linear form), at
    the cost of one matrix product. Without it, p-values would be far too large (Lilliefors 1967).
    The result carries the distance ``ks`` of the whole law, atoms included.
    """
    part = sample.in_order
    if part.size > _SUBSAMPLE:
        part = generator.choice(part, _SUBSAMPLE, replace=False)
    n = part.size
    probabilities = cells.probabilities / cells.probabilities.sum()
    drawn = generator.multinomial(n, probabilities, size=_REPLICATES)
    cell = cells.place(np.multiply(part, sample.tick))
    observed = np.bincount(cell, minlength=probabilities.size)
    shares = np.concatenate((observed[None, :], drawn)) / n
    fitted = np.cumsum(probabilities)[:-1]
    slopes = np.cumsum(probabilities[:, None] * cells.scores, axis=0)[:-1]
    step = shares @ (cells.scores @ cells.covariance)
    distance = np.cumsum(shares, axis=1)[:, :-1] - fitted - step @ slopes.T
    mass = 0.5 * (probabilities[1:] + probabilities[:-1])
    square = n * (distance**2 @ (mass / np.maximum(fitted * (1 - fitted), 1e-12)))
    return GoodnessOfFit(
        ks=ks,
        p_value=_p_value(np.abs(distance).max(axis=1)),
        anderson_darling=float(square[0]),
        anderson_darling_p_value=_p_value(square),
        method=_P_VALUE_METHOD,
    )


def _p_value(statistics: FloatArray) -> float:
    """Return the share of the statistics, the first included, that are not below the first."""
    tolerance = 1e-12 * abs(statistics[0])
    return float(np.mean(statistics >= statistics[0] - tolerance))
