"""Maximum likelihood of grouped samples by the method of scoring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.laws.cells import Cells
from trafficgen.calibration.laws.parameters import from_free, to_free
from trafficgen.distributions import Distribution, distribution_of, truncated
from trafficgen.units import FloatArray

_STEP = 1e-4
MOST_ROUNDS = 60
_DAMPING = 1e-3
_LARGEST_DAMPING = 1e9
#: Iteration stops when less than this is to be gained: an estimate is then within 0.5% of a
#: standard error.
_SMALLEST_GAIN = 1e-5
#: Starts are polished this far at most before hopeless ones are left.
_RIDGE = 1e-9

Bounds = tuple[float | None, float | None]
LogProbabilities = Callable[[Distribution], FloatArray]


@dataclass(frozen=True)
class Maximum:
    """Where the likelihood of a family is largest.

    Attributes:
        family: Name of the family.
        params: All its parameters.
        bounds: Bounds of what can be seen; None where there is none.
        log_probabilities: Of the cells at the maximum, shape (k,).
        scores: Their derivatives by the free parameters, shape (k, p).
    """

    family: str
    params: dict[str, float]
    bounds: Bounds
    log_probabilities: FloatArray
    scores: FloatArray

    @property
    def free(self) -> FloatArray:
        """The estimated parameters as numbers without bounds, shape (p,)."""
        return to_free(self.family, self.params)

    @property
    def distribution(self) -> Distribution:
        """The fitted law, within its bounds."""
        return law_of(self.family, self.params, self.bounds)


def law_of(family: str, params: dict[str, float], bounds: Bounds) -> Distribution:
    """Return a family's law within bounds.

    Raises:
        ValueError: If a parameter is out of range, or the law has no probability within the bounds.
    """
    return truncated(distribution_of(family, params), minimum=bounds[0], maximum=bounds[1])


def log_probabilities_at(
    family: str,
    template: dict[str, float],
    free: FloatArray,
    *,
    bounds: Bounds,
    of: LogProbabilities,
) -> FloatArray | None:
    """Return what ``of`` gives for the law with these free parameters; None where there is no such
    law.
    """
    try:
        return of(law_of(family, from_free(family, template, free), bounds))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


def scores_at(
    family: str,
    template: dict[str, float],
    free: FloatArray,
    *,
    bounds: Bounds,
    of: LogProbabilities,
) -> FloatArray | None:
    """Return the derivatives of ``of`` by the free parameters, shape (k, p), by central
    differences.
    """
    columns = []
    for axis in np.eye(free.size) * _STEP:
        ends = [
            log_probabilities_at(family, template, free + sign * axis, bounds=bounds, of=of)
            for sign in (1, -1)
        ]
        if ends[0] is None or ends[1] is None:
            return None
        columns.append((ends[0] - ends[1]) / (2 * _STEP))
    return np.stack(columns, axis=1)


@np.errstate(
    over="ignore", invalid="ignore", divide="ignore", under="ignore"
)  # what is not finite is refused
def maximise(
    family: str,
    start: dict[str, float],
    cells: Cells,
    *,
    bounds: Bounds = (None, None),
    rounds: int = MOST_ROUNDS,
) -> Maximum | None:
    """Return the maximum of a family's likelihood near a start; None where there is none.

    Steps are those of scoring with the information estimated from the products of the scores
    (Berndt, Hall, Hall and Hausman 1974), damped until the likelihood grows (Levenberg 1944,
    Marquardt 1963).

    Args:
        family: Name of the family.
        start: All its parameters; those that are not estimated stay.
        cells: The sample.
        bounds: What can be seen lies between these.
        rounds: Steps at most.
    """
    of, counts = cells.log_probabilities, cells.counts
    free, template = to_free(family, start), dict(start)
    here = log_probabilities_at(family, template, free, bounds=bounds, of=of)
    if here is None or not np.all(np.isfinite(free)):
        return None
    value, damping = float(np.dot(counts, here)), _DAMPING
    scores = scores_at(family, template, free, bounds=bounds, of=of)
    for _ in range(rounds):
        if scores is None or not np.all(np.isfinite(scores)):
            return None
        gradient, information = counts @ scores, scores.T @ (counts[:, None] * scores)
        step = _step(information, gradient, damping)
        moved = free + step
        there = log_probabilities_at(family, template, moved, bounds=bounds, of=of)
        grown = float(np.dot(counts, there)) if there is not None else -np.inf
        if there is not None and grown >= value:
            gained, free, here, value, damping = grown - value, moved, there, grown, damping / 10
            scores = scores_at(family, template, free, bounds=bounds, of=of)
            if gained < _SMALLEST_GAIN:
                break
        elif 0.5 * float(gradient @ step) < 0.1 * _SMALLEST_GAIN or damping > _LARGEST_DAMPING:
            break
        else:
            damping = max(damping, _DAMPING) * 10
    if scores is None or not np.all(np.isfinite(scores)):
        return None
    return Maximum(family, from_free(family, template, free), bounds, here, scores)


def _step(information: FloatArray, gradient: FloatArray, damping: float) -> FloatArray:
    """Return a damped step, no longer than a factor of e in any parameter."""
    diagonal = np.diag(information)
    damped = information + np.diag(damping * diagonal + _RIDGE * diagonal.max() + 1e-30)
    step = np.linalg.solve(damped, gradient)
    return np.asarray(step / max(1.0, float(np.abs(step).max())))
