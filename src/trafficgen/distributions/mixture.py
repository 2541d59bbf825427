"""Finite mixtures of distributions, among them the hyperexponential law."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from math import inf

import numpy as np

from trafficgen._core import Law
from trafficgen.distributions.core_law import CoreDistribution, CoreLaw
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class Mixture(CoreDistribution):
    """Draws from one of several components."""

    family: str  #: name of the mixture
    weights: tuple[float, ...]  #: probabilities of the components, positive, adding up to 1
    components: tuple[CoreLaw, ...]  #: their laws
    _law: Law = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.components) or not self.weights:
            raise ValueError(f"{len(self.components)} components have {len(self.weights)} weights")
        positive = all(weight > 0 for weight in self.weights)
        if not positive or abs(math.fsum(self.weights) - 1) > 1e-4:
            raise ValueError(
                f"the weights of a mixture must be positive and add up to 1, got {self.weights}"
            )
        parts = zip(self.weights, self.components, strict=True)
        params = {
            f"{name}{number}": value
            for number, (weight, part) in enumerate(parts, start=1)
            for name, value in ({"p": weight} | part.named_params).items()
        }
        object.__setattr__(self, "_law", Law(self.family, params))

    def __reduce__(self) -> tuple[object, ...]:
        family, weights, components = self.family, self.weights, self.components
        return partial(Mixture, family=family, weights=weights, components=components), ()

    @property
    def _shares(self) -> FloatArray:
        return np.array(self.weights) / math.fsum(self.weights)

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
