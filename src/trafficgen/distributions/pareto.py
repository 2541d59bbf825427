"""Pareto distributions without and with an upper end (scipy.stats ``pareto``, ``truncpareto``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen.distributions.base import LocationScale
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class Pareto(LocationScale):
    """F(x) = 1 - z**-b for z = (x - loc) / scale >= 1.

    Attributes:
        b: Tail index, > 0; the mean is infinite for b <= 1, the variance for b <= 2.
    """

    _positive = ("scale", "b")

    b: float

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.loc + self.scale, math.inf

    def _standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(-np.expm1(-self.b * np.log(np.maximum(z, 1.0))))

    def _standard_sf(self, z: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(z, 1.0) ** -self.b)

    def _standard_ppf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-np.log1p(-probability) / self.b))

    def _standard_isf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(probability ** (-1 / self.b))

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        bottom, top = max(1.0, low), max(1.0, high)
        power = order - self.b
        if math.isinf(top) and power >= 0:
            return math.inf
        if power == 0:
            return self.b * math.log(top / bottom)
        return float(self.b / power * (top**power - bottom**power))

    def _standard_sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        draws = generator.pareto(self.b, count)
        draws += 1.0
        return draws


@dataclass(frozen=True, kw_only=True)
class TruncatedPareto(LocationScale):
    """F(x) = (1 - z**-b) / (1 - c**-b) for z = (x - loc) / scale between 1 and c.

    Attributes:
        b: Exponent, > 0.
        c: Largest value over the smallest, > 1.
    """

    _positive = ("scale", "b")

    b: float
    c: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.c) and self.c > 1):
            raise ValueError(f"c of {type(self).__name__} must be finite and above 1, got {self.c}")

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.loc + self.scale, self.loc + self.scale * self.c

    @property
    def _mass(self) -> float:
        return -math.expm1(-self.b * math.log(self.c))

    def _standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(-np.expm1(-self.b * np.log(np.clip(z, 1.0, self.c))) / self._mass)

    def _standard_sf(self, z: FloatArray) -> FloatArray:
        # Counted from the upper end, so that it keeps its digits there.
        inside = np.clip(z, 1.0, self.c)
        beyond = -np.expm1(-self.b * np.log(self.c / inside))
        return np.asarray(inside**-self.b * beyond / self._mass)

    def _standard_ppf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-np.log1p(-probability * self._mass) / self.b))

    def _standard_isf(self, probability: FloatArray) -> FloatArray:
        end = self.c**-self.b
        return np.asarray((end + probability * self._mass) ** (-1 / self.b))

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        bottom = min(max(1.0, low), self.c)
        top = min(max(1.0, high), self.c)
        power = order - self.b
        if power == 0:
            return self.b * math.log(top / bottom) / self._mass
        return float(self.b / power * (top**power - bottom**power)) / self._mass

    def _standard_sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        return self._standard_ppf(generator.random(count))
