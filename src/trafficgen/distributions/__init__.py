"""Distributions under their scipy.stats names, truncated ones, and laws with atoms."""

from trafficgen.distributions.base import Distribution, Quantiles
from trafficgen.distributions.families import (
    DISCRETE_FAMILIES,
    FAMILIES,
    MIXTURES,
    CoreLaw,
    check_family,
    distribution_of,
    truncate,
)
from trafficgen.distributions.mixed import MixedLaw
from trafficgen.distributions.own_families import OWN_FAMILIES
from trafficgen.distributions.tails import BodyAndTail, Truncated

__all__ = [
    "DISCRETE_FAMILIES",
    "FAMILIES",
    "MIXTURES",
    "OWN_FAMILIES",
    "BodyAndTail",
    "CoreLaw",
    "Distribution",
    "MixedLaw",
    "Quantiles",
    "Truncated",
    "check_family",
    "distribution_of",
    "truncate",
]
