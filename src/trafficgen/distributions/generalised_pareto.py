"""Generalised Pareto distribution (scipy.stats ``genpareto``): exceedances of a high threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen.distributions.base import LocationScale, StandardForm
from trafficgen.distributions.scipy_special import special
from trafficgen.units import FloatArray

#: Below this the closed forms lose more digits than the exponential limit is off.
_SMALLEST_SHAPE = 1e-6


@dataclass(frozen=True, kw_only=True)
class GeneralisedPareto(LocationScale):
    """F(x) = 1 - (1 + c z)**(-1 / c) with z = (x - loc) / scale.

    It is exponential for c = 0 and bounded for c < 0.

    Attributes:
        c: Shape; the k-th moment is infinite for c >= 1 / k.
    """

    c: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.c):
            raise ValueError(f"c of {type(self).__name__} must be finite, got {self.c}")

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.loc, self.loc - self.scale / self.c if self.c < 0 else math.inf

    def _log_sf(self, z: FloatArray) -> FloatArray:
        if abs(self.c) < _SMALLEST_SHAPE:
            return -z
        return np.asarray(-np.log1p(np.maximum(self.c * z, -1.0)) / self.c)

    @property
    def _standard(self) -> StandardForm:
        return StandardForm(
            cdf=lambda z: -np.expm1(self._log_sf(z)),
            sf=lambda z: np.exp(self._log_sf(z)),
            ppf=lambda p: self._from_log_sf(np.log1p(-p)),
            isf=lambda p: self._from_log_sf(np.log(p)),
            sample=lambda generator, count: self._from_log_sf(
                -generator.standard_exponential(count)
            ),
        )

    def _from_log_sf(self, log_sf: FloatArray) -> FloatArray:
        if abs(self.c) < _SMALLEST_SHAPE:
            return -log_sf
        return np.asarray(np.expm1(-self.c * log_sf) / self.c)

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        """Return the moment from those of Y = 1 + c Z, whose survival function is Y**(-1 / c)."""
        if abs(self.c) < _SMALLEST_SHAPE:
            inside = special.gammaincc(order + 1, low) - special.gammaincc(order + 1, high)
            return math.factorial(order) * float(inside)
        if self.c < 0:
            low, high = min(low, -1 / self.c), min(high, -1 / self.c)
        elif math.isinf(high) and order * self.c >= 1:
            return math.inf
        bottom, top = 1 + self.c * low, 1 + self.c * high
        powers = [self._power_moment(j, bottom, top) for j in range(order + 1)]
        return math.fsum(
            math.comb(order, j) * (-1) ** (order - j) * powers[j] for j in range(order + 1)
        ) / (self.c**order)

    def _power_moment(self, order: int, bottom: float, top: float) -> float:
        """Return E[Y**order; bottom < Y <= top], the sides exchanged for c < 0."""
        power = order - 1 / self.c
        if power == 0:
            return math.log(top / bottom) / self.c
        return (_power(top, power) - _power(bottom, power)) / (self.c * power)


def _power(base: float, exponent: float) -> float:
    """Return base**exponent for base >= 0, 0 for the survival function at infinity."""
    if math.isinf(base):
        return 0.0
    return float(base**exponent) if base > 0 else 0.0
