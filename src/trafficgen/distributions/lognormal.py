"""Log-normal distribution (scipy.stats ``lognorm``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.distributions.base import LocationScale
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class Lognormal(LocationScale):
    """F(x) = Phi(ln(z) / s) with z = (x - loc) / scale.

    Attributes:
        s: Standard deviation of ln z, > 0.
    """

    _positive = ("scale", "s")

    s: float

    def _standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(special.ndtr(np.log(z) / self.s))

    def _standard_sf(self, z: FloatArray) -> FloatArray:
        return np.asarray(special.ndtr(-np.log(z) / self.s))

    def _standard_ppf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(np.exp(self.s * special.ndtri(probability)))

    def _standard_isf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-self.s * special.ndtri(probability)))

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        shift = order * self.s
        upper = math.inf if math.isinf(high) else _log(high) / self.s
        lower = _log(low) / self.s
        # Differences of the survival function keep their digits in the upper tail.
        inside = special.ndtr(shift - lower) - special.ndtr(shift - upper)
        return math.exp(shift**2 / 2) * float(inside)

    def _standard_sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        draws = generator.standard_normal(count)
        draws *= self.s
        return np.asarray(np.exp(draws, out=draws))


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
