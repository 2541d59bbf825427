"""What every distribution can do."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
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
