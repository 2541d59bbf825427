"""The table of continuous families by their scipy.stats names."""

from __future__ import annotations

import math
from collections.abc import Mapping

from trafficgen.distributions.base import Distribution, LocationScale
from trafficgen.distributions.exponential import Exponential
from trafficgen.distributions.gamma import Gamma
from trafficgen.distributions.lognormal import Lognormal
from trafficgen.distributions.pareto import Pareto
from trafficgen.distributions.truncated import Truncated
from trafficgen.distributions.weibull import Weibull

#: scipy.stats name -> class; the fields of a class are the family's scipy.stats parameters.
FAMILIES: Mapping[str, type[LocationScale]] = {
    "expon": Exponential,
    "lognorm": Lognormal,
    "gamma": Gamma,
    "weibull_min": Weibull,
    "pareto": Pareto,
}


def distribution_of(family: str, params: Mapping[str, float]) -> LocationScale:
    """Return a distribution by its scipy.stats name and parameters (``loc`` 0 and ``scale`` 1 where left out).

    Raises:
        ValueError: If the family is unknown, or a parameter is missing, unknown or out of range.
    """
    if family not in FAMILIES:
        raise ValueError(f"unknown family {family!r}; known are {', '.join(FAMILIES)}")
    kind = FAMILIES[family]
    known = set(kind.__dataclass_fields__)
    required = known - {"loc", "scale"}
    if set(params) - known or required - set(params):
        raise ValueError(f"{family} takes the parameters {', '.join(sorted(known))}; got {', '.join(params) or 'none'}")
    return kind(**params)


def truncated(whole: Distribution, *, minimum: float | None, maximum: float | None) -> Distribution:
    """Return a distribution restricted to [minimum, maximum], or itself where the bounds lie outside its support."""
    low, high = whole.support
    bottom = -math.inf if minimum is None else minimum
    top = math.inf if maximum is None else maximum
    if bottom <= low and top >= high:
        return whole
    return Truncated(whole=whole, minimum=bottom, maximum=top)
