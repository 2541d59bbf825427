"""Laws that a tool draws itself, chosen to be as close as it can be to what a model plays.

A tool knows a handful of families. Each is given the mean and the variance of what the model plays
(the method of moments), and the one with the smallest Kolmogorov-Smirnov distance is taken; so the
mean rate stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammaln

from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.distributions.two_samples import ks_distance
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray

DrawnFamily = Literal["constant", "uniform", "expon", "norm", "gamma", "weibull", "pareto"]
#: Values drawn to tell how far a law is.
_DRAWS = 100_000
#: Shapes of Weibull laws that are looked at; beyond, another family is as close.
_LEAST_SHAPE, _MOST_SHAPE = 0.1, 50.0
#: Below this coefficient of variation a sample is a constant.
_CONSTANT_VARIATION = 1e-9


@dataclass(frozen=True)
class DrawnLaw:
    """A law as tools take it.

    Attributes:
        family: Its name.
        params: value; low and high; mean; mean and standard deviation; or shape and scale. In the
            sample's unit.
    """

    family: DrawnFamily
    params: tuple[float, ...]

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        first, last = self.params[0], self.params[-1]
        match self.family:
            case "constant":
                draws = np.full(count, first)
            case "uniform":
                draws = generator.uniform(first, last, count)
            case "expon":
                draws = generator.exponential(first, count)
            case "norm":
                draws = generator.normal(first, last, count)
            case "gamma":
                draws = generator.gamma(first, last, count)
            case "weibull":
                draws = last * generator.weibull(first, count)
            case "pareto":
                draws = last * (1.0 + generator.pareto(first, count))
        return np.asarray(draws, dtype=np.float64)


@dataclass(frozen=True)
class Closest:
    """The law that comes closest.

    Attributes:
        law: The law.
        ks: Largest distance of its distribution function, as the tool draws it, from the sample's.
        drawn: Draws of it as the tool makes them, shape (m,).
    """

    law: DrawnLaw
    ks: float
    drawn: FloatArray


def closest_law(
    sample: FloatArray,
    families: Sequence[DrawnFamily],
    *,
    as_sent: Callable[[FloatArray], FloatArray],
) -> Closest:
    """Return the law that comes closest to a sample among those with its mean and variance, the
    simplest of equals.

    Args:
        sample: What the model plays, shape (n,), n >= 1.
        families: Families that the tool draws.
        as_sent: What the tool makes of a draw, such as cutting it to whole bytes.
    """
    found = []
    for law in _with_moments(sample, families):
        drawn = as_sent(
            law.sample(random_stream(0, session=0, purpose=f"export/{law.family}"), _DRAWS)
        )
        found.append(Closest(law, ks_distance(sample, drawn), drawn))
    noise = KOLMOGOROV_95 / math.sqrt(sample.size)
    limit = noise + min(one.ks for one in found)
    return next(one for one in found if one.ks <= limit)


def _with_moments(sample: FloatArray, families: Sequence[DrawnFamily]) -> list[DrawnLaw]:
    mean, deviation = float(sample.mean()), float(sample.std())
    values, counts = np.unique(sample, return_counts=True)
    laws = [DrawnLaw("constant", (mean,)), DrawnLaw("constant", (float(values[counts.argmax()]),))]
    if mean <= 0 or deviation <= _CONSTANT_VARIATION * mean:
        return laws
    variation = deviation / mean
    half = math.sqrt(3.0) * deviation
    if half < mean:
        laws.append(DrawnLaw("uniform", (mean - half, mean + half)))
    laws.append(DrawnLaw("expon", (mean,)))
    laws.append(DrawnLaw("norm", (mean, deviation)))
    laws.append(DrawnLaw("gamma", (1 / variation**2, mean * variation**2)))
    if _weibull_variation(_MOST_SHAPE) < variation < _weibull_variation(_LEAST_SHAPE):
        from scipy.optimize import brentq  # noqa: PLC0415 - 0.3 s, which writers of files do without

        shape = float(
            brentq(lambda k: _weibull_variation(k) - variation, _LEAST_SHAPE, _MOST_SHAPE)
        )
        laws.append(DrawnLaw("weibull", (shape, mean / math.exp(float(gammaln(1 + 1 / shape))))))
    shape = 1 + math.sqrt(1 + 1 / variation**2)
    laws.append(DrawnLaw("pareto", (shape, mean * (shape - 1) / shape)))
    return [law for law in laws if law.family in families]


def _weibull_variation(shape: float) -> float:
    """Return the coefficient of variation of a Weibull law; it falls with the shape."""
    log_ratio = float(gammaln(1 + 2 / shape) - 2 * gammaln(1 + 1 / shape))
    return math.sqrt(math.expm1(log_ratio)) if log_ratio < _LARGEST_LOG else math.inf


_LARGEST_LOG = 700.0
