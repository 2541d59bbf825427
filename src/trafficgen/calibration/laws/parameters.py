"""Free parameters of the families on scales without bounds, for optimisers and for intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from trafficgen.distributions import MIXTURES
from trafficgen.units import FloatArray

#: How a parameter becomes a number without bounds. A ``weight`` is one of the probabilities of a
#: mixture, which add up to 1; a ``shift`` is counted in units of the scale.
Kind = Literal["log", "identity", "logit", "log_above_1", "shift", "weight"]

#: Estimated parameters by family, without those that are set to the ends of the sample.
_FREE: Mapping[str, Mapping[str, Kind]] = {
    "expon": {"scale": "log"},
    "lognorm": {"s": "log", "scale": "log"},
    "gamma": {"a": "log", "scale": "log"},
    "weibull_min": {"c": "log", "scale": "log"},
    "pareto": {"b": "log"},
    "genpareto": {"c": "identity", "scale": "log"},
    "truncpareto": {"b": "log"},
    "fisk": {"c": "log", "scale": "log"},
    "norm": {"loc": "shift", "scale": "log"},
    "beta": {"a": "log", "b": "log"},
    "geom": {"p": "logit"},
    "nbinom": {"n": "log", "p": "logit"},
    "zipf": {"a": "log_above_1"},
    "poisson": {"mu": "log"},
}

#: Parameters that are set to the ends of the sample; they count in the BIC.
ENDS: Mapping[str, tuple[str, ...]] = {
    "pareto": ("scale",),
    "truncpareto": ("c", "scale"),
    "beta": ("loc", "scale"),
}


def free_parameters(family: str, params: Mapping[str, float]) -> dict[str, Kind]:
    """Return the estimated parameters of a family with their kinds, in the order of the family."""
    if family not in MIXTURES:
        return dict(_FREE[family])
    return {name: "weight" if name.startswith("p") else "log" for name in params}


def parameter_count(family: str, params: Mapping[str, float]) -> int:
    """Return how many numbers were estimated; the weights of a mixture count one less."""
    kinds = free_parameters(family, params)
    return len(kinds) - ("weight" in kinds.values()) + len(ENDS.get(family, ()))


def to_free(family: str, params: Mapping[str, float]) -> FloatArray:
    """Return the estimated parameters as numbers without bounds, shape (p,); weights relative to
    the last one.
    """
    numbers, kinds = [], free_parameters(family, params)
    last = _last_weight(kinds)
    for name, kind in kinds.items():
        if name != last:
            reference = params[last] if last and kind == "weight" else 1.0
            numbers.append(on_free_scale(params[name], kind, reference=reference))
    return np.array(numbers)


def from_free(family: str, template: Mapping[str, float], numbers: FloatArray) -> dict[str, float]:
    """Return all parameters from numbers without bounds; what is not estimated is that of the
    template.
    """
    params, kinds = dict(template), free_parameters(family, template)
    last, given = _last_weight(kinds), iter(numbers.tolist())
    odds = {last: 1.0} if last else {}
    for name, kind in kinds.items():
        if name == last:
            continue
        number = next(given)
        if kind == "weight":
            odds[name] = float(np.exp(_within(number, 40.0)))
        else:
            params[name] = from_free_scale(number, kind, template=template, name=name)
    total = sum(odds.values())
    return params | {name: odd / total for name, odd in odds.items()}


def interval_of(
    family: str,
    template: Mapping[str, float],
    numbers: FloatArray,
    covariance: FloatArray,
    *,
    z: float,
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the ends of intervals of the estimated parameters by the delta method on their own
    scales.

    Args:
        family: Name of the family.
        template: Its parameters.
        numbers: The estimate as numbers without bounds, shape (p,).
        covariance: Its covariance, shape (p, p).
        z: Half-width in standard errors.
    """
    params = from_free(family, template, numbers)
    low, high, step = {}, {}, 1e-5
    moved = [
        [from_free(family, template, numbers + sign * step * axis) for sign in (1, -1)]
        for axis in np.eye(numbers.size)
    ]
    for name, kind in free_parameters(family, template).items():
        own: Kind = "logit" if kind == "weight" else kind

        def scaled(of: Mapping[str, float], name: str = name, own: Kind = own) -> float:
            return of[name] if own == "shift" else on_free_scale(of[name], own)

        slope = np.array([(scaled(up) - scaled(down)) / (2 * step) for up, down in moved])
        half = z * float(np.sqrt(max(0.0, slope @ covariance @ slope)))
        centre = scaled(params)
        ends = [centre - half, centre + half]
        low[name], high[name] = (
            ends if own == "shift" else (from_free_scale(end, own) for end in ends)
        )
    return low, high


def _last_weight(kinds: Mapping[str, Kind]) -> str | None:
    weights = [name for name, kind in kinds.items() if kind == "weight"]
    return weights[-1] if weights else None


def on_free_scale(value: float, kind: Kind, *, reference: float = 1.0) -> float:
    """Return a parameter as a number without bounds."""
    if kind in ("log", "weight"):
        return float(np.log(value / reference))
    if kind == "logit":
        return float(np.log(value) - np.log1p(-min(value, 1 - 1e-12)))
    if kind == "log_above_1":
        return float(np.log(value - 1))
    return 0.0 if kind == "shift" else value


def from_free_scale(
    number: float, kind: Kind, *, template: Mapping[str, float] | None = None, name: str = ""
) -> float:
    """Return a parameter from a number without bounds."""
    if kind == "log":
        return float(np.exp(_within(number, 700.0)))
    if kind == "logit":
        return float(1 / (1 + np.exp(-_within(number, 40.0))))
    if kind == "log_above_1":
        return 1 + float(np.exp(_within(number, 40.0)))
    if kind == "shift" and template is not None:
        return template[name] + template["scale"] * number
    return number


def _within(number: float, most: float) -> float:
    return min(max(number, -most), most)  # a tenth of what numpy takes for one number
