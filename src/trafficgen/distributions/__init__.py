"""Distributions under their scipy.stats names, truncated ones, and laws with atoms."""

from trafficgen.distributions.base import Distribution, LocationScale
from trafficgen.distributions.beta import Beta
from trafficgen.distributions.discrete import Discrete, Geometric, NegativeBinomial, Poisson, Zeta
from trafficgen.distributions.exponential import Exponential
from trafficgen.distributions.families import (
    DISCRETE_FAMILIES,
    FAMILIES,
    MIXTURES,
    distribution_of,
    truncated,
)
from trafficgen.distributions.gamma import Gamma
from trafficgen.distributions.generalised_pareto import GeneralisedPareto
from trafficgen.distributions.loglogistic import LogLogistic
from trafficgen.distributions.lognormal import Lognormal
from trafficgen.distributions.mixed import MixedLaw
from trafficgen.distributions.mixture import Mixture
from trafficgen.distributions.normal import Normal
from trafficgen.distributions.pareto import Pareto, TruncatedPareto
from trafficgen.distributions.quantiles import Quantiles
from trafficgen.distributions.tailed import BodyAndTail
from trafficgen.distributions.truncated import Truncated
from trafficgen.distributions.weibull import Weibull

__all__ = [
    "DISCRETE_FAMILIES",
    "FAMILIES",
    "MIXTURES",
    "Beta",
    "BodyAndTail",
    "Discrete",
    "Distribution",
    "Exponential",
    "Gamma",
    "GeneralisedPareto",
    "Geometric",
    "LocationScale",
    "LogLogistic",
    "Lognormal",
    "MixedLaw",
    "Mixture",
    "NegativeBinomial",
    "Normal",
    "Pareto",
    "Poisson",
    "Quantiles",
    "Truncated",
    "TruncatedPareto",
    "Weibull",
    "Zeta",
    "distribution_of",
    "truncated",
]
