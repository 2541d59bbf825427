"""Exponential distribution (scipy.stats ``expon``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.distributions.base import LocationScale
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class Exponential(LocationScale):
    """F(x) = 1 - exp(-z) with z = (x - loc) / scale."""

    def _standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(-np.expm1(-z))

    def _standard_sf(self, z: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-z))

    def _standard_ppf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(-np.log1p(-probability))

    def _standard_isf(self, probability: FloatArray) -> FloatArray:
        return np.asarray(-np.log(probability))

    def _standard_partial_moment(self, order: int, low: float, high: float) -> float:
        inside = special.gammaincc(order + 1, low) - special.gammaincc(order + 1, high)
        return math.factorial(order) * float(inside)

    def _standard_sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        return generator.standard_exponential(count)
