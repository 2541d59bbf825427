"""Beta distribution on a range (scipy.stats ``beta``)."""

from __future__ import annotations

from dataclasses import dataclass

from trafficgen.distributions.base import LocationScale, StandardForm
from trafficgen.distributions.scipy_special import special


@dataclass(frozen=True, kw_only=True)
class Beta(LocationScale):
    """F(x) = I(z; a, b), the regularised incomplete beta function, z = (x - loc) / scale in [0, 1].

    Attributes:
        a: Shape at the lower end, > 0.
        b: Shape at the upper end, > 0; a = b = 1 is the uniform distribution.
    """

    _positive = ("scale", "a", "b")

    a: float
    b: float

    @property
    def _standard(self) -> StandardForm:
        a, b = self.a, self.b
        return StandardForm(
            cdf=lambda z: special.betainc(a, b, z),
            sf=lambda z: special.betaincc(a, b, z),
            ppf=lambda p: special.betaincinv(a, b, p),
            isf=lambda p: special.betainccinv(a, b, p),
            sample=lambda generator, count: generator.beta(a, b, count),
            high=1.0,
        )

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        ends = special.betainc(self.a + order, self.b, [low, high])
        whole = special.beta(self.a + order, self.b) / special.beta(self.a, self.b)
        return float(whole * (ends[1] - ends[0]))
