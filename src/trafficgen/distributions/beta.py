"""Beta distribution on a range (scipy.stats ``beta``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.distributions.base import LocationScale
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class Beta(LocationScale):
    """F(x) = I(z; a, b), the regularised incomplete beta function, z = (x - loc) / scale in [0, 1].

    Attributes:
        a: Shape at the lower end, > 0.
        b: Shape at the upper end, > 0; a = b = 1 is the uniform distribution.
    """

    _positive = ("scale", "a", "b")

    a: float
    b: float

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.loc, self.loc + self.scale

    def _standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(special.betainc(self.a, self.b, np.minimum(z, 1.0)))

    def _standard_sf(self, z: FloatArray) -> FloatArray:
        return np.asarray(special.betaincc(self.a, self.b, np.minimum(z, 1.0)))

    def _standard_ppf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(special.betaincinv(self.a, self.b, probability))

    def _standard_isf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(special.betainccinv(self.a, self.b, probability))

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        ends = special.betainc(self.a + order, self.b, np.clip([low, high], 0.0, 1.0))
        whole = special.beta(self.a + order, self.b) / special.beta(self.a, self.b)
        return float(whole * (ends[1] - ends[0]))

    def _standard_sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        return generator.beta(self.a, self.b, count)
