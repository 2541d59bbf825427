"""Normal distribution (scipy.stats ``norm``)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import inf

from trafficgen.distributions.base import LocationScale, StandardForm
from trafficgen.distributions.scipy_special import special


@dataclass(frozen=True, kw_only=True)
class Normal(LocationScale):
    """F(x) = Phi((x - loc) / scale): ``loc`` is the mean, ``scale`` the standard deviation."""

    @property
    def _standard(self) -> StandardForm:
        return StandardForm(
            cdf=special.ndtr,
            sf=lambda z: special.ndtr(-z),
            ppf=special.ndtri,
            isf=lambda p: -special.ndtri(p),
            sample=lambda generator, count: generator.standard_normal(count),
            low=-inf,
        )

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high]."""
        a, b = (low - self.loc) / self.scale, (high - self.loc) / self.scale
        mass, first, second = (self._standard_partial_moment(k, a, b) for k in range(3))
        if order < 2:
            return mass if order == 0 else self.loc * mass + self.scale * first
        return self.loc**2 * mass + 2 * self.loc * self.scale * first + self.scale**2 * second

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        if order == 1:
            return _density(low) - _density(high)
        if low > 0:  # differences of the survival function keep their digits in the upper tail
            mass = float(special.ndtr(-low) - special.ndtr(-high))
        else:
            mass = float(special.ndtr(high) - special.ndtr(low))
        return mass if order == 0 else mass + _times_density(low) - _times_density(high)


def _density(z: float) -> float:
    return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def _times_density(z: float) -> float:
    return 0.0 if math.isinf(z) else z * _density(z)
