"""Normal distribution (scipy.stats ``norm``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from trafficgen.distributions.base import Distribution, require_positive
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class Normal(Distribution):
    """F(x) = Phi((x - loc) / scale).

    Attributes:
        loc: Mean.
        scale: Standard deviation, > 0.
    """

    loc: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, "scale")

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return -math.inf, math.inf

    def _standardised(self, value: npt.ArrayLike) -> FloatArray:
        return np.asarray((np.asarray(value, dtype=np.float64) - self.loc) / self.scale)

    def cdf(self, value: npt.ArrayLike) -> FloatArray:
        """Return P(X <= value)."""
        return np.asarray(special.ndtr(self._standardised(value)))

    def sf(self, value: npt.ArrayLike) -> FloatArray:
        """Return P(X > value)."""
        return np.asarray(special.ndtr(-self._standardised(value)))

    def ppf(self, probability: npt.ArrayLike) -> FloatArray:
        """Return the quantile of a probability in [0, 1]."""
        return np.asarray(
            self.loc + self.scale * special.ndtri(np.asarray(probability, dtype=np.float64))
        )

    def isf(self, probability: npt.ArrayLike) -> FloatArray:
        """Return the value that is exceeded with a probability in [0, 1]."""
        return np.asarray(
            self.loc - self.scale * special.ndtri(np.asarray(probability, dtype=np.float64))
        )

    def partial_moment(
        self, order: int, *, low: float = -math.inf, high: float = math.inf
    ) -> float:
        """Return E[X**order; low < X <= high]."""
        a, b = (low - self.loc) / self.scale, (high - self.loc) / self.scale
        upper = a > 0
        mass = float(
            special.ndtr(-a) - special.ndtr(-b) if upper else special.ndtr(b) - special.ndtr(a)
        )
        first = _density(a) - _density(b)
        second = mass + _times(a) - _times(b)
        moments = (mass, self.loc * mass + self.scale * first)
        if order < 2:
            return moments[order]
        return self.loc**2 * mass + 2 * self.loc * self.scale * first + self.scale**2 * second

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        return generator.normal(self.loc, self.scale, count)


def _density(z: float) -> float:
    return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def _times(z: float) -> float:
    return 0.0 if math.isinf(z) else z * _density(z)
