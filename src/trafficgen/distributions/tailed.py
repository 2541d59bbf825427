"""A law whose body and upper tail have forms of their own."""

from __future__ import annotations

from dataclasses import dataclass
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
