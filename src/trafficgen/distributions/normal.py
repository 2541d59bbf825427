"""Normal distribution (scipy.stats ``norm``)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt
from scipy import special

from trafficgen.distributions.base import LocationScale
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class Normal(LocationScale):
    """F(x) = Phi((x - loc) / scale): ``loc`` is the mean, ``scale`` the standard deviation."""

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return -inf, inf

    def _standardised(self, value: npt.ArrayLike) -> FloatArray:
        return np.asarray((np.asarray(value, dtype=np.float64) - self.loc) / self.scale)

    def _standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(special.ndtr(z))

    def _standard_sf(self, z: FloatArray) -> FloatArray:
        return np.asarray(special.ndtr(-z))

    def _standard_ppf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(special.ndtri(probability))

    def _standard_isf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(-special.ndtri(probability))

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high]."""
        a, b = (low - self.loc) / self.scale, (high - self.loc) / self.scale
        mass = self._standard_partial_moment(0, a, b)
        if order == 0:
            return mass
        first = self._standard_partial_moment(1, a, b)
        if order == 1:
            return self.loc * mass + self.scale * first
        second = self._standard_partial_moment(2, a, b)
        return self.loc**2 * mass + 2 * self.loc * self.scale * first + self.scale**2 * second

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        if order == 1:
            return _density(low) - _density(high)
        if low > 0:  # differences of the survival function keep their digits in the upper tail
            mass = float(special.ndtr(-low) - special.ndtr(-high))
        else:
            mass = float(special.ndtr(high) - special.ndtr(low))
        return mass if order == 0 else mass + _times_density(low) - _times_density(high)

    def _standard_sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        return generator.standard_normal(count)

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        return generator.normal(self.loc, self.scale, count)


def _density(z: float) -> float:
    return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def _times_density(z: float) -> float:
    return 0.0 if math.isinf(z) else z * _density(z)
