"""Maximum likelihood of grouped samples by the method of scoring, on scales without bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.laws.cells import Cells
from trafficgen.calibration.laws.families import Params, Scale, free_parameters
from trafficgen.distributions import Distribution, distribution_of, truncate
from trafficgen.units import FloatArray

MOST_ROUNDS = 60
_STEP = 1e-4
_DAMPING = 1e-3
_LARGEST_DAMPING = 1e9
#: Iteration stops where less is to be gained: the estimate is then within 0.5% of a standard error.
_SMALLEST_GAIN = 1e-5
_RIDGE = 1e-9

Bounds = tuple[float | None, float | None]
LogProbabilities = Callable[[Distribution], FloatArray]


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

    @property
    def free(self) -> FloatArray:
        """The estimated parameters as numbers without bounds, shape (p,)."""
        scales, last = self.scales, self._last_weight
        return np.array(
            [
                to_unconstrained(
                    self.params[name],
                    scale,
                    reference=self.params[last] if last and scale == "weight" else 1.0,
                )
                for name, scale in scales.items()
                if name != last
            ]
        )

    def move_to(self, numbers: FloatArray) -> FamilyLaw:
        """Return the family's law at other numbers without bounds, shape (p,)."""
        params, last, given = dict(self.params), self._last_weight, iter(numbers.tolist())
        odds = {last: 1.0} if last else {}
        for name, scale in self.scales.items():
            if name == last:
                continue
            number = next(given)
            if scale == "weight":
                odds[name] = float(np.exp(_clip(number, 40.0)))
            elif scale == "shift":
                params[name] = self.params[name] + self.params["scale"] * number
            else:
                params[name] = from_unconstrained(number, scale)
        total = sum(odds.values())
        params |= {name: odd / total for name, odd in odds.items()}
        return FamilyLaw(self.family, params, self.bounds)

    def log_probabilities(self, of: LogProbabilities, numbers: FloatArray) -> FloatArray | None:
        """Evaluate ``of`` for the law at these numbers; None where there is no such law."""
        try:
            return of(self.move_to(numbers).distribution)
        except (ValueError, OverflowError, ZeroDivisionError):
            return None

    def scores(self, of: LogProbabilities, numbers: FloatArray) -> FloatArray | None:
        """Differentiate ``of`` by the numbers, shape (k, p); None where no law or not finite."""
        columns = []
        for axis in np.eye(numbers.size) * _STEP:
            up = self.log_probabilities(of, numbers + axis)
            down = self.log_probabilities(of, numbers - axis)
            if up is None or down is None:
                return None
            columns.append((up - down) / (2 * _STEP))
        scores = np.stack(columns, axis=1)
        return scores if np.all(np.isfinite(scores)) else None

    @property
    def _last_weight(self) -> str | None:
        weights = [name for name, scale in self.scales.items() if scale == "weight"]
        return weights[-1] if weights else None


@dataclass(frozen=True)
class Maximum:
    """Where the likelihood of a family is largest."""

    law: FamilyLaw
    log_probabilities: FloatArray  #: of the cells, shape (k,)
    scores: FloatArray  #: their derivatives by the free parameters, shape (k, p)

    def value(self, counts: FloatArray) -> float:
        """Return the log-likelihood of counts of the cells, shape (k,)."""
        return float(np.dot(counts, self.log_probabilities))


@np.errstate(all="ignore")  # what is not finite is refused
def maximise(start: FamilyLaw, cells: Cells, *, rounds: int = MOST_ROUNDS) -> Maximum | None:
    """Find the maximum of a family's likelihood near a start; None where no maximum is found.

    Steps are those of scoring with the information estimated from the products of the scores
    (Berndt, Hall, Hall and Hausman 1974), damped until the likelihood grows (Levenberg 1944,
    Marquardt 1963), at most as many as ``rounds``. Parameters that are not estimated stay.
    """
    of, counts, free = cells.log_probabilities, cells.counts, start.free
    here = start.log_probabilities(of, free)
    if here is None or not np.all(np.isfinite(free)):
        return None
    value, damping = float(np.dot(counts, here)), _DAMPING
    scores = start.scores(of, free)
    for _ in range(rounds):
        if scores is None:
            return None
        gradient, information = counts @ scores, scores.T @ (counts[:, None] * scores)
        step = _damped_step(information, gradient, damping)
        there = start.log_probabilities(of, free + step)
        grown = float(np.dot(counts, there)) if there is not None else -np.inf
        if there is not None and grown >= value:
            gain, free, here, value = grown - value, free + step, there, grown
            damping /= 10
            scores = start.scores(of, free)
            if gain < _SMALLEST_GAIN:
                break
        elif 0.5 * float(gradient @ step) < 0.1 * _SMALLEST_GAIN or damping > _LARGEST_DAMPING:
            break
        else:
            damping = max(damping, _DAMPING) * 10
    return None if scores is None else Maximum(start.move_to(free), here, scores)


def _damped_step(information: FloatArray, gradient: FloatArray, damping: float) -> FloatArray:
    """Return a damped step, no longer than a factor of e in any parameter."""
    diagonal = np.diag(information)
    damped = information + np.diag(damping * diagonal + _RIDGE * diagonal.max() + 1e-30)
    step = np.linalg.solve(damped, gradient)
    return np.asarray(step / max(1.0, float(np.abs(step).max())))


def to_unconstrained(value: float, scale: Scale, *, reference: float = 1.0) -> float:
    """Return a parameter as a number without bounds; a shift is counted from itself."""
    if scale in ("log", "weight"):
        return float(np.log(value / reference))
    if scale == "logit":
        return float(np.log(value) - np.log1p(-min(value, 1 - 1e-12)))
    if scale == "log_above_1":
        return float(np.log(value - 1))
    return 0.0 if scale == "shift" else value


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
