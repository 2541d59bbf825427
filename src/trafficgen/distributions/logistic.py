"""Logistic distribution (scipy.stats ``logistic``)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import inf

from trafficgen.distributions.base import LocationScale, StandardForm
from trafficgen.distributions.scipy_special import special

#: Up to here two terms of the series of the dilogarithm are exact.
_SMALL = 1e-6


@dataclass(frozen=True, kw_only=True)
class Logistic(LocationScale):
    """F(x) = 1 / (1 + exp(-z)) with z = (x - loc) / scale; the SD is scale * pi / sqrt 3."""

    @property
    def _standard(self) -> StandardForm:
        return StandardForm(
            cdf=special.expit,
            sf=lambda z: special.expit(-z),
            ppf=special.logit,
            isf=lambda p: -special.logit(p),
            sample=lambda generator, count: generator.logistic(size=count),
            low=-inf,
        )

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        if low < 0 < high:  # each side by itself: differences keep their digits
            below = self._standard_partial_moment(order, low, 0.0)
            return below + self._standard_partial_moment(order, 0.0, high)
        if low >= 0:
            mirrored = self._standard_partial_moment(order, -high, -low)
            return -mirrored if order % 2 else mirrored
        return _integral(order, high) - _integral(order, low)


def _integral(order: int, z: float) -> float:
    """Return E[Z**order; Z <= z] for z <= 0, in terms of u = F(z)."""
    u = float(special.expit(z))
    if order == 0 or u == 0.0:
        return u
    rest = math.log1p(-u)
    if order == 1:
        return u * z + rest
    dilogarithm = u + u**2 / 4 if u < _SMALL else float(special.spence(1 - u))
    return u * z**2 + 2 * rest * z + 2 * dilogarithm + rest**2
