"""Log-logistic distribution (scipy.stats ``fisk``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen.distributions.base import LocationScale, StandardForm
from trafficgen.distributions.scipy_special import special


@dataclass(frozen=True, kw_only=True)
class LogLogistic(LocationScale):
    """F(x) = 1 / (1 + z**-c) with z = (x - loc) / scale.

    Attributes:
        c: Shape, > 0; the k-th moment is infinite for c <= k.
    """

    _positive = ("scale", "c")

    c: float

    @property
    def _standard(self) -> StandardForm:
        c = self.c
        return StandardForm(
            cdf=lambda z: special.expit(c * np.log(z)),
            sf=lambda z: special.expit(-c * np.log(z)),
            ppf=lambda p: np.exp(special.logit(p) / c),
            isf=lambda p: np.exp(-special.logit(p) / c),
            sample=lambda generator, count: np.exp(generator.logistic(size=count) / c),
        )

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        """Integrate (u / (1 - u))**(order / c) over u: an incomplete beta function."""
        power = order / self.c
        with np.errstate(divide="ignore"):
            start, end = self._standard.cdf(np.array([low, high])).tolist()
            tails = self._standard.sf(np.array([low, high]))
        if power < 1:
            whole = special.gamma(1 + power) * special.gamma(1 - power)
            # From above, so that digits are kept far in the tail.
            above = special.betainc(1 - power, 1 + power, tails)
            return float(whole * (above[0] - above[1]))
        if math.isinf(high) or end >= 1.0:
            return math.inf
        from scipy import integrate  # noqa: PLC0415 - 0.3 s, which commands do without but for this rare case

        return float(integrate.quad(lambda u: (u / (1 - u)) ** power, start, end, limit=200)[0])
