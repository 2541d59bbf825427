"""What fitting needs to know of each family: its free parameters and its initial estimates.

The search for the maximum of a likelihood starts at moments, ends of the sample, or the result of
a few rounds of EM; that of a family for which nothing better is known, where its median is that of
the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Literal, cast

import numpy as np

from trafficgen._core import LAW_FAMILIES, add_family, mix_normals
from trafficgen.distributions import DISCRETE_FAMILIES, MIXTURES, OWN_FAMILIES, distribution_of
from trafficgen.distributions.fitting.cells import Cells
from trafficgen.distributions.own_families import OwnFamily
from trafficgen.distributions.starting_point import QUARTILES, fit_quartiles, middle_params
from trafficgen.errors import CalibrationError
from trafficgen.registry import name_failures
from trafficgen.units import FloatArray, IntArray

Unit = Literal["s", "bytes", "packets"]
Params = dict[str, float]
#: How a parameter becomes a number without bounds. A ``weight`` is one of the probabilities of a
#: mixture, which add up to 1; a ``shift`` is counted in units of the scale.
Scale = Literal["log", "identity", "logit", "log_above_1", "shift", "weight"]

_EM_ROUNDS = 40
_EM_TOLERANCE = 1e-5
_SMALLEST_WEIGHT = 1e-4
#: A hyperexponential law has a squared coefficient of variation above 1.
_SMALLEST_SQUARED_VARIATION = 1.02
#: A normal law of times or sizes is this many standard deviations above 0: nothing lies below.
_NORMAL_ABOVE_ZERO = 4.0
#: Likewise of a logistic law, in scales (1 of 1,000 lies below 0) ...
_LOGISTIC_ABOVE_ZERO = 7.0
#: ... and of the law of the largest extreme value (1 of 10,000).
_GUMBEL_ABOVE_ZERO = 2.2
#: The law of the largest extreme value leans to one side by this much, the logistic law not at all;
#: samples that lean otherwise, by more than this and this many over the root of their size, have
#: neither law and cost no search.
_GUMBEL_LEAN = 0.22
_LEAN_WITHIN, _LEAN_ERRORS = 0.12, 5.0
#: A user's function gives the start from the quantiles of these shares.
_STARTING_SHARES = (np.arange(200) + 0.5) / 200

Starts = Callable[[Cells], list[Params]]


@dataclass(frozen=True)
class FittedFamily:
    """How one family is fitted."""

    #: Where the search begins; an empty list if the family cannot fit a sample.
    starts: Starts
    #: Estimated parameters and their scales, of a family that the core does not know.
    free: Mapping[str, Scale] = field(default_factory=dict)
    #: Parameters set to the ends of the sample; they count in the BIC.
    ends: tuple[str, ...] = ()
    #: Units of the quantities for which the family is always tried.
    units: tuple[Unit, ...] = ("s", "bytes")
    #: Units for which it is tried only where no family of ``units`` fits.
    richer: tuple[Unit, ...] = ()


def free_parameters(family: str, params: Mapping[str, float]) -> dict[str, Scale]:
    """Return the estimated parameters of a family with their scales, in the order of the family."""
    if family not in MIXTURES:
        known = LAW_FAMILIES[family][1] if family in LAW_FAMILIES else _fitted(family).free
        return cast("dict[str, Scale]", dict(known))
    return {name: "weight" if name.startswith("p") else "log" for name in params}


def count_parameters(family: str, params: Mapping[str, float]) -> int:
    """Count the estimated numbers; the weights of a mixture count one less."""
    scales = free_parameters(family, params)
    ends = () if family in MIXTURES else _fitted(family).ends
    return len(scales) - ("weight" in scales.values()) + len(ends)


def initial_estimates(family: str, sample: Cells) -> list[Params]:
    """Return where the search for a family's maximum starts; empty where it cannot fit the sample.

    The family is a key of :data:`FITTED_FAMILIES`, or one that was registered.
    """
    starts = _fitted(family).starts(sample)
    return [start for start in starts if all(np.isfinite(list(start.values())))]


def families_of(unit: Unit, *, richer: bool = False) -> tuple[str, ...]:
    """Return the families that are tried for a unit, or the richer ones tried where none fits."""
    known = FITTED_FAMILIES | {name: _fitted(name) for name in OWN_FAMILIES}
    return tuple(
        name
        for name, family in known.items()
        if unit in (family.richer if richer else family.units)
    )


def _exponential(sample: Cells) -> list[Params]:
    return [{"loc": 0.0, "scale": sample.mean}]


def _lognormal(sample: Cells) -> list[Params]:
    return [{"s": sample.sd_log, "loc": 0.0, "scale": float(np.exp(sample.mean_log))}]


def _gamma(sample: Cells) -> list[Params]:
    shape = gamma_shape(max(float(np.log(sample.mean)) - sample.mean_log, 1e-12))
    return [{"a": shape, "loc": 0.0, "scale": sample.mean / shape}]


def gamma_shape(s: float) -> float:
    """Return Minka's closed form (2002) for the shape, within 1.5%, from log mean - mean log."""
    return float((3 - s + float(np.sqrt((s - 3) ** 2 + 24 * s))) / (12 * s))


def _weibull(sample: Cells) -> list[Params]:
    """Use mean and standard deviation of the logarithms, which follow an extreme-value law."""
    shape = float(np.pi / np.sqrt(6)) / sample.sd_log
    scale = float(np.exp(sample.mean_log + np.euler_gamma / shape))
    return [{"c": shape, "loc": 0.0, "scale": scale}]


def _pareto(sample: Cells) -> list[Params]:
    smallest = float(sample.values[0])
    excess = sample.mean_log - float(np.log(smallest))
    return [{"b": 1 / excess, "loc": 0.0, "scale": smallest}] if excess > 0 else []


def _generalised_pareto(sample: Cells) -> list[Params]:
    """Use probability-weighted moments (Hosking and Wallis 1987); ends lie beyond the sample."""
    above = 1 - (np.cumsum(sample.counts) - 0.5 * sample.counts) / sample.n
    lower = sample.average(sample.values * above)
    if sample.mean <= 2 * lower:
        return []
    c = float(np.clip(2 - sample.mean / (sample.mean - 2 * lower), -0.8, 0.95))
    scale = sample.mean * (1 - c)
    if c < 0:
        scale = max(scale, -1.02 * c * float(sample.values[-1]))
    return [{"c": c, "loc": 0.0, "scale": scale}]


def _truncated_pareto(sample: Cells) -> list[Params]:
    largest = float(sample.values[-1]) + 0.5 * sample.tick
    return [
        start | {"b": max(0.1, start["b"]), "c": largest / start["scale"]}
        for start in _pareto(sample)
    ]


def _log_logistic(sample: Cells) -> list[Params]:
    shape = float(np.pi / np.sqrt(3)) / sample.sd_log
    return [{"c": shape, "loc": 0.0, "scale": float(np.exp(sample.mean_log))}]


def _normal(sample: Cells) -> list[Params]:
    sd = float(np.sqrt(sample.variance))
    fits = sd > 0 and sample.mean > _NORMAL_ABOVE_ZERO * sd
    return [{"loc": sample.mean, "scale": sd}] if fits else []


def _logistic(sample: Cells) -> list[Params]:
    scale = float(np.sqrt(3 * sample.variance)) / float(np.pi)
    fits = scale > 0 and sample.mean > _LOGISTIC_ABOVE_ZERO * scale
    fits = fits and abs(_lean(sample)) < _leeway(sample)
    return [{"loc": sample.mean, "scale": scale}] if fits else []


def _largest_extreme_value(sample: Cells) -> list[Params]:
    scale = float(np.sqrt(6 * sample.variance)) / float(np.pi)
    loc = sample.mean - float(np.euler_gamma) * scale
    fits = scale > 0 and loc > _GUMBEL_ABOVE_ZERO * scale
    fits = fits and abs(_lean(sample) - _GUMBEL_LEAN) < _leeway(sample)
    return [{"loc": loc, "scale": scale}] if fits else []


def _lean(sample: Cells) -> float:
    """Return how far the median is from the middle of both deciles, relative to half of them."""
    low, middle, high = (sample.quantile(p) for p in (0.1, 0.5, 0.9))
    return (high + low - 2 * middle) / (high - low) if high > low else 0.0


def _leeway(sample: Cells) -> float:
    return _LEAN_WITHIN + _LEAN_ERRORS / float(np.sqrt(sample.n))


def _beta(sample: Cells) -> list[Params]:
    """Use moments, on the sample's range and what a uniform law would leave unseen at both ends."""
    seen = float(sample.values[-1] - sample.values[0])
    unseen = max(0.5 * sample.tick, seen / sample.n)
    loc = max(0.0, float(sample.values[0]) - unseen)
    scale = float(sample.values[-1]) + unseen - loc
    mean, variance = (sample.mean - loc) / scale, sample.variance / scale**2
    size = mean * (1 - mean) / variance - 1 if variance > 0 else 0.0
    if size <= 0:
        return []
    return [{"a": mean * size, "b": (1 - mean) * size, "loc": loc, "scale": scale}]


def _hyperexponential(count: int) -> Starts:
    """Start from exponential laws of the parts between quantiles, improved by EM."""

    def starts(sample: Cells) -> list[Params]:
        if sample.variance <= _SMALLEST_SQUARED_VARIATION * sample.mean**2:
            return []
        found = []
        for share in ((0.5, 0.5), (0.9, 0.1)) if count == 2 else ((0.6, 0.3, 0.1),):
            ends = [0.0, *(sample.quantile(float(p)) for p in np.cumsum(share)[:-1]), np.inf]
            x = sample.values
            parts = [(x > low) & (x <= high) for low, high in pairwise(ends)]
            if all(np.any(part) for part in parts):
                means = [np.average(x[part], weights=sample.counts[part]) for part in parts]
                found.append(_improve_exponentials(sample, np.array(share), np.array(means)))
        return found

    return starts


def _improve_exponentials(sample: Cells, weight: FloatArray, scale: FloatArray) -> Params:
    """Improve a mixture of exponential laws by EM (Dempster, Laird and Rubin 1977)."""
    x, counts = sample.values[:, None], sample.counts[:, None]
    for _ in range(_EM_ROUNDS):
        density = weight / scale * np.exp(-x / scale)
        member = counts * density / np.maximum(density.sum(axis=1, keepdims=True), 1e-300)
        total = np.maximum(member.sum(axis=0), 1e-9 * sample.n)
        weight = total / total.sum()
        scale = np.maximum((member * x).sum(axis=0) / total, 1e-6 * sample.mean)
    return _number_components(weight, {"scale": scale})


def _lognormal_mixture(count: int) -> Starts:
    """Start from equal parts of the ranks and of the range of the logarithms, improved by EM."""

    def starts(sample: Cells) -> list[Params]:
        shares = np.cumsum(sample.counts) / sample.n
        span = sample.logs - sample.logs[0]
        range_share = span / max(span[-1], 1e-300)
        found = []
        for place in (shares * count * (1 - 1e-12), range_share * count):
            part = np.minimum(place.astype(np.int64), count - 1)
            sizes = np.bincount(part, weights=sample.counts, minlength=count).astype(np.float64)
            if np.all(sizes > 0):
                found.append(_improve_normals(sample, part))
        return found

    return starts


def _improve_normals(sample: Cells, part: IntArray) -> Params:
    """Improve a mixture of normal laws of the logarithms by EM, from members of the parts."""
    smallest = max(0.01 * sample.sd_log, 1e-7)
    rounds = 2 * _EM_ROUNDS
    improved = mix_normals(sample.logs, sample.counts, part, smallest, rounds, _EM_TOLERANCE)
    weight, mean, sd = np.transpose(improved)
    return _number_components(weight, {"s": sd, "scale": np.exp(mean)})


def _number_components(weight: FloatArray, parts: dict[str, FloatArray]) -> Params:
    """Return the flat parameters of a mixture, components by ascending scale."""
    weight = np.maximum(weight, _SMALLEST_WEIGHT) / np.maximum(weight, _SMALLEST_WEIGHT).sum()
    order = np.argsort(parts["scale"])
    return {
        f"{name}{number}": float(values[index])
        for number, index in enumerate(order, start=1)
        for name, values in ({"p": weight} | parts).items()
    }


def _geometric(sample: Cells) -> list[Params]:
    loc = -1.0 if sample.values[0] < 0.5 else 0.0
    mean = sample.mean_number - loc
    return [{"p": 1 / mean, "loc": loc}] if mean > 1 else []


def _negative_binomial(sample: Cells) -> list[Params]:
    found, mean = [], sample.mean_number
    for loc in (0.0, 1.0) if sample.values[0] > 0.5 else (0.0,):
        if sample.variance > mean - loc > 0:
            p = (mean - loc) / sample.variance
            found.append({"n": (mean - loc) * p / (1 - p), "p": p, "loc": loc})
    return found


def _zeta(sample: Cells) -> list[Params]:
    """Use the continuous approximation of Clauset, Shalizi and Newman (2009), eq. 3.7."""
    excess = sample.average(np.log(np.maximum(sample.values, 1.0) / 0.5))
    return [{"a": 1 + 1 / excess, "loc": 0.0}] if sample.values[0] > 0.5 else []


def _poisson(sample: Cells) -> list[Params]:
    mean = sample.mean_number
    locs = (0.0, 1.0) if sample.values[0] > 0.5 else (0.0,)
    return [{"mu": mean - loc, "loc": loc} for loc in locs if mean > loc]


def _match_quartiles(family: str) -> Starts:
    """Start where the median of a family is that of the sample; all its shapes are estimated."""
    scales = LAW_FAMILIES[family][1]

    def starts(sample: Cells) -> list[Params]:
        quartiles = np.array([sample.quantile(float(p)) for p in QUARTILES])
        loc = 0.0
        if family in DISCRETE_FAMILIES:
            first, _ = distribution_of(family, middle_params(scales)).support
            loc = min(0.0, float(np.rint(sample.values[0])) - first)
            quartiles = np.rint(quartiles) - loc

        def quartiles_of(params: Params) -> FloatArray:
            return distribution_of(family, params).ppf(QUARTILES)

        return [{"loc": loc} | fit_quartiles(scales, quartiles_of, quartiles)]

    return starts


_ALL: tuple[Unit, ...] = ("s", "bytes", "packets")
_COUNTS: tuple[Unit, ...] = ("packets",)

#: Every family that is fitted, in the order in which families are tried; the part after a slash is
#: the number of components of a mixture.
FITTED_FAMILIES: dict[str, FittedFamily] = {
    "geom": FittedFamily(_geometric, units=_COUNTS),
    "nbinom": FittedFamily(_negative_binomial, units=_COUNTS),
    "zipf": FittedFamily(_zeta, units=_COUNTS),
    "poisson": FittedFamily(_poisson, units=_COUNTS),
    "expon": FittedFamily(_exponential),
    "lognorm": FittedFamily(_lognormal, units=_ALL),
    "gamma": FittedFamily(_gamma, units=_ALL),
    "weibull_min": FittedFamily(_weibull, units=_ALL),
    "pareto": FittedFamily(_pareto, ends=("scale",)),
    "genpareto": FittedFamily(_generalised_pareto),
    "truncpareto": FittedFamily(_truncated_pareto, ends=("c", "scale")),
    "fisk": FittedFamily(_log_logistic, richer=_COUNTS),
    "norm": FittedFamily(_normal, units=_ALL),
    "logistic": FittedFamily(_logistic),
    "gumbel_r": FittedFamily(_largest_extreme_value),
    "beta": FittedFamily(_beta, ends=("loc", "scale")),
    "hyperexpon/2": FittedFamily(_hyperexponential(2), units=("s",)),
    "hyperexpon/3": FittedFamily(_hyperexponential(3), units=(), richer=("s",)),
    "lognorm_mixture/2": FittedFamily(_lognormal_mixture(2), units=(), richer=_ALL),
    "lognorm_mixture/3": FittedFamily(_lognormal_mixture(3), units=(), richer=_ALL),
}


FITTED_FAMILIES |= {
    name: FittedFamily(
        _match_quartiles(name), units=_COUNTS if name in DISCRETE_FAMILIES else ("s", "bytes")
    )
    for name in LAW_FAMILIES
    if name not in FITTED_FAMILIES
}


def _fitted(family: str) -> FittedFamily:
    if family in FITTED_FAMILIES:
        return FITTED_FAMILIES[family]
    return _fit_own(family, OWN_FAMILIES[family])


#: Exceptions of families of users in a fit, which cannot cross the core.
_failures: dict[str, Exception] = {}


def raise_failures() -> None:
    """Raise CalibrationError for what functions of a user raised in a fit; it names the family."""
    failures = dict(_failures)
    _failures.clear()
    for name, error in failures.items():
        with name_failures(f"distribution {name}", kind=CalibrationError):
            raise error


@cache
def _fit_own(name: str, own: OwnFamily) -> FittedFamily:
    """Let the core fit a family by its distribution function in Python, which takes longer."""

    def tail(params: list[float], x: FloatArray, upper: bool) -> FloatArray:
        try:
            found = own.tail(params, x, upper=upper)
            if found.shape != x.shape:
                raise TypeError(f"values of the shape {found.shape}, not {x.shape}")
        except (ArithmeticError, ValueError):
            raise  # it refuses the parameters, which the core takes for no law
        except Exception as error:  # whatever functions of a user do
            _failures.setdefault(name, error)
            raise
        return found

    def starts(sample: Cells) -> list[Params]:
        values = np.array([sample.quantile(float(p)) for p in _STARTING_SHARES])
        return [{"loc": 0.0} | {key: float(value) for key, value in own.start(values).items()}]

    scales = cast("dict[str, Scale]", own.scales)
    add_family(name, list(own.shapes), list(scales.items()), False, tail)
    return FittedFamily(starts, free=scales, units=cast("tuple[Unit, ...]", own.units))
