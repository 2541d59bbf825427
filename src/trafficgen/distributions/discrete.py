"""Laws of whole numbers (scipy.stats ``geom``, ``nbinom``, ``zipf`` and ``poisson``)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from trafficgen.distributions.base import Distribution, require_positive
from trafficgen.units import BoolArray, FloatArray, IntArray

#: Quantiles are sought up to here; beyond, doubles no longer hold whole numbers.
_LARGEST = 2.0**52
#: A probability that was computed from a value leads back to it in spite of rounding.
_ROUNDING = 4e-16

Condition = Callable[[FloatArray], BoolArray]


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

    @abstractmethod
    def _cdf(self, k: FloatArray) -> FloatArray:
        """Return P(K <= k) for whole k >= the first."""

    @abstractmethod
    def _sf(self, k: FloatArray) -> FloatArray:
        """Return P(K > k) for whole k >= the first."""

    @abstractmethod
    def _draw(self, generator: np.random.Generator, count: int) -> IntArray:
        """Return draws of K, shape (count,)."""

    @abstractmethod
    def _moments(self) -> tuple[float, float]:
        """Return E[K] and E[K**2], infinite where they diverge."""

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.loc + self._first, inf

    def cdf(self, value: npt.ArrayLike) -> FloatArray:
        """Return P(X <= value)."""
        k = np.floor(np.asarray(value, dtype=np.float64) - self.loc)
        return np.where(k < self._first, 0.0, self._cdf(np.maximum(k, self._first)))

    def sf(self, value: npt.ArrayLike) -> FloatArray:
        """Return P(X > value)."""
        k = np.floor(np.asarray(value, dtype=np.float64) - self.loc)
        return np.where(k < self._first, 1.0, self._sf(np.maximum(k, self._first)))

    def ppf(self, probability: npt.ArrayLike) -> FloatArray:
        """Return the smallest value that is not exceeded with at least a probability in [0, 1]."""
        p = np.asarray(probability, dtype=np.float64)
        nearly = p * (1 - _ROUNDING)
        return self._search(lambda k: np.asarray(self._cdf(k) >= nearly), p.shape, never=p >= 1.0)

    def isf(self, probability: npt.ArrayLike) -> FloatArray:
        """Return the smallest value that is exceeded with at most a probability in [0, 1]."""
        p = np.asarray(probability, dtype=np.float64)
        nearly = p * (1 + _ROUNDING)
        return self._search(lambda k: np.asarray(self._sf(k) <= nearly), p.shape, never=p <= 0.0)

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        return self.loc + self._draw(generator, count).astype(np.float64)

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
        first, second = self._moments()
        whole = (1.0, first + self.loc, second + 2 * self.loc * first + self.loc**2)[order]
        below_high = whole if math.isinf(high) else self._sum_below(order, high)
        return below_high - self._sum_below(order, low)

    def _sum_below(self, order: int, end: float) -> float:
        """Return E[X**order; X <= end] for a finite end."""
        if end < self.support[0]:
            return 0.0
        k = np.arange(self._first, math.floor(end - self.loc) + 1, dtype=np.float64)
        probability = np.diff(self._cdf(k), prepend=0.0)
        return float(np.dot(probability, (k + self.loc) ** order))


@dataclass(frozen=True, kw_only=True)
class Geometric(Discrete):
    """P(K = k) = (1 - p)**(k - 1) p for k = 1, 2, ...

    Attributes:
        p: Probability that a run ends, in (0, 1].
    """

    _first = 1

    p: float

    def _cdf(self, k: FloatArray) -> FloatArray:
        return np.asarray(-np.expm1(special.xlog1py(k, -self.p)))

    def _sf(self, k: FloatArray) -> FloatArray:
        return np.asarray(np.exp(special.xlog1py(k, -self.p)))

    def _moments(self) -> tuple[float, float]:
        return 1 / self.p, (2 - self.p) / self.p**2

    def _draw(self, generator: np.random.Generator, count: int) -> IntArray:
        return generator.geometric(self.p, count)


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

    def _cdf(self, k: FloatArray) -> FloatArray:
        return np.asarray(special.betainc(self.n, k + 1, self.p))

    def _sf(self, k: FloatArray) -> FloatArray:
        return np.asarray(special.betainc(k + 1, self.n, 1 - self.p))

    def _moments(self) -> tuple[float, float]:
        mean = self.n * (1 - self.p) / self.p
        return mean, mean / self.p + mean**2

    def _draw(self, generator: np.random.Generator, count: int) -> IntArray:
        return generator.negative_binomial(self.n, self.p, count)


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

    def _cdf(self, k: FloatArray) -> FloatArray:
        return 1.0 - self._sf(k)

    def _sf(self, k: FloatArray) -> FloatArray:
        return np.asarray(special.zeta(self.a, k + 1) / special.zeta(self.a, 1.0))

    def _moments(self) -> tuple[float, float]:
        whole = float(special.zeta(self.a, 1.0))
        first, second = (
            float(special.zeta(self.a - j, 1.0)) / whole if self.a - j > 1 else inf for j in (1, 2)
        )
        return first, second

    def _draw(self, generator: np.random.Generator, count: int) -> IntArray:
        return generator.zipf(self.a, count)


@dataclass(frozen=True, kw_only=True)
class Poisson(Discrete):
    """P(K = k) = exp(-mu) mu**k / k! for k = 0, 1, ...

    Attributes:
        mu: Mean, > 0.
    """

    _first = 0
    _positive = ("mu",)

    mu: float

    def _cdf(self, k: FloatArray) -> FloatArray:
        return np.asarray(special.pdtr(k, self.mu))

    def _sf(self, k: FloatArray) -> FloatArray:
        return np.asarray(special.pdtrc(k, self.mu))

    def _moments(self) -> tuple[float, float]:
        return self.mu, self.mu + self.mu**2

    def _draw(self, generator: np.random.Generator, count: int) -> IntArray:
        return generator.poisson(self.mu, count)
