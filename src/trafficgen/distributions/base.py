"""What every distribution can do, and the one whose function is linear between quantiles."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import inf

import numpy as np
import numpy.typing as npt

from trafficgen.units import FloatArray

#: What ufuncs return, some of which know single precision too.
Reals = npt.NDArray[np.floating]


#: Quantiles beyond the largest float are infinite, as are powers on the way to a probability of 1.
_TO_INFINITY = np.errstate(divide="ignore", over="ignore")


class Distribution(ABC):
    """A distribution of one quantity, continuous or of whole numbers.

    Results have the shape of the arguments.
    """

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value; either may be infinite."""

    @_TO_INFINITY
    def cdf(self, value: npt.ArrayLike) -> FloatArray:
        """Return P(X <= value)."""
        return np.asarray(self._cdf(np.asarray(value, np.float64)), np.float64)

    @_TO_INFINITY
    def sf(self, value: npt.ArrayLike) -> FloatArray:
        """Return P(X > value), exact far in the upper tail where ``1 - cdf`` is not."""
        return np.asarray(self._sf(np.asarray(value, np.float64)), np.float64)

    @_TO_INFINITY
    def ppf(self, probability: npt.ArrayLike) -> FloatArray:
        """Return the quantile of a probability in [0, 1], the inverse of :meth:`cdf`."""
        return np.asarray(self._ppf(np.asarray(probability, np.float64)), np.float64)

    @_TO_INFINITY
    def isf(self, probability: npt.ArrayLike) -> FloatArray:
        """Return the value exceeded with a probability in [0, 1], the inverse of :meth:`sf`."""
        return np.asarray(self._isf(np.asarray(probability, np.float64)), np.float64)

    # What the four methods above compute.

    @abstractmethod
    def _cdf(self, x: FloatArray) -> Reals: ...

    @abstractmethod
    def _sf(self, x: FloatArray) -> Reals: ...

    @abstractmethod
    def _ppf(self, p: FloatArray) -> Reals: ...

    @abstractmethod
    def _isf(self, p: FloatArray) -> Reals: ...

    @abstractmethod
    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high] for order 0, 1 or 2; infinite where it diverges."""

    @abstractmethod
    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""

    @property
    def mean(self) -> float:
        """Expectation; infinite where it diverges."""
        return self.partial_moment(1)

    @property
    def variance(self) -> float:
        """Variance; infinite where it diverges."""
        second = self.partial_moment(2)
        if math.isinf(second):
            return inf
        return max(0.0, second - self.mean**2)


#: Squares of values, which the variance needs, stay finite.
_LARGEST = 1e150


@dataclass(frozen=True, kw_only=True)
class Quantiles(Distribution):
    """Uniform between neighbouring quantiles; equal ones carry their probability as a jump."""

    #: Cumulative probabilities, ascending from 0 to 1, at least two.
    probabilities: tuple[float, ...]
    values: tuple[float, ...]  #: quantiles at these probabilities, ascending
    _p: FloatArray = field(init=False, repr=False, compare=False)
    _x: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        p = np.array(self.probabilities, dtype=np.float64)
        x = np.array(self.values, dtype=np.float64)
        if p.size != x.size or p.size < 2:
            got = f"got {p.size} and {x.size}"
            raise ValueError(f"quantiles need as many probabilities as values, at least 2; {got}")
        if p[0] != 0.0 or p[-1] != 1.0:
            raise ValueError(f"quantiles must reach from probability 0 to 1, got {p[0]} to {p[-1]}")
        if np.any(np.diff(p) <= 0) or np.any(np.diff(x) < 0) or not np.all(np.isfinite(x)):
            raise ValueError(
                "quantiles must be finite, with ascending probabilities and values that do not fall"
            )
        if (largest := np.max(np.abs(x))) > _LARGEST:
            raise ValueError(f"quantiles must lie within {_LARGEST:g}, got up to {largest:g}")
        object.__setattr__(self, "_p", p)
        object.__setattr__(self, "_x", x)

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.values[0], self.values[-1]

    def _cdf(self, x: FloatArray) -> FloatArray:
        # Equal neighbours: the upper end of the jump.
        after = np.searchsorted(self._x, x, side="right")
        left = np.clip(after - 1, 0, self._x.size - 2)
        width = self._x[left + 1] - self._x[left]
        part = np.divide(x - self._x[left], width, out=np.ones_like(x), where=width > 0)
        inside = self._p[left] + np.clip(part, 0.0, 1.0) * (self._p[left + 1] - self._p[left])
        return np.where(after == 0, 0.0, np.where(after == self._x.size, 1.0, inside))

    def _sf(self, x: FloatArray) -> FloatArray:
        return 1.0 - self._cdf(x)

    def _ppf(self, p: FloatArray) -> FloatArray:
        return np.asarray(np.interp(p, self._p, self._x))

    def _isf(self, p: FloatArray) -> FloatArray:
        return self._ppf(1.0 - p)

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high], summed over the pieces in closed form."""
        a, b, weight = self._x[:-1], self._x[1:], np.diff(self._p)
        jump = a == b
        start, end = np.clip(a, low, high), np.clip(b, low, high)
        share = np.divide(end - start, b - a, out=np.zeros_like(a), where=~jump)
        share[jump] = (low < a[jump]) & (a[jump] <= high)
        # Mean of x**order over [start, end]: 1, the midpoint, or a third of the sum of products.
        means = (np.ones_like(start), (start + end) / 2, (start**2 + start * end + end**2) / 3)
        return float(np.sum(weight * share * means[order]))

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        return self._ppf(generator.random(count))
