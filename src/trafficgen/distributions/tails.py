"""Distributions with cut or other tails: restricted to an interval, or with a tail of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from math import inf

import numpy as np

from trafficgen.distributions.base import Distribution
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class BodyAndTail(Distribution):
    """Follows a body up to its largest value and a tail beyond, each with its probability."""

    body: Distribution  #: law of the values up to the end of its support
    tail: Distribution  #: law of the values beyond that end
    tail_probability: float  #: share of the tail, in (0, 1)

    def __post_init__(self) -> None:
        if not 0 < self.tail_probability < 1:
            raise ValueError(
                f"the tail's probability must lie in (0, 1), got {self.tail_probability}"
            )
        end, start = self.body.support[1], self.tail.support[0]
        if end > start + 1e-9 * abs(start):
            raise ValueError(f"the tail starts at {start:g}, before the body ends at {end:g}")

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.body.support[0], self.tail.support[1]

    def _cdf(self, x: FloatArray) -> FloatArray:
        return self._mix(self.body.cdf(x), self.tail.cdf(x))

    def _sf(self, x: FloatArray) -> FloatArray:
        return self._mix(self.body.sf(x), self.tail.sf(x))

    def _mix(self, body: FloatArray, tail: FloatArray) -> FloatArray:
        return np.asarray((1 - self.tail_probability) * body + self.tail_probability * tail)

    def _ppf(self, p: FloatArray) -> FloatArray:
        return self._isf(1.0 - p)

    def _isf(self, p: FloatArray) -> FloatArray:
        q = self.tail_probability
        in_body = self.body.isf(np.clip((p - q) / (1 - q), 0.0, 1.0))
        return np.where(p < q, self.tail.isf(np.minimum(p / q, 1.0)), in_body)

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high]."""
        q = self.tail_probability
        body = self.body.partial_moment(order, low=low, high=high)
        return (1 - q) * body + q * self.tail.partial_moment(order, low=low, high=high)

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        beyond = generator.random(count) < self.tail_probability
        draws = self.body.sample(generator, count)
        draws[beyond] = self.tail.sample(generator, int(np.count_nonzero(beyond)))
        return draws


#: Above this share of accepted draws, drawing and throwing away is faster than inverting the
#: distribution function.
_REJECTION_SHARE = 0.3
_REJECTION_ROUNDS = 20


@dataclass(frozen=True, kw_only=True)
class Truncated(Distribution):
    """The law of X given minimum <= X <= maximum."""

    whole: Distribution  #: the law without bounds
    minimum: float = -inf  #: smallest value
    maximum: float = inf  #: largest value, not below ``minimum``
    _upper: bool = field(init=False, repr=False, compare=False)
    _from: float = field(init=False, repr=False, compare=False)
    _mass: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.minimum > self.maximum:
            raise ValueError(f"minimum {self.minimum} is above maximum {self.maximum}")
        # In the upper half everything is counted from above, so that digits are kept far in the
        # tail.
        upper = bool(self.whole.cdf(self.minimum) > 0.5)
        tail = self.whole.sf if upper else self.whole.cdf
        start, end = (self.maximum, self.minimum) if upper else (self.minimum, self.maximum)
        origin = float(tail(start))
        mass = float(tail(end)) - origin
        if mass <= 0 and self.minimum < self.maximum:
            raise ValueError(
                f"{self.whole} has no probability between {self.minimum} and {self.maximum}"
            )
        object.__setattr__(self, "_upper", upper)
        object.__setattr__(self, "_from", origin)
        object.__setattr__(self, "_mass", mass)

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        low, high = self.whole.support
        return max(low, self.minimum), min(high, self.maximum)

    def _cdf(self, x: FloatArray) -> FloatArray:
        if self._mass <= 0:
            return np.where(x >= self.minimum, 1.0, 0.0)
        inside = self._share(x)
        return np.where(x < self.minimum, 0.0, 1.0 - inside if self._upper else inside)

    def _sf(self, x: FloatArray) -> FloatArray:
        if self._mass <= 0:
            return np.where(x >= self.minimum, 0.0, 1.0)
        inside = self._share(x)
        return np.where(x < self.minimum, 1.0, inside if self._upper else 1.0 - inside)

    def _ppf(self, p: FloatArray) -> FloatArray:
        return self._inverse(1.0 - p if self._upper else p)

    def _isf(self, p: FloatArray) -> FloatArray:
        return self._inverse(p if self._upper else 1.0 - p)

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high]."""
        if self._mass <= 0:
            return self.minimum**order if low < self.minimum <= high else 0.0
        bottom, top = max(low, self.minimum), min(high, self.maximum)
        if bottom >= top:
            return 0.0
        return self.whole.partial_moment(order, low=bottom, high=top) / self._mass

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Draw by rejection where most draws are accepted, else by inversion, shape (count,)."""
        if self._mass < _REJECTION_SHARE:
            return self._inverse(generator.random(count))
        draws = np.empty(count, dtype=np.float64)
        filled = 0
        for _ in range(_REJECTION_ROUNDS):
            if filled == count:
                return draws
            missing = count - filled
            offered = self.whole.sample(generator, math.ceil(1.02 * missing / self._mass) + 8)
            accepted = offered[(offered >= self.minimum) & (offered <= self.maximum)][:missing]
            draws[filled : filled + accepted.size] = accepted
            filled += accepted.size
        draws[filled:] = self._inverse(generator.random(count - filled))
        return draws

    def _share(self, x: FloatArray) -> FloatArray:
        """Return the restricted probability below x, or above it where counted from above."""
        tail = self.whole.sf(x) if self._upper else self.whole.cdf(x)
        return np.clip((tail - self._from) / self._mass, 0.0, 1.0)

    def _inverse(self, share: FloatArray) -> FloatArray:
        tail = self._from + share * self._mass
        values = self.whole.isf(tail) if self._upper else self.whole.ppf(tail)
        return np.clip(values, self.minimum, self.maximum)
