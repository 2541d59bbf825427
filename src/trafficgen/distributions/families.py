"""Families by their scipy.stats names, which the core computes, and mixtures of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf

import numpy as np

from trafficgen._core import LAW_FAMILIES, LAW_MIXTURES, Law
from trafficgen.distributions.base import Distribution
from trafficgen.distributions.own_families import OWN_FAMILIES, own_law
from trafficgen.distributions.tails import Truncated
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


#: scipy.stats names of the families of the core.
FAMILIES: tuple[str, ...] = tuple(LAW_FAMILIES)

#: Name -> family of the components, and those of their parameters that are estimated. A mixture of
#: k has the parameters of each, numbered from 1, and the components' probabilities ``p1`` to
#: ``pk``; scipy.stats has no such families.
MIXTURES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    name: (component, tuple(LAW_FAMILIES[component][1])) for name, component in LAW_MIXTURES.items()
}

#: Families of whole numbers.
DISCRETE_FAMILIES = frozenset(
    name for name, (params, _) in LAW_FAMILIES.items() if "scale" not in params
)


OWN_FAMILIES.reserve(*FAMILIES, *MIXTURES, "quantiles", "atoms")


def check_family(family: str) -> None:
    """Raise ``ValueError`` unless a name is that of a family, a mixture or one of a user."""
    if family not in FAMILIES and family not in MIXTURES and family not in OWN_FAMILIES:
        known = ", ".join((*FAMILIES, *MIXTURES, *OWN_FAMILIES))
        raise ValueError(
            f"unknown family {family!r}; use one of {known}, or import the module that registers it"
        )


def distribution_of(family: str, params: Mapping[str, float]) -> Distribution:
    """Build a distribution by its scipy.stats name and parameters.

    ``loc`` is 0 and ``scale`` 1 where they are left out. The mixtures ``hyperexpon`` and
    ``lognorm_mixture`` have parameters such as p1, scale1, p2, scale2.

    Raises:
        ValueError: If the family is unknown, or a parameter is missing, unknown or out of range.
    """
    if family in MIXTURES:
        return _mixture(family, params)
    if family not in FAMILIES:
        check_family(family)
        return own_law(family, params)
    return _core_law(family, params)


def _core_law(family: str, params: Mapping[str, float]) -> CoreLaw:
    known = LAW_FAMILIES[family][0]
    given = {"loc": 0.0, "scale": 1.0} | dict(params)
    if set(params) - set(known) or set(known) - set(given):
        raise _parameter_error(family, sorted(known), params)
    return CoreLaw(family, tuple(float(given[name]) for name in known))


def _parameter_error(family: str, known: Iterable[str], params: Iterable[str]) -> ValueError:
    got = ", ".join(params) or "none"
    return ValueError(f"{family} takes the parameters {', '.join(known)}; got {got}")


def _mixture(family: str, params: Mapping[str, float]) -> Mixture:
    component, names = MIXTURES[family]
    numbers = range(1, max(1, len(params) // (1 + len(names))) + 1)
    known = [f"{name}{number}" for number in numbers for name in ("p", *names)]
    if set(params) != set(known):
        raise _parameter_error(family, [*known, "..."], params)
    return Mixture(
        family=family,
        weights=tuple(params[f"p{number}"] for number in numbers),
        components=tuple(
            _core_law(component, {name: params[f"{name}{number}"] for name in names})
            for number in numbers
        ),
    )


def truncate(whole: Distribution, *, minimum: float | None, maximum: float | None) -> Distribution:
    """Restrict a distribution to [minimum, maximum], unless the bounds lie outside its support."""
    low, high = whole.support
    bottom = -math.inf if minimum is None else minimum
    top = math.inf if maximum is None else maximum
    if bottom <= low and top >= high:
        return whole
    return Truncated(whole=whole, minimum=bottom, maximum=top)
