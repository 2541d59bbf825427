"""Where the search for a family's parameters starts when nothing better is known of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from trafficgen.units import FloatArray

#: Parameter in the middle of its range, by how it becomes a number without bounds.
_MIDDLES = {"log": 1.0, "identity": 0.0, "logit": 0.5, "log_above_1": 2.0, "shift": 0.0}
#: Numbers without bounds that are tried for the shape of a law of whole numbers.
_NUMBERS = np.linspace(-8.0, 8.0, 65)
#: Probabilities of the quartiles.
QUARTILES = np.array([0.25, 0.5, 0.75])

Quartiles = Callable[[dict[str, float]], FloatArray]


def middle_params(scales: Mapping[str, str]) -> dict[str, float]:
    """Return parameters in the middle of their ranges; those that are estimated have scales."""
    return {name: _MIDDLES[scale] for name, scale in scales.items()}


def fit_quartiles(
    scales: Mapping[str, str], quartiles_of: Quartiles, sample: FloatArray
) -> dict[str, float]:
    """Return estimated parameters with which the median of a family is that of a sample.

    Its spread is too, where the family may be shifted. Laws of whole numbers, which have no scale,
    get the first shape with which their quartiles are nearest.

    Args:
        scales: Estimated parameter -> how it becomes a number without bounds.
        quartiles_of: Quartiles of the family with the other parameters at 0, and a scale of 1.
        sample: Quartiles of the sample, shape (3,).
    """
    params = middle_params(scales)
    if "scale" not in scales:
        name, scale = next(iter(scales.items()))
        tried = [params | {name: _from_number(scale, float(number))} for number in _NUMBERS]
        distance = [float(np.abs(quartiles_of(one) - sample).sum()) for one in tried]
        nearest = np.flatnonzero(np.array(distance) == min(distance))
        return tried[int(nearest[nearest.size // 2])]
    low, median, high = quartiles_of(params).tolist()
    if "loc" in scales and high > low:
        factor = float(sample[2] - sample[0]) / (high - low)
        return params | {"loc": float(sample[1]) - factor * median, "scale": factor}
    return params | {"scale": float(sample[1]) / median if median > 0 else 1.0}


def _from_number(scale: str, number: float) -> float:
    if scale == "logit":
        return float(1 / (1 + np.exp(-number)))
    return number if scale == "identity" else float(np.exp(number)) + (scale == "log_above_1")
