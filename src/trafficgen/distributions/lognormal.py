"""Log-normal distribution (scipy.stats ``lognorm``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen.distributions.base import LocationScale, StandardForm
from trafficgen.distributions.scipy_special import special


@dataclass(frozen=True, kw_only=True)
class Lognormal(LocationScale):
    """F(x) = Phi(ln(z) / s) with z = (x - loc) / scale.

    Attributes:
        s: Standard deviation of ln z, > 0.
    """

    _positive = ("scale", "s")

    s: float

    @property
    def _standard(self) -> StandardForm:
        s = self.s
        return StandardForm(
            cdf=lambda z: special.ndtr(np.log(z) / s),
            sf=lambda z: special.ndtr(-np.log(z) / s),
            ppf=lambda p: np.exp(s * special.ndtri(p)),
            isf=lambda p: np.exp(-s * special.ndtri(p)),
            sample=lambda generator, count: np.exp(s * generator.standard_normal(count)),
        )

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        shift = order * self.s
        upper = math.inf if math.isinf(high) else _log(high) / self.s
        lower = _log(low) / self.s
        # Differences of the survival function keep their digits in the upper tail.
        inside = special.ndtr(shift - lower) - special.ndtr(shift - upper)
        return math.exp(shift**2 / 2) * float(inside)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
