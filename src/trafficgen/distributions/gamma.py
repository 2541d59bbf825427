"""Gamma distribution (scipy.stats ``gamma``)."""

from __future__ import annotations

from dataclasses import dataclass

from trafficgen.distributions.base import LocationScale, StandardForm
from trafficgen.distributions.scipy_special import special


@dataclass(frozen=True, kw_only=True)
class Gamma(LocationScale):
    """F(x) = P(a, z), the regularised lower incomplete gamma function, with z = (x - loc) / scale.

    Attributes:
        a: Shape, > 0.
    """

    _positive = ("scale", "a")

    a: float

    @property
    def _standard(self) -> StandardForm:
        a = self.a
        return StandardForm(
            cdf=lambda z: special.gammainc(a, z),
            sf=lambda z: special.gammaincc(a, z),
            ppf=lambda p: special.gammaincinv(a, p),
            isf=lambda p: special.gammainccinv(a, p),
            sample=lambda generator, count: generator.standard_gamma(a, count),
        )

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        shape = self.a + order
        inside = special.gammaincc(shape, low) - special.gammaincc(shape, high)
        return float(special.poch(self.a, order) * inside)
