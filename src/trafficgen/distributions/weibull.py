"""Weibull distribution of minima (scipy.stats ``weibull_min``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.distributions.base import LocationScale
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class Weibull(LocationScale):
    """F(x) = 1 - exp(-z**c) with z = (x - loc) / scale.

    Attributes:
        c: Shape, > 0; below 1 the tail is heavier than exponential.
    """

    _positive = ("scale", "c")

    c: float

    def _standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(-np.expm1(-(z**self.c)))

    def _standard_sf(self, z: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-(z**self.c)))

    def _standard_ppf(self, probability: FloatArray) -> FloatArray:
        return np.asarray((-np.log1p(-probability)) ** (1 / self.c))

    def _standard_isf(self, probability: FloatArray) -> FloatArray:
        return np.asarray((-np.log(probability)) ** (1 / self.c))

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        shape = 1 + order / self.c
        inside = special.gammaincc(shape, low**self.c) - special.gammaincc(shape, high**self.c)
        return float(special.gamma(shape) * inside)

    def _standard_sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        return generator.weibull(self.c, count)
