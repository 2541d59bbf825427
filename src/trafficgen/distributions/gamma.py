"""Gamma distribution (scipy.stats ``gamma``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.distributions.base import LocationScale
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class Gamma(LocationScale):
    """F(x) = P(a, z), the regularised lower incomplete gamma function, with z = (x - loc) / scale.

    Attributes:
        a: Shape, > 0.
    """

    _positive = ("scale", "a")

    a: float

    def _standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(special.gammainc(self.a, z))

    def _standard_sf(self, z: FloatArray) -> FloatArray:
        return np.asarray(special.gammaincc(self.a, z))

    def _standard_ppf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(special.gammaincinv(self.a, probability))

    def _standard_isf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(special.gammainccinv(self.a, probability))

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        shape = self.a + order
        inside = special.gammaincc(shape, low) - special.gammaincc(shape, high)
        return float(special.poch(self.a, order) * inside)

    def _standard_sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        return generator.standard_gamma(self.a, count)
