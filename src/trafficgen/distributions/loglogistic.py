"""Log-logistic distribution (scipy.stats ``fisk``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.distributions.base import LocationScale
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class LogLogistic(LocationScale):
    """F(x) = 1 / (1 + z**-c) with z = (x - loc) / scale.

    Attributes:
        c: Shape, > 0; the k-th moment is infinite for c <= k.
    """

    _positive = ("scale", "c")

    c: float

    def _standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(special.expit(self.c * np.log(z)))

    def _standard_sf(self, z: FloatArray) -> FloatArray:
        return np.asarray(special.expit(-self.c * np.log(z)))

    def _standard_ppf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(np.exp(special.logit(probability) / self.c))

    def _standard_isf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-special.logit(probability) / self.c))

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        """Integrate (u / (1 - u))**(order / c) over u: an incomplete beta function."""
        power = order / self.c
        with np.errstate(divide="ignore"):
            start, end = (float(at) for at in self._standard_cdf(np.array([low, high])))
            tails = self._standard_sf(np.array([low, high]))
        if power < 1:
            whole = special.gamma(1 + power) * special.gamma(1 - power)
            # From above, so that digits are kept far in the tail.
            above = special.betainc(1 - power, 1 + power, tails)
            return float(whole * (above[0] - above[1]))
        if math.isinf(high) or end >= 1.0:
            return math.inf
        from scipy import integrate  # noqa: PLC0415 - 0.3 s, which commands do without but for this rare case

        return float(integrate.quad(lambda u: (u / (1 - u)) ** power, start, end, limit=200)[0])

    def _standard_sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        return np.asarray(np.exp(generator.logistic(size=count) / self.c))
