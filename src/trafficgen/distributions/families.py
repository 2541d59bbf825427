"""The table of families by their scipy.stats names."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping

from trafficgen.distributions.base import Distribution
from trafficgen.distributions.beta import Beta
from trafficgen.distributions.discrete import Discrete, Geometric, NegativeBinomial, Poisson, Zeta
from trafficgen.distributions.exponential import Exponential
from trafficgen.distributions.gamma import Gamma
from trafficgen.distributions.generalised_pareto import GeneralisedPareto
from trafficgen.distributions.gumbel import Gumbel
from trafficgen.distributions.logistic import Logistic
from trafficgen.distributions.loglogistic import LogLogistic
from trafficgen.distributions.lognormal import Lognormal
from trafficgen.distributions.mixture import Mixture
from trafficgen.distributions.normal import Normal
from trafficgen.distributions.own_families import OWN_FAMILIES, own_law
from trafficgen.distributions.pareto import Pareto, TruncatedPareto
from trafficgen.distributions.truncated import Truncated
from trafficgen.distributions.weibull import Weibull

#: scipy.stats name -> class; the fields of a class are the family's scipy.stats parameters.
FAMILIES: Mapping[str, type[Distribution]] = {
    "expon": Exponential,
    "lognorm": Lognormal,
    "gamma": Gamma,
    "weibull_min": Weibull,
    "pareto": Pareto,
    "genpareto": GeneralisedPareto,
    "truncpareto": TruncatedPareto,
    "fisk": LogLogistic,
    "norm": Normal,
    "logistic": Logistic,
    "gumbel_r": Gumbel,
    "beta": Beta,
    "geom": Geometric,
    "nbinom": NegativeBinomial,
    "zipf": Zeta,
    "poisson": Poisson,
}

#: Name -> family and parameters of the components. A mixture of k has the parameters of each,
#: numbered from 1, and the components' probabilities ``p1`` to ``pk``; scipy.stats has no such
#: families.
MIXTURES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "hyperexpon": ("expon", ("scale",)),
    "lognorm_mixture": ("lognorm", ("s", "scale")),
}

#: Family -> names of its parameters.
_PARAMETERS = {
    name: frozenset(inspect.signature(kind).parameters) for name, kind in FAMILIES.items()
}

#: Families of whole numbers.
DISCRETE_FAMILIES = frozenset(name for name, kind in FAMILIES.items() if issubclass(kind, Discrete))


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
    known = _PARAMETERS[family]
    if set(params) - known or known - {"loc", "scale"} - set(params):
        raise _parameter_error(family, sorted(known), params)
    return FAMILIES[family](**params)


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
            distribution_of(component, {name: params[f"{name}{number}"] for name in names})
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
