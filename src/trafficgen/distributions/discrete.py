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

Condition = Callable[[FloatArray], BoolArray]


class CountForm(NamedTuple):
    """Functions of K, the variable of a family with loc = 0."""

    cdf: Callable[[FloatArray], Reals]  #: P(K <= k) for whole k >= the first
    sf: Callable[[FloatArray], Reals]  #: P(K > k) for whole k >= the first
    moments: tuple[float, float]  #: E[K] and E[K**2], infinite where they diverge
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
        """Return E[X**order; low < X <= high], the whole moment less what is summed outside."""
        first, second = self._counts.moments
        whole = (1.0, first + self.loc, second + 2 * self.loc * first + self.loc**2)[order]
        below_high = whole if math.isinf(high) else self._sum_below(order, high)
        return below_high - self._sum_below(order, low)

    def _sum_below(self, order: int, end: float) -> float:
        """Return E[X**order; X <= end] for a finite end."""
        if end < self.support[0]:
            return 0.0
        k = np.arange(self._first, math.floor(end - self.loc) + 1, dtype=np.float64)
        probability = np.diff(self._counts.cdf(k), prepend=0.0)
        return float(np.dot(probability, (k + self.loc) ** order))


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
            sample=lambda generator, count: generator.geometric(p, count),
        )


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
            sample=lambda generator, count: generator.poisson(mu, count),
        )
