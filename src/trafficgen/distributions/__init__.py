"""Distributions under their scipy.stats names, truncated ones, and laws with atoms."""

from trafficgen.distributions.base import Distribution
from trafficgen.distributions.exponential import Exponential
from trafficgen.distributions.families import (
    DISCRETE_FAMILIES,
    FAMILIES,
    MIXTURES,
    check_family,
    distribution_of,
    truncate,
)
from trafficgen.distributions.gamma import Gamma
from trafficgen.distributions.generalised_pareto import GeneralisedPareto
from trafficgen.distributions.lognormal import Lognormal
from trafficgen.distributions.mixed import MixedLaw
from trafficgen.distributions.own_families import OWN_FAMILIES
from trafficgen.distributions.pareto import Pareto
from trafficgen.distributions.quantiles import Quantiles
from trafficgen.distributions.tailed import BodyAndTail
from trafficgen.distributions.truncated import Truncated

__all__ = [
    "DISCRETE_FAMILIES",
    "FAMILIES",
    "MIXTURES",
    "OWN_FAMILIES",
    "BodyAndTail",
    "Distribution",
    "Exponential",
    "Gamma",
    "GeneralisedPareto",
    "Lognormal",
    "MixedLaw",
    "Pareto",
    "Quantiles",
    "Truncated",
    "check_family",
    "distribution_of",
    "truncate",
]
