"""Weibull distribution of minima (scipy.stats ``weibull_min``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.distributions.base import LocationScale, StandardForm
from trafficgen.distributions.scipy_special import special


@dataclass(frozen=True, kw_only=True)
class Weibull(LocationScale):
    """F(x) = 1 - exp(-z**c) with z = (x - loc) / scale.

    Attributes:
        c: Shape, > 0; below 1 the tail is heavier than exponential.
    """

    _positive = ("scale", "c")

    c: float

    @property
    def _standard(self) -> StandardForm:
        c = self.c
        return StandardForm(
            cdf=lambda z: -np.expm1(-(z**c)),
            sf=lambda z: np.exp(-(z**c)),
            ppf=lambda p: (-np.log1p(-p)) ** (1 / c),
            isf=lambda p: (-np.log(p)) ** (1 / c),
            sample=lambda generator, count: generator.weibull(c, count),
        )

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        shape = 1 + order / self.c
        inside = special.gammaincc(shape, low**self.c) - special.gammaincc(shape, high**self.c)
        return float(special.gamma(shape) * inside)
