"""Laws of time as ns-3 draws them: a random variable of its own, or a table with linear pieces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trafficgen.distributions import Distribution, distribution_of, truncate
from trafficgen.export.model_laws import weibull_shape
from trafficgen.imports import special
from trafficgen.models import Law
from trafficgen.units import FloatArray

#: Points of a table of a law with more values than these.
_POINTS = 1000
#: Width of a jump of a table, as a probability.
_JUMP = 1e-9


@dataclass(frozen=True)
class Ns3Law:
    """A law that ns-3 can draw.

    Attributes:
        variable: Value of an attribute, such as
            ``ns3::ExponentialRandomVariable[Mean=0.5|Bound=0]``; None: a table.
        value_s: Points of the table, s, ascending, shape (n,).
        probability: Cumulative probability at each, ascending, the last 1, shape (n,).
    """

    variable: str | None
    value_s: FloatArray
    probability: FloatArray

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, s, shape (count,)."""
        return np.asarray(np.interp(generator.random(count), self.probability, self.value_s))

    def table_text(self) -> str:
        """Return the table as CSV."""
        rows = zip(self.value_s.tolist(), self.probability.tolist(), strict=True)
        return "value_s,cumulative_p\n" + "".join(f"{value:.12g},{p:.12g}\n" for value, p in rows)


def constant_law(value_s: float) -> Ns3Law:
    """Return the law that takes one value."""
    variable = f"ns3::ConstantRandomVariable[Constant={value_s!r}]"
    return Ns3Law(variable, np.array([value_s]), np.array([1.0]))


def table_law(sample_s: FloatArray) -> Ns3Law:
    """Return the law of a sample: its values with their shares, or a thousand quantiles of more.

    Values are >= 0; there is at least one.
    """
    values, counts = np.unique(sample_s, return_counts=True)
    if values.size == 1:
        return constant_law(float(values[0]))
    if values.size <= _POINTS:
        ends = np.cumsum(counts) / sample_s.size
        starts = np.concatenate(([0.0], ends[:-1] + _JUMP))
        return Ns3Law(None, np.repeat(values, 2)[1:], np.column_stack([starts, ends]).ravel()[1:])
    probability = np.linspace(0.0, 1.0, _POINTS + 1)
    return Ns3Law(None, np.quantile(sample_s, probability), probability)


def exact_law(law: Law) -> Ns3Law | None:
    """Return the random variable of ns-3 that is the same as a model's law, or None."""
    if law.family == "atoms" and len(law.atoms) == 1 and law.atoms[0].value >= 0:
        return constant_law(law.atoms[0].value)
    if law.family not in _SAME or law.atoms or law.integer or law.params.get("loc", 0.0) != 0:
        return None
    distribution = distribution_of(law.family, law.params)
    if law.minimum is not None and law.minimum > distribution.support[0]:
        return None
    if law.maximum is not None and law.family not in _BOUNDED:
        return None
    bounded = truncate(distribution, minimum=None, maximum=law.maximum)
    return _drawn(_variable(law.family, law.params, bound=law.maximum or 0), bounded)


def nearest_law(sample_s: FloatArray) -> Ns3Law:
    """Return the nearest random variable of ns-3 with the sample's mean and, if it can, variance.

    Values are >= 0; there is at least one.

    Source: method of moments; nearest by the distance of Kolmogorov and Smirnov.
    """
    mean, variance = float(sample_s.mean()), float(sample_s.var())
    if mean <= 0 or variance <= 0:
        return constant_law(mean)
    ordered = np.sort(sample_s)
    candidates = [_drawn(variable, law) for variable, law in _of_moments(mean, variance)]
    # In hundredths: of those that are as near, the first is the simplest.
    return min((constant_law(mean), *candidates), key=lambda law: round(_distance(ordered, law), 2))


def _drawn(variable: str, distribution: Distribution) -> Ns3Law:
    probability = np.linspace(0.0, 1.0, _POINTS + 1)
    inside = np.clip(probability, 0.0, 1 - 0.01 / _POINTS)  # a table has no infinite values
    return Ns3Law(variable, distribution.ppf(inside), probability)


def _distance(ordered_s: FloatArray, law: Ns3Law) -> float:
    place = np.arange(1, ordered_s.size + 1) / ordered_s.size
    below = np.interp(ordered_s, law.value_s, law.probability, left=0.0, right=1.0)
    return float(
        np.max(np.maximum(np.abs(below - place), np.abs(below - place + 1 / ordered_s.size)))
    )


#: Family -> the random variable of ns-3 that is the same, and which parameter is which attribute.
_SAME = {
    "expon": ("Exponential", {"Mean": "scale"}),
    "weibull_min": ("Weibull", {"Scale": "scale", "Shape": "c"}),
    "pareto": ("Pareto", {"Scale": "scale", "Shape": "b"}),
    "lognorm": ("LogNormal", {"Mu": "log scale", "Sigma": "s"}),
    "gamma": ("Gamma", {"Alpha": "a", "Beta": "scale"}),
}
#: Those that ns-3 draws again when a draw is above ``Bound``, which is the law cut there.
_BOUNDED = frozenset({"expon", "weibull_min", "pareto"})


def _variable(family: str, params: Mapping[str, float], *, bound: float = 0) -> str:
    """Return a random variable of ns-3; 0 sets no bound."""
    name, attributes = _SAME[family]
    known = {"scale": 1.0, **params}
    known["log scale"] = math.log(known["scale"])
    values = "|".join(f"{attribute}={known[key]!r}" for attribute, key in attributes.items())
    bounded = f"|Bound={bound!r}" if family in _BOUNDED else ""
    return f"ns3::{name}RandomVariable[{values}{bounded}]"


def _of_moments(mean: float, variance: float) -> list[tuple[str, Distribution]]:
    """Return random variables of ns-3 with a mean and, but for the exponential, a variance."""
    spread = variance / mean**2
    found = [
        _family("expon", {"scale": mean}),
        _family("gamma", {"a": 1 / spread, "scale": mean * spread}),
    ]
    sigma2 = math.log1p(spread)
    found.append(
        _family("lognorm", {"s": math.sqrt(sigma2), "scale": mean * math.exp(-sigma2 / 2)})
    )
    shape = 1 + math.sqrt(1 + 1 / spread)
    found.append(_family("pareto", {"b": shape, "scale": mean * (shape - 1) / shape}))
    weibull = weibull_shape(spread)
    if weibull is not None:
        found.append(
            _family(
                "weibull_min", {"c": weibull, "scale": mean / float(special.gamma(1 + 1 / weibull))}
            )
        )
    deviation = math.sqrt(variance)
    if mean > 3 * deviation:  # cut on both sides, so that no time is negative and the mean stays
        normal = truncate(
            distribution_of("norm", {"loc": mean, "scale": deviation}),
            minimum=0.0,
            maximum=2 * mean,
        )
        found.append(
            (
                f"ns3::NormalRandomVariable[Mean={mean!r}|Variance={variance!r}|Bound={mean!r}]",
                normal,
            )
        )
    low, high = mean - math.sqrt(3 * variance), mean + math.sqrt(3 * variance)
    if low >= 0:
        uniform = distribution_of("beta", {"a": 1.0, "b": 1.0, "loc": low, "scale": high - low})
        found.append((f"ns3::UniformRandomVariable[Min={low!r}|Max={high!r}]", uniform))
    return found


def _family(
    name: Literal["expon", "gamma", "lognorm", "pareto", "weibull_min"], params: dict[str, float]
) -> tuple[str, Distribution]:
    return _variable(name, params), distribution_of(name, params)
