"""Finite mixtures of distributions, among them the hyperexponential law."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from trafficgen._core import law_quantiles, law_tail
from trafficgen.distributions.base import Distribution
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class Mixture(Distribution):
    """Draws from one of several components."""

    family: str  #: name of the mixture
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
        return self._tail(x, upper=False)

    def _sf(self, x: FloatArray) -> FloatArray:
        return self._tail(x, upper=True)

    def _tail(self, x: FloatArray, *, upper: bool) -> FloatArray:
        flat = np.ascontiguousarray(x).reshape(-1)
        return law_tail(self.family, self._params, flat, upper).reshape(np.shape(x))

    def _ppf(self, p: FloatArray) -> FloatArray:
        return self._quantiles(p, upper=False)

    def _isf(self, p: FloatArray) -> FloatArray:
        return self._quantiles(p, upper=True)

    def _quantiles(self, p: FloatArray, *, upper: bool) -> FloatArray:
        flat = np.ascontiguousarray(p).reshape(-1)
        return law_quantiles(self.family, self._params, flat, upper).reshape(np.shape(p))

    @cached_property
    def _params(self) -> dict[str, float]:
        components: tuple[Any, ...] = self.components  # all laws are dataclasses
        parts = zip(self.weights, components, strict=True)
        return {
            f"{name}{number}": float(value)
            for number, (weight, part) in enumerate(parts, start=1)
            for name, value in ({"p": weight} | asdict(part)).items()
        }

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
