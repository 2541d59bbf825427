"""What every continuous distribution can do, and the location-scale families on top of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from trafficgen.units import FloatArray


class Distribution(ABC):
    """A continuous distribution of one real quantity; results have the shape of the arguments."""

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value; either may be infinite."""

    @abstractmethod
    def cdf(self, value: npt.ArrayLike) -> FloatArray:
        """Return P(X <= value)."""

    @abstractmethod
    def sf(self, value: npt.ArrayLike) -> FloatArray:
        """Return P(X > value), exact far in the upper tail where ``1 - cdf`` is not."""

    @abstractmethod
    def ppf(self, probability: npt.ArrayLike) -> FloatArray:
        """Return the quantile of a probability in [0, 1], the inverse of :meth:`cdf`."""

    @abstractmethod
    def isf(self, probability: npt.ArrayLike) -> FloatArray:
        """Return the value exceeded with a probability in [0, 1], the inverse of :meth:`sf`."""

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


@dataclass(frozen=True, kw_only=True)
class LocationScale(Distribution):
    """A family ``loc + scale * Z`` with Z >= 0 of a standard form, as scipy.stats defines them.

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

    @abstractmethod
    def _standard_cdf(self, z: FloatArray) -> FloatArray:
        """Return P(Z <= z) for z >= 0."""

    @abstractmethod
    def _standard_sf(self, z: FloatArray) -> FloatArray:
        """Return P(Z > z) for z >= 0."""

    @abstractmethod
    def _standard_ppf(self, probability: FloatArray) -> FloatArray:
        """Return the quantile of Z."""

    @abstractmethod
    def _standard_isf(self, probability: FloatArray) -> FloatArray:
        """Return the value that Z exceeds with a probability."""

    @abstractmethod
    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        """Return E[Z**order; low < Z <= high] for 0 <= low <= high."""

    @abstractmethod
    def _standard_sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return draws of Z, shape (count,), that the caller may overwrite."""

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.loc, inf

    def cdf(self, value: npt.ArrayLike) -> FloatArray:
        """Return P(X <= value)."""
        with np.errstate(divide="ignore"):
            return self._standard_cdf(self._standardised(value))

    def sf(self, value: npt.ArrayLike) -> FloatArray:
        """Return P(X > value)."""
        with np.errstate(divide="ignore"):
            return self._standard_sf(self._standardised(value))

    def ppf(self, probability: npt.ArrayLike) -> FloatArray:
        """Return the quantile of a probability in [0, 1]."""
        p = np.asarray(probability, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.asarray(self.loc + self.scale * self._standard_ppf(p))

    def isf(self, probability: npt.ArrayLike) -> FloatArray:
        """Return the value that is exceeded with a probability in [0, 1]."""
        p = np.asarray(probability, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.asarray(self.loc + self.scale * self._standard_isf(p))

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high], by the binomial theorem from the moments of Z."""
        bottom = max(0.0, (low - self.loc) / self.scale)
        top = max(bottom, (high - self.loc) / self.scale)
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
        draws = self._standard_sample(generator, count)
        draws *= self.scale
        if self.loc != 0.0:
            draws += self.loc
        return draws

    def _standardised(self, value: npt.ArrayLike) -> FloatArray:
        z = (np.asarray(value, dtype=np.float64) - self.loc) / self.scale
        return np.maximum(z, 0.0)


def require_positive(law: Distribution, *names: str) -> None:
    """Raise ``ValueError`` unless parameters of a law are positive finite numbers."""
    for name in names:
        number = getattr(law, name)
        if not (math.isfinite(number) and number > 0):
            raise ValueError(
                f"{name} of {type(law).__name__} must be positive and finite, got {number}"
            )
