"""Distributions that the core computes: a family with its parameters, and mixtures of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf

import numpy as np

from trafficgen._core import LAW_FAMILIES, Law
from trafficgen.distributions.base import Distribution
from trafficgen.units import FloatArray

#: Standard forms that numpy draws, from a generator, the number of draws and the shapes; quantiles
#: of random numbers are drawn of others. It is faster, and a seed gives what it always gave.
_DRAWN: Mapping[str, Callable[..., FloatArray]] = {
    "expon": lambda generator, count: generator.standard_exponential(count),
    "lognorm": lambda generator, count, s: np.exp(s * generator.standard_normal(count)),
    "gamma": lambda generator, count, a: generator.standard_gamma(a, count),
    "weibull_min": lambda generator, count, c: generator.weibull(c, count),
    "pareto": lambda generator, count, b: generator.pareto(b, count) + 1.0,
    "genpareto": lambda generator, count, c: _exceed(generator.standard_exponential(count), c),
    "fisk": lambda generator, count, c: np.exp(generator.logistic(size=count) / c),
    "norm": lambda generator, count: generator.standard_normal(count),
    "logistic": lambda generator, count: generator.logistic(size=count),
    "gumbel_r": lambda generator, count: generator.gumbel(size=count),
    "beta": lambda generator, count, a, b: generator.beta(a, b, count),
    "geom": lambda generator, count, p: generator.geometric(p, count).astype(np.float64),
    "nbinom": lambda generator, count, n, p: generator.negative_binomial(n, p, count).astype(
        np.float64
    ),
    "zipf": lambda generator, count, a: generator.zipf(a, count).astype(np.float64),
    "poisson": lambda generator, count, mu: generator.poisson(mu, count).astype(np.float64),
}


def _exceed(exponential: FloatArray, c: float) -> FloatArray:
    return np.asarray(np.expm1(c * exponential) / c) if abs(c) >= 1e-6 else exponential


class CoreDistribution(Distribution):
    """A distribution whose probabilities and quantiles the core computes."""

    _law: Law

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self._law.support

    def _cdf(self, x: FloatArray) -> FloatArray:
        return self._law.tail(x, upper=False)

    def _sf(self, x: FloatArray) -> FloatArray:
        return self._law.tail(x, upper=True)

    def _ppf(self, p: FloatArray) -> FloatArray:
        return self._law.quantiles(p, upper=False)

    def _isf(self, p: FloatArray) -> FloatArray:
        return self._law.quantiles(p, upper=True)


@dataclass(frozen=True)
class CoreLaw(CoreDistribution):
    """A law ``loc + scale * Z`` of a family of the core, or ``loc + K`` of whole numbers."""

    family: str  #: name in scipy.stats
    params: tuple[float, ...]  #: its parameters, in the family's order
    _law: Law = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_law", Law(self.family, self.named_params))

    def __reduce__(self) -> tuple[object, ...]:
        return CoreLaw, (self.family, self.params)

    @property
    def named_params(self) -> dict[str, float]:
        """Names of the parameters and their values."""
        return dict(zip(LAW_FAMILIES[self.family][0], self.params, strict=True))

    @property
    def is_whole(self) -> bool:
        """Whether it is a law of whole numbers."""
        return "scale" not in LAW_FAMILIES[self.family][0]

    @property
    def has_quantile(self) -> bool:
        """Whether quantiles have a closed form, which is quick to compute."""
        return self._law.has_quantile

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high] for order 0, 1 or 2; infinite where it diverges."""
        return self._law.partial_moment(order, low, high)

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        if self.family not in _DRAWN:
            return self.ppf(generator.random(count))
        named = self.named_params
        loc, scale = named.pop("loc"), named.pop("scale", 1.0)
        draws = _DRAWN[self.family](generator, count, *named.values())
        draws *= scale
        if loc != 0.0:
            draws += loc
        return draws


@dataclass(frozen=True, kw_only=True)
class Mixture(CoreDistribution):
    """Draws from one of several components, as the hyperexponential law does."""

    family: str  #: name of the mixture
    weights: tuple[float, ...]  #: probabilities of the components, positive, adding up to 1
    components: tuple[CoreLaw, ...]  #: their laws
    _law: Law = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
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
