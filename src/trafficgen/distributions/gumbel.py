"""Distribution of the largest extreme value, or Gumbel (scipy.stats ``gumbel_r``)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import inf

import numpy as np

from trafficgen.distributions.base import LocationScale, StandardForm
from trafficgen.units import FloatArray

#: Beyond these ends the density is 0 in double precision, and that of an exponential law.
_LOWEST, _EXPONENTIAL_FROM = -7.0, 38.0
#: Nodes of each part of an integral, and the length of a part.
_NODES, _PART = 20, 1.5


@dataclass(frozen=True, kw_only=True)
class Gumbel(LocationScale):
    """F(x) = exp(-exp(-z)) with z = (x - loc) / scale: x = loc - scale ln(-ln u)."""

    @property
    def _standard(self) -> StandardForm:
        return StandardForm(
            cdf=lambda z: np.exp(-_exp_of_minus(z)),
            sf=lambda z: -np.expm1(-_exp_of_minus(z)),
            ppf=lambda p: -np.log(-np.log(p)),
            isf=lambda p: -np.log(-np.log1p(-p)),
            sample=lambda generator, count: generator.gumbel(size=count),
            low=-inf,
        )

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        if order == 0:
            return _mass(low, high)
        if low == -inf and high == inf:
            return np.euler_gamma if order == 1 else np.euler_gamma**2 + math.pi**2 / 6
        bottom, top = max(low, _LOWEST), min(high, _EXPONENTIAL_FROM)
        beyond = _exponential_moment(order, max(low, _EXPONENTIAL_FROM), high)
        return beyond if bottom >= top else _integrate(order, bottom, top) + beyond


def _exp_of_minus(z: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-np.maximum(z, -700.0)))


def _mass(low: float, high: float) -> float:
    start, end = (math.exp(-max(z, -700.0)) for z in (low, high))
    return (
        math.exp(-start) * math.expm1(start - end)
        if start < 1
        else math.exp(-end) - math.exp(-start)
    )


def _integrate(order: int, low: float, high: float) -> float:
    """Integrate by Gauss and Legendre's rule over short parts."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    ends = np.linspace(low, high, 1 + math.ceil((high - low) / _PART))
    half = np.diff(ends)[:, None] / 2
    z = ends[:-1, None] + half * (1 + nodes)
    return float((half * weights * z**order * np.exp(-z - np.exp(-z))).sum())


def _exponential_moment(order: int, low: float, high: float) -> float:
    if low >= high:
        return 0.0
    start, end = (
        0.0 if z == inf else math.exp(-z) * (z + 1 if order == 1 else z**2 + 2 * z + 2)
        for z in (low, high)
    )
    return start - end
