"""Laws of whole numbers (scipy.stats ``geom``, ``nbinom``, ``zipf`` and ``poisson``)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import ClassVar, NamedTuple

import numpy as np

from trafficgen.distributions.base import Distribution, Reals, require_positive
from trafficgen.distributions.scipy_special import special
from trafficgen.units import BoolArray, FloatArray, IntArray

#: Quantiles are sought up to here; beyond, doubles no longer hold whole numbers.
_LARGEST = 2.0**52
#: A probability that was computed from a value leads back to it in spite of rounding.
ROUNDING = 4e-16
#: So many terms of a sum of powers are summed one by one: the next term of the series that stands
#: for the others is below 1e-12 of the sum.
_SUMMED_POWERS = 1000

Condition = Callable[[FloatArray], BoolArray]


class CountForm(NamedTuple):
    """Functions of K, the variable of a family with loc = 0."""

    cdf: Callable[[FloatArray], Reals]  #: P(K <= k) for whole k >= the first
    sf: Callable[[FloatArray], Reals]  #: P(K > k) for whole k >= the first
    moments: tuple[float, float]  #: E[K] and E[K**2], infinite where they diverge
    moments_to: Callable[[int], tuple[float, float]]  #: those of K <= k, for whole k >= the first
    sample: Callable[[np.random.Generator, int], IntArray]  #: draws, shape (count,)


@dataclass(frozen=True, kw_only=True)
class Discrete(Distribution):
    """A law ``loc + K`` of whole numbers.

    Attributes:
        loc: Shift, a whole number.
    """

    #: Smallest possible K, and parameters that must be positive and finite.
    _first: ClassVar[int]
    _positive: ClassVar[tuple[str, ...]] = ()

    loc: float = 0.0

    def __post_init__(self) -> None:
        if not self.loc.is_integer():
            raise ValueError(f"loc of {type(self).__name__} must be a whole number, got {self.loc}")
        require_positive(self, *self._positive)
        if not 0 < getattr(self, "p", 1.0) <= 1:
            raise ValueError(f"p of {type(self).__name__} must lie in (0, 1], got {self.p}")  # type: ignore[attr-defined]

    @property
    @abstractmethod
    def _counts(self) -> CountForm:
        """Functions of K."""

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.loc + self._first, inf

    def _cdf(self, x: FloatArray) -> FloatArray:
        k = np.floor(x - self.loc)
        return np.where(k < self._first, 0.0, self._counts.cdf(np.maximum(k, self._first)))

    def _sf(self, x: FloatArray) -> FloatArray:
        k = np.floor(x - self.loc)
        return np.where(k < self._first, 1.0, self._counts.sf(np.maximum(k, self._first)))

    def _ppf(self, p: FloatArray) -> FloatArray:
        """Return the smallest value that is not exceeded with at least a probability."""
        nearly, cdf = p * (1 - ROUNDING), self._counts.cdf
        return self._search(lambda k: np.asarray(cdf(k) >= nearly), p.shape, never=p >= 1.0)

    def _isf(self, p: FloatArray) -> FloatArray:
        """Return the smallest value that is exceeded with at most a probability."""
        nearly, sf = p * (1 + ROUNDING), self._counts.sf
        return self._search(lambda k: np.asarray(sf(k) <= nearly), p.shape, never=p <= 0.0)

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        return self.loc + self._counts.sample(generator, count).astype(np.float64)

    def _search(
        self, reached: Condition, shape: tuple[int, ...], *, never: BoolArray
    ) -> FloatArray:
        """Return the smallest value at which a condition holds: doubling, then bisection."""
        low = np.full(shape, self._first - 1.0)
        high = np.full(shape, float(self._first))
        step = 1.0
        while not np.all(done := reached(high) | (high > _LARGEST)):
            low, high = np.where(done, low, high), np.where(done, high, high + step)
            step *= 2
        while np.any(high - low > 1):
            middle = np.floor(0.5 * (low + high))
            inside = high - low > 1
            here = reached(np.maximum(middle, self._first)) & (middle >= self._first)
            low, high = np.where(inside & ~here, middle, low), np.where(inside & here, middle, high)
        return np.asarray(np.where(never, inf, high + self.loc))

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high]: the moment up to `high` less that up to `low`."""
        below_high = self._shift(1.0, *self._counts.moments)[order]
        if not math.isinf(high):
            below_high = self._moment_to(order, high)
        return below_high - self._moment_to(order, low)

    def _moment_to(self, order: int, end: float) -> float:
        """Return E[X**order; X <= end] for a finite end."""
        if end < self.support[0]:
            return 0.0
        k = math.floor(end - self.loc)
        share = float(self._counts.cdf(np.asarray(k, dtype=np.float64)))
        return self._shift(share, *self._counts.moments_to(k))[order]

    def _shift(self, share: float, first: float, second: float) -> tuple[float, float, float]:
        """Return moments of X, orders 0 to 2, from those of K."""
        loc = self.loc
        return share, first + loc * share, second + 2 * loc * first + loc**2 * share


@dataclass(frozen=True, kw_only=True)
class Geometric(Discrete):
    """P(K = k) = (1 - p)**(k - 1) p for k = 1, 2, ...

    Attributes:
        p: Probability that a run ends, in (0, 1].
    """

    _first = 1

    p: float

    @property
    def _counts(self) -> CountForm:
        p = self.p
        return CountForm(
            cdf=lambda k: -np.expm1(special.xlog1py(k, -p)),
            sf=lambda k: np.exp(special.xlog1py(k, -p)),
            moments=(1 / p, (2 - p) / p**2),
            moments_to=self._moments_to,
            sample=lambda generator, count: generator.geometric(p, count),
        )

    def _moments_to(self, k: int) -> tuple[float, float]:
        """Return E[K; K <= k] and E[K**2; K <= k] from those of K - 1, a negative binomial."""
        first, second = _binomial_moments_to(k - 1, 1.0, self.p)
        share = float(-np.expm1(special.xlog1py(k, -self.p)))
        return first + share, second + 2 * first + share


@dataclass(frozen=True, kw_only=True)
class NegativeBinomial(Discrete):
    """P(K = k) = C(k + n - 1, k) p**n (1 - p)**k for k = 0, 1, ...

    Attributes:
        n: Shape, > 0, not only whole.
        p: Probability, in (0, 1].
    """

    _first = 0
    _positive = ("n",)

    n: float
    p: float

    @property
    def _counts(self) -> CountForm:
        n, p = self.n, self.p
        mean = n * (1 - p) / p
        return CountForm(
            cdf=lambda k: special.betainc(n, k + 1, p),
            sf=lambda k: special.betainc(k + 1, n, 1 - p),
            moments=(mean, mean / p + mean**2),
            moments_to=lambda k: _binomial_moments_to(k, n, p),
            sample=lambda generator, count: generator.negative_binomial(n, p, count),
        )


@dataclass(frozen=True, kw_only=True)
class Zeta(Discrete):
    """P(K = k) = k**-a / zeta(a) for k = 1, 2, ...: the discrete Pareto law.

    Attributes:
        a: Exponent, > 1; the j-th moment is infinite for a <= j + 1.
    """

    _first = 1

    a: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.a) and self.a > 1):
            raise ValueError(f"a of {type(self).__name__} must be above 1, got {self.a}")

    @property
    def _counts(self) -> CountForm:
        a, whole = self.a, float(special.zeta(self.a, 1.0))
        mean, square = (
            float(special.zeta(a - j, 1.0)) / whole if a - j > 1 else inf for j in (1, 2)
        )
        return CountForm(
            cdf=lambda k: 1.0 - special.zeta(a, k + 1) / whole,
            sf=lambda k: special.zeta(a, k + 1) / whole,
            moments=(mean, square),
            moments_to=lambda k: (_sum_powers(k, a - 1) / whole, _sum_powers(k, a - 2) / whole),
            sample=lambda generator, count: generator.zipf(a, count),
        )


@dataclass(frozen=True, kw_only=True)
class Poisson(Discrete):
    """P(K = k) = exp(-mu) mu**k / k! for k = 0, 1, ...

    Attributes:
        mu: Mean, > 0.
    """

    _first = 0
    _positive = ("mu",)

    mu: float

    @property
    def _counts(self) -> CountForm:
        mu = self.mu
        return CountForm(
            cdf=lambda k: special.pdtr(k, mu),
            sf=lambda k: special.pdtrc(k, mu),
            moments=(mu, mu + mu**2),
            moments_to=self._moments_to,
            sample=lambda generator, count: generator.poisson(mu, count),
        )

    def _moments_to(self, k: int) -> tuple[float, float]:
        """Return E[K; K <= k] and E[K**2; K <= k]: k P(k; mu) is mu P(k - 1; mu)."""
        first = self.mu * float(special.pdtr(k - 1, self.mu)) if k >= 1 else 0.0
        pairs = self.mu**2 * float(special.pdtr(k - 2, self.mu)) if k >= 2 else 0.0
        return first, pairs + first


def _binomial_moments_to(k: int, n: float, p: float) -> tuple[float, float]:
    """Return E[K; K <= k] and E[K**2; K <= k] of the negative binomial law, k >= 0.

    With P(k; n) its probabilities, k P(k; n) is n (1 - p) / p P(k - 1; n + 1): no sum over values,
    of which a bound may leave billions.
    """
    odds = (1 - p) / p
    first = n * odds * float(special.betainc(n + 1, k, p)) if k >= 1 else 0.0
    pairs = n * (n + 1) * odds**2 * float(special.betainc(n + 2, k - 1, p)) if k >= 2 else 0.0
    return first, pairs + first


def _sum_powers(k: int, exponent: float) -> float:
    """Return the sum of j**-exponent for j = 1 to k, beyond some terms by Euler and Maclaurin."""
    start = min(k, _SUMMED_POWERS)
    total = float(np.sum(np.arange(1, start + 1, dtype=np.float64) ** -exponent))
    if k == start:
        return total
    low, high = float(start), float(k)
    integral = low ** (1 - exponent) * float(special.boxcox(high / low, 1 - exponent))
    ends = (high**-exponent - low**-exponent) / 2
    slopes = exponent * (low ** (-exponent - 1) - high ** (-exponent - 1)) / 12
    return float(total + integral + ends + slopes)
