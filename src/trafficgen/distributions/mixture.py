"""Finite mixtures of distributions, among them the hyperexponential law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import inf

import numpy as np

from trafficgen.distributions.base import Distribution
from trafficgen.units import FloatArray

#: Probabilities of the table from which quantiles start, and the bisections that follow.
_TABLE = 2048
_BISECTIONS = 60
_TOLERANCE = 1e-13


@dataclass(frozen=True, kw_only=True)
class Mixture(Distribution):
    """Draws from one of several components."""

    weights: tuple[float, ...]  #: probabilities of the components, positive, adding up to 1
    components: tuple[Distribution, ...]  #: their laws

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.components) or not self.weights:
            raise ValueError(f"{len(self.components)} components have {len(self.weights)} weights")
        positive = all(weight > 0 for weight in self.weights)
        if not positive or abs(math.fsum(self.weights) - 1) > 1e-4:
            raise ValueError(
                f"the weights of a mixture must be positive and add up to 1, got {self.weights}"
            )

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        ends = [component.support for component in self.components]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def _shares(self) -> FloatArray:
        return np.array(self.weights) / math.fsum(self.weights)

    def _cdf(self, x: FloatArray) -> FloatArray:
        return self._add([part.cdf(x) for part in self.components])

    def _sf(self, x: FloatArray) -> FloatArray:
        return self._add([part.sf(x) for part in self.components])

    def _add(self, parts: list[FloatArray]) -> FloatArray:
        weighted = (share * part for share, part in zip(self._shares, parts, strict=True))
        return np.asarray(np.minimum(sum(weighted), 1.0))

    def _ppf(self, p: FloatArray) -> FloatArray:
        return self._inverse(p, upper=False)

    def _isf(self, p: FloatArray) -> FloatArray:
        return self._inverse(p, upper=True)

    def _inverse(self, p: FloatArray, *, upper: bool) -> FloatArray:
        if p.size <= _TABLE:
            return self._bisect(p, upper=upper)
        # Many: start between the quantiles of a table, which saves two thirds of the bisections.
        knots = np.unique(np.quantile(p, np.linspace(0, 1, _TABLE)))
        values = self._bisect(knots, upper=upper)
        place = np.clip(np.searchsorted(knots, p), 1, knots.size - 1)
        ends = np.sort([values[place - 1], values[place]], axis=0)
        return self._bisect(p, upper=upper, ends=ends)

    def _bisect(self, p: FloatArray, *, upper: bool, ends: FloatArray | None = None) -> FloatArray:
        if ends is None:
            each = [part.isf(p) if upper else part.ppf(p) for part in self.components]
            ends = np.array([np.min(each, axis=0), np.max(each, axis=0)])
        # Ends at infinity are exact: there is nothing to bisect.
        sure = ~np.isfinite(ends).all(axis=0)
        low, high = np.where(sure, 0.0, ends[0]), np.where(sure, 0.0, ends[1])
        for _ in range(_BISECTIONS):
            if not np.any(high - low > _TOLERANCE * np.abs(high)):
                break
            middle = 0.5 * (low + high)
            below = self._sf(middle) > p if upper else self._cdf(middle) < p
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(np.where(sure, ends[1], 0.5 * (low + high)))

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high]."""
        return math.fsum(
            float(share) * part.partial_moment(order, low=low, high=high)
            for share, part in zip(self._shares, self.components, strict=True)
        )

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        chosen = generator.choice(len(self.weights), size=count, p=self._shares)
        draws = np.empty(count)
        for number, part in enumerate(self.components):
            here = np.flatnonzero(chosen == number)
            draws[here] = part.sample(generator, here.size)
        return draws
