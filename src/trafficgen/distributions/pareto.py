"""Pareto distributions without and with an upper end (scipy.stats ``pareto``, ``truncpareto``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen.distributions.base import LocationScale, StandardForm
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class Pareto(LocationScale):
    """F(x) = 1 - z**-b for z = (x - loc) / scale >= 1.

    Attributes:
        b: Tail index, > 0; the mean is infinite for b <= 1, the variance for b <= 2.
    """

    _positive = ("scale", "b")

    b: float

    @property
    def _standard(self) -> StandardForm:
        b = self.b
        return StandardForm(
            cdf=lambda z: -np.expm1(-b * np.log(z)),
            sf=lambda z: z**-b,
            ppf=lambda p: np.exp(-np.log1p(-p) / b),
            isf=lambda p: p ** (-1 / b),
            sample=lambda generator, count: generator.pareto(b, count) + 1.0,
            low=1.0,
        )

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        return (
            math.inf if math.isinf(high) and order >= self.b else _moment(order, self.b, low, high)
        )


@dataclass(frozen=True, kw_only=True)
class TruncatedPareto(LocationScale):
    """F(x) = (1 - z**-b) / (1 - c**-b) for z = (x - loc) / scale between 1 and c.

    Attributes:
        b: Exponent, > 0.
        c: Largest value over the smallest, > 1.
    """

    _positive = ("scale", "b")

    b: float
    c: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.c) and self.c > 1):
            raise ValueError(f"c of {type(self).__name__} must be finite and above 1, got {self.c}")

    @property
    def _mass(self) -> float:
        return -math.expm1(-self.b * math.log(self.c))

    @property
    def _standard(self) -> StandardForm:
        b, c, mass = self.b, self.c, self._mass

        def ppf(p: FloatArray) -> FloatArray:
            return np.asarray(np.exp(-np.log1p(-p * mass) / b))

        return StandardForm(
            cdf=lambda z: -np.expm1(-b * np.log(z)) / mass,
            # Counted from the upper end, so that it keeps its digits there.
            sf=lambda z: z**-b * -np.expm1(-b * np.log(c / z)) / mass,
            ppf=ppf,
            isf=lambda p: (c**-b + p * mass) ** (-1 / b),
            sample=lambda generator, count: ppf(generator.random(count)),
            low=1.0,
            high=c,
        )

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        return _moment(order, self.b, low, high) / self._mass


def _moment(order: int, b: float, low: float, high: float) -> float:
    """Integrate b z**(order - b - 1) from one end to the other."""
    power = order - b
    if power == 0:
        return b * math.log(high / low)
    return float(b / power * (high**power - low**power))
