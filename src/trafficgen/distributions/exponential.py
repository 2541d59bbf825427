"""Exponential distribution (scipy.stats ``expon``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen.distributions.base import LocationScale, StandardForm
from trafficgen.distributions.scipy_special import special


@dataclass(frozen=True, kw_only=True)
class Exponential(LocationScale):
    """F(x) = 1 - exp(-z) with z = (x - loc) / scale."""

    @property
    def _standard(self) -> StandardForm:
        return StandardForm(
            cdf=lambda z: -np.expm1(-z),
            sf=lambda z: np.exp(-z),
            ppf=lambda p: -np.log1p(-p),
            isf=lambda p: -np.log(p),
            sample=lambda generator, count: generator.standard_exponential(count),
        )

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        inside = special.gammaincc(order + 1, low) - special.gammaincc(order + 1, high)
        return math.factorial(order) * float(inside)
