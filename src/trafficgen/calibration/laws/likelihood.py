"""Maximum likelihood of grouped samples by the method of scoring, on scales without bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trafficgen import _core
from trafficgen.calibration.laws.cells import Cells
from trafficgen.calibration.laws.families import Params, Scale, free_parameters
from trafficgen.distributions import Distribution, distribution_of, truncate
from trafficgen.units import FloatArray

MOST_ROUNDS = 60

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class FamilyLaw:
    """A family with its parameters; values are seen between bounds (None where it has no bound)."""

    family: str
    params: Params
    bounds: Bounds = (None, None)

    @property
    def distribution(self) -> Distribution:
        """The law within its bounds.

        Raises:
            ValueError: If a parameter is out of range, or nothing lies within the bounds.
        """
        whole = distribution_of(self.family, self.params)
        return truncate(whole, minimum=self.bounds[0], maximum=self.bounds[1])

    @property
    def scales(self) -> dict[str, Scale]:
        """The estimated parameters with their scales, in the order of the family."""
        return free_parameters(self.family, self.params)

    @property
    def interval_scales(self) -> dict[str, Scale]:
        """The estimated parameters with the scales on which each alone has its interval."""
        alone: dict[Scale, Scale] = {"weight": "logit", "shift": "identity"}
        return {name: alone.get(scale, scale) for name, scale in self.scales.items()}

    def move_by(self, step: FloatArray) -> Params:
        """Return the parameters after a step of the estimated numbers without bounds, shape (p,).

        Raises:
            ValueError: If there is no such law.
        """
        return _core.move_law(self.family, self.params, step)


@dataclass(frozen=True)
class Maximum:
    """Where the likelihood of a family is largest."""

    law: FamilyLaw
    found: _core.Maximum

    @cached_property
    def log_probabilities(self) -> FloatArray:
        """Those of the cells, shape (k,)."""
        return self.found.log_probabilities()

    def value(self, counts: FloatArray) -> float:
        """Return the log-likelihood of counts of the cells, shape (k,)."""
        return float(np.dot(counts, self.log_probabilities))


def maximise(start: FamilyLaw, cells: Cells, *, rounds: int = MOST_ROUNDS) -> Maximum | None:
    """Find the maximum of a family's likelihood near a start; None where no maximum is found.

    Steps are those of scoring with the information estimated from the products of the scores
    (Berndt, Hall, Hall and Hausman 1974), damped until the likelihood grows (Levenberg 1944,
    Marquardt 1963), at most as many as ``rounds``. Parameters that are not estimated stay.
    """
    try:
        found = cells.grouped.maximise(start.family, start.params, start.bounds, rounds)
    except ValueError:
        return None
    if found is None:
        return None
    return Maximum(FamilyLaw(start.family, found.params(), start.bounds), found)


def to_unconstrained(value: float, scale: Scale) -> float:
    """Return a parameter as a number without bounds."""
    if scale == "log":
        return float(np.log(value))
    if scale == "logit":
        return float(np.log(value) - np.log1p(-min(value, 1 - 1e-12)))
    return float(np.log(value - 1)) if scale == "log_above_1" else value


def from_unconstrained(number: float, scale: Scale) -> float:
    """Return a parameter from a number without bounds."""
    if scale == "log":
        return float(np.exp(_clip(number, 700.0)))
    if scale == "logit":
        return float(1 / (1 + np.exp(-_clip(number, 40.0))))
    if scale == "log_above_1":
        return 1 + float(np.exp(_clip(number, 40.0)))
    return number


def _clip(number: float, most: float) -> float:
    return min(max(number, -most), most)  # a tenth of what numpy takes for one number
