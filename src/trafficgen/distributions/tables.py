"""Quantile functions as tables, for laws whose own inverse is sought value by value.

Polynomials pass through points of the distribution function, so that little is inverted (Hörmann
and Leydold, "Continuous random variate generation by fast numerical inversion", ACM Transactions on
Modeling and Computer Simulation 13, 2003); each half of a law is counted from its own end, so that
digits are kept far in both tails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, singledispatch
from math import inf

import numpy as np

from trafficgen._core import QuantileTables
from trafficgen.distributions.base import Distribution
from trafficgen.distributions.families import CoreLaw, Mixture
from trafficgen.distributions.tails import BodyAndTail, Truncated
from trafficgen.units import BoolArray, FloatArray

#: Largest relative error of a table at the points where it is checked.
_TOLERANCE = 1e-11
#: Of a law on both sides of 0, errors are relative to this share of its interquartile range at
#: least.
_SMALLEST_SHARE = 1e-3
#: A table reaches to this power of a half: random numbers are multiples of 2**-53.
_SMALLEST = 54
_NODES = 0.5 - 0.5 * np.cos(np.pi * np.arange(6) / 5)
_CHECKS = 0.5 * (_NODES[1:] + _NODES[:-1])
#: Narrower pieces (as a share of their probability) and those beyond this many are left to the law.
_NARROWEST = 1e-6
_MOST_PIECES = 1 << 14
#: Coefficients of a polynomial add up to this many times the values that it covers at most.
_LARGEST_SWING = 100.0
#: Share of its width by which a piece may miss the next.
_ROUNDING = 1e-12
#: Values of a law of whole numbers at most.
_MOST_COUNTS = 1 << 12
#: A probability that was computed from a value leads back to it in spite of rounding.
_ROUNDED_PROBABILITY = 4e-16
#: Laws whose tables are kept.
_KEPT = 64


@singledispatch
def tabulate(law: Distribution) -> Distribution:
    """Return the same law, with quantiles from a table where its own take long.

    They differ from the exact ones by a relative error of at most 1e-9; those of whole numbers
    do not differ.
    """
    return law


@tabulate.register(Mixture)
@lru_cache(_KEPT)
def _tabulate(law: Distribution) -> TabulatedLaw:
    is_whole = isinstance(law, CoreLaw) and law.is_whole
    return TabulatedCounts(law=law) if is_whole else TabulatedLaw(law=law)


@tabulate.register
def _tabulate_core_law(law: CoreLaw) -> Distribution:
    return law if law.has_quantile else _tabulate(law)


@tabulate.register
def _tabulate_whole(law: Truncated) -> Distribution:
    return replace(law, whole=tabulate(law.whole))


@tabulate.register
def _tabulate_parts(law: BodyAndTail) -> Distribution:
    return replace(law, body=tabulate(law.body), tail=tabulate(law.tail))


@dataclass(frozen=True, kw_only=True)
class TabulatedLaw(Distribution):
    """A continuous law whose quantiles come from a table.

    Where the table does not hold (far in the tails, or where quantiles nearly jump) quantiles are
    those of the law itself.
    """

    law: Distribution  #: the law itself

    def __reduce__(self) -> tuple[object, ...]:
        return _tabulate, (self.law,)

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.law.support

    def _cdf(self, x: FloatArray) -> FloatArray:
        return self.law.cdf(x)

    def _sf(self, x: FloatArray) -> FloatArray:
        return self.law.sf(x)

    def _ppf(self, p: FloatArray) -> FloatArray:
        return self._read(p, upper=False)

    def _isf(self, p: FloatArray) -> FloatArray:
        return self._read(p, upper=True)

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high]."""
        return self.law.partial_moment(order, low=low, high=high)

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        return self.law.sample(generator, count)

    def _read(self, p: FloatArray, *, upper: bool) -> FloatArray:
        flat = np.ascontiguousarray(p).reshape(-1)
        values = self._tables.quantiles(flat, upper)
        missing = np.flatnonzero(np.isnan(values))
        if missing.size:
            values[missing] = (self.law.isf if upper else self.law.ppf)(flat[missing])
        return values.reshape(p.shape)

    @cached_property
    def _tables(self) -> QuantileTables:
        law, floor = self.law, 0.0
        if law.support[0] < 0 < law.support[1]:
            low, high = law.ppf([0.25, 0.75]).tolist()
            floor = _SMALLEST_SHARE * (high - low)
        knots = _knots(law)
        return QuantileTables(
            _half_table(law.cdf, knots, floor), _half_table(law.sf, knots[::-1], floor)
        )


@dataclass(frozen=True, kw_only=True)
class TabulatedCounts(TabulatedLaw):
    """A law of whole numbers whose quantiles are looked up among its probabilities."""

    def _ppf(self, p: FloatArray) -> FloatArray:
        place = np.searchsorted(self._reached, p * (1 - _ROUNDED_PROBABILITY), side="left")
        values = np.array(self.law.support[0] + place, dtype=np.float64)
        beyond = (place == self._reached.size) | (p >= 1.0)
        if np.any(beyond):
            values[beyond] = self.law.ppf(p[beyond])
        return values

    def _isf(self, p: FloatArray) -> FloatArray:
        return self.law.isf(p)

    @cached_property
    def _reached(self) -> FloatArray:
        """Cumulative probabilities of the smallest values."""
        reached: FloatArray = self.law.cdf(self.law.support[0] + np.arange(_MOST_COUNTS))
        return reached


Function = Callable[[FloatArray], FloatArray]


def _knots(law: Distribution) -> FloatArray:
    """Return values from end to end of a law, shape (n,): quantiles of itself or its parts."""
    if isinstance(law, Mixture):
        return np.unique(np.concatenate([_knots(part) for part in law.components]))
    probability = np.ldexp(1.0, -np.arange(_SMALLEST, 0, -2))
    knots = np.unique(np.append(law.ppf(probability), law.isf(probability)))
    return knots[np.isfinite(knots)]


def _half_table(tail: Function, knots: FloatArray, floor: float) -> tuple[FloatArray, FloatArray]:
    """Return ends of pieces, shape (n + 1,), and their polynomials, shape (n, 6).

    Pieces are cut until their polynomials meet the points between theirs too; those of pieces that
    never do are not numbers. ``tail`` is the probability beyond a value, from one end of the law,
    ``knots`` are values from that end on. In relative errors values are taken as ``floor`` at
    least.
    """
    reached = tail(knots)
    knots = knots[(reached > 0) & (np.append(0.0, reached[:-1]) <= 0.5)]
    low, high = knots[:-1], knots[1:]
    if not low.size:  # so narrow a law that all its quantiles are one number
        return np.array([0.5, 1.0]), np.full((1, 6), np.nan)
    found: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    pieces = 0
    while low.size:
        pieces += low.size
        starts, stops, polynomials, holds = _interpolate(tail, low, high, floor)
        polynomials[~holds] = np.nan
        cut = ~holds & (stops - starts > _NARROWEST * stops) & (pieces < _MOST_PIECES)
        found.append((starts[~cut], stops[~cut], polynomials[~cut]))
        cuts = _cut(low[cut], high[cut])
        low, high = cuts[:-1].ravel(), cuts[1:].ravel()
    starts, stops, polynomials = map(np.concatenate, zip(*found, strict=True))
    some = np.flatnonzero(stops > starts)
    starts, order = np.unique(starts[some], return_index=True)
    stops, polynomials = stops[some[order]], polynomials[some[order]]
    # Where rounding puts pieces over one another none holds.
    apart = np.abs(starts[1:] - stops[:-1]) > _ROUNDING * (stops - starts)[:-1]
    polynomials[:-1][apart] = np.nan
    return np.append(starts, stops[-1:]), polynomials


def _cut(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return ends of four parts between values, of equal ratio where these differ by a factor."""
    at = np.linspace(0.0, 1.0, 5)[:, np.newaxis]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = high / low
        equal = (1 - at) * low + at * high
        far = (ratio > 2) & (ratio < inf) | (ratio > 0) & (ratio < 0.5)
        cuts = np.where(far, low * ratio**at, equal)
    cuts[0], cuts[-1] = low, high
    return cuts


def _interpolate(
    tail: Function, low: FloatArray, high: FloatArray, floor: float
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Return ends of probability, polynomials of the share below, and whether they hold."""
    points = low + np.multiply.outer(_NODES, high - low)
    points[-1] = high
    between = low + np.multiply.outer(_CHECKS, high - low)
    reached = tail(points)
    starts, stops = reached[0], reached[-1]
    with np.errstate(all="ignore"):  # where probabilities are equal, polynomials are not numbers
        share = (reached - starts) / (stops - starts)
        newton = points
        for order in range(1, len(_NODES)):
            newton[order:] = (newton[order:] - newton[order - 1 : -1]) / (
                share[order:] - share[:-order]
            )
        polynomial = np.zeros_like(newton)
        for value, at in zip(newton[::-1], share[::-1], strict=True):
            polynomial[1:] = polynomial[:-1] - at * polynomial[1:]
            polynomial[0] = value - at * polynomial[0]
        at = (tail(between) - starts) / (stops - starts)
        found = np.zeros_like(between)
        for coefficient in polynomial[::-1]:
            found = found * at + coefficient
        errors = np.abs(found - between)
        holds = np.all(errors <= _TOLERANCE * np.maximum(np.abs(between), floor), axis=0)
        # Where probabilities are hardly more than rounding, checks are met by chance.
        holds &= np.sum(np.abs(polynomial[1:]), axis=0) <= _LARGEST_SWING * np.abs(high - low)
    return starts, stops, polynomial.T.copy(), holds
