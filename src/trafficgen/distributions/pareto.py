"""Pareto distribution of the first kind (scipy.stats ``pareto``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen.distributions.base import LocationScale, require_positive
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class Pareto(LocationScale):
    """F(x) = 1 - z**-b for z = (x - loc) / scale >= 1.

    Attributes:
        b: Tail index, > 0; the mean is infinite for b <= 1, the variance for b <= 2.
    """

    b: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "b")

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.loc + self.scale, math.inf

    def _standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(-np.expm1(-self.b * np.log(np.maximum(z, 1.0))))

    def _standard_sf(self, z: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(z, 1.0) ** -self.b)

    def _standard_ppf(self, probability: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(-np.log1p(-probability) / self.b))

    def _standard_isf(self, probability: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
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
