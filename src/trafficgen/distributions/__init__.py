"""Distributions under their scipy.stats names, truncated ones, and the mixed law of atoms and a continuous part."""

from trafficgen.distributions.base import Distribution, LocationScale
from trafficgen.distributions.exponential import Exponential
from trafficgen.distributions.families import FAMILIES, distribution_of, truncated
from trafficgen.distributions.gamma import Gamma
from trafficgen.distributions.lognormal import Lognormal
from trafficgen.distributions.mixed import MixedLaw
from trafficgen.distributions.pareto import Pareto
from trafficgen.distributions.quantiles import Quantiles
from trafficgen.distributions.truncated import Truncated
from trafficgen.distributions.weibull import Weibull

__all__ = [
    "FAMILIES",
    "Distribution",
    "Exponential",
    "Gamma",
    "LocationScale",
    "Lognormal",
    "MixedLaw",
    "Pareto",
    "Quantiles",
    "Truncated",
    "Weibull",
    "distribution_of",
    "truncated",
]
