"""What every continuous distribution can do, and the location-scale families on top of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from trafficgen.units import FloatArray

#: What ufuncs return, some of which know single precision too.
Reals = npt.NDArray[np.floating]


#: Quantiles beyond the largest float are infinite, as are powers on the way to a probability of 1.
_TO_INFINITY = np.errstate(divide="ignore", over="ignore")


class Distribution(ABC):
    """A continuous distribution of one real quantity; results have the shape of the arguments."""

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


class StandardForm(NamedTuple):
    """Functions of Z, the variable of a family with loc = 0 and scale = 1."""

    cdf: Callable[[FloatArray], Reals]  #: P(Z <= z) for z within the ends
    sf: Callable[[FloatArray], Reals]  #: P(Z > z) for z within the ends
    ppf: Callable[[FloatArray], Reals]  #: quantile of a probability
    isf: Callable[[FloatArray], Reals]  #: value that Z exceeds with a probability
    #: Draws, shape (count,), that the caller may overwrite.
    sample: Callable[[np.random.Generator, int], FloatArray]
    low: float = 0.0  #: smallest possible value
    high: float = inf  #: largest possible value


@dataclass(frozen=True, kw_only=True)
class LocationScale(Distribution):
    """A family ``loc + scale * Z`` with Z of a standard form, as scipy.stats defines them.

    Attributes:
        loc: Shift of the standard form.
        scale: Factor of the standard form, > 0.
    """

    #: Parameters that must be positive and finite.
    _positive: ClassVar[tuple[str, ...]] = ("scale",)

    loc: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, *self._positive)

    @property
    @abstractmethod
    def _standard(self) -> StandardForm:
        """Functions of Z."""

    @abstractmethod
    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        """Return E[Z**order; low < Z <= high] for ends within those of Z."""

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        standard = self._standard
        return self.loc + self.scale * standard.low, self.loc + self.scale * standard.high

    def _cdf(self, x: FloatArray) -> Reals:
        standard = self._standard
        return standard.cdf(self._standardise(x, standard))

    def _sf(self, x: FloatArray) -> Reals:
        standard = self._standard
        return standard.sf(self._standardise(x, standard))

    def _ppf(self, p: FloatArray) -> Reals:
        return self.loc + self.scale * self._standard.ppf(p)

    def _isf(self, p: FloatArray) -> Reals:
        return self.loc + self.scale * self._standard.isf(p)

    def _standardise(self, x: FloatArray, standard: StandardForm) -> FloatArray:
        z = (x - self.loc) / self.scale
        return np.minimum(np.maximum(z, standard.low), standard.high)  # half the time of np.clip

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high], by the binomial theorem from the moments of Z."""
        ends = np.array([low, max(low, high)])
        bottom, top = self._standardise(ends, self._standard).tolist()
        return math.fsum(
            math.comb(order, k)
            * self.loc ** (order - k)
            * self.scale**k
            * self._standard_partial_moment(k, bottom, top)
            for k in range(order + 1)
            if k == order or self.loc != 0.0
        )

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        draws = self._standard.sample(generator, count)
        draws *= self.scale
        if self.loc != 0.0:
            draws += self.loc
        return draws


def require_positive(law: Distribution, *names: str) -> None:
    """Raise ``ValueError`` unless parameters of a law are positive finite numbers."""
    for name in names:
        number = getattr(law, name)
        if not (math.isfinite(number) and number > 0):
            raise ValueError(
                f"{name} of {type(law).__name__} must be positive and finite, got {number}"
            )
