"""Smoothed empirical distribution: its function is linear between given quantiles."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np

from trafficgen.distributions.base import Distribution
from trafficgen.units import FloatArray

#: Squares of values, which the variance needs, stay finite.
_LARGEST = 1e150


@dataclass(frozen=True, kw_only=True)
class Quantiles(Distribution):
    """Uniform between neighbouring quantiles; equal ones carry their probability as a jump."""

    #: Cumulative probabilities, ascending from 0 to 1, at least two.
    probabilities: tuple[float, ...]
    values: tuple[float, ...]  #: quantiles at these probabilities, ascending
    _p: FloatArray = field(init=False, repr=False, compare=False)
    _x: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        p = np.array(self.probabilities, dtype=np.float64)
        x = np.array(self.values, dtype=np.float64)
        if p.size != x.size or p.size < 2:
            got = f"got {p.size} and {x.size}"
            raise ValueError(f"quantiles need as many probabilities as values, at least 2; {got}")
        if p[0] != 0.0 or p[-1] != 1.0:
            raise ValueError(f"quantiles must reach from probability 0 to 1, got {p[0]} to {p[-1]}")
        if np.any(np.diff(p) <= 0) or np.any(np.diff(x) < 0) or not np.all(np.isfinite(x)):
            raise ValueError(
                "quantiles must be finite, with ascending probabilities and values that do not fall"
            )
        if (largest := np.max(np.abs(x))) > _LARGEST:
            raise ValueError(f"quantiles must lie within {_LARGEST:g}, got up to {largest:g}")
        object.__setattr__(self, "_p", p)
        object.__setattr__(self, "_x", x)

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.values[0], self.values[-1]

    def _cdf(self, x: FloatArray) -> FloatArray:
        # Equal neighbours: the upper end of the jump.
        after = np.searchsorted(self._x, x, side="right")
        left = np.clip(after - 1, 0, self._x.size - 2)
        width = self._x[left + 1] - self._x[left]
        part = np.divide(x - self._x[left], width, out=np.ones_like(x), where=width > 0)
        inside = self._p[left] + np.clip(part, 0.0, 1.0) * (self._p[left + 1] - self._p[left])
        return np.where(after == 0, 0.0, np.where(after == self._x.size, 1.0, inside))

    def _sf(self, x: FloatArray) -> FloatArray:
        return 1.0 - self._cdf(x)

    def _ppf(self, p: FloatArray) -> FloatArray:
        return np.asarray(np.interp(p, self._p, self._x))

    def _isf(self, p: FloatArray) -> FloatArray:
        return self._ppf(1.0 - p)

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high], summed over the pieces in closed form."""
        a, b, weight = self._x[:-1], self._x[1:], np.diff(self._p)
        jump = a == b
        start, end = np.clip(a, low, high), np.clip(b, low, high)
        share = np.divide(end - start, b - a, out=np.zeros_like(a), where=~jump)
        share[jump] = (low < a[jump]) & (a[jump] <= high)
        # Mean of x**order over [start, end]: 1, the midpoint, or a third of the sum of products.
        means = (np.ones_like(start), (start + end) / 2, (start**2 + start * end + end**2) / 3)
        return float(np.sum(weight * share * means[order]))

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        return self._ppf(generator.random(count))
