"""The table of families by their scipy.stats names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from trafficgen._core import LAW_FAMILIES, LAW_MIXTURES
from trafficgen.distributions.base import Distribution
from trafficgen.distributions.core_law import CoreLaw, Mixture
from trafficgen.distributions.own_families import OWN_FAMILIES, own_law
from trafficgen.distributions.tails import Truncated

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
