"""Dependence of quantities across sessions: the Gaussian copula of their ranks, shrunk."""

from __future__ import annotations

import numpy as np
from scipy import special

from trafficgen.calibration.laws.ranks import mean_ranks
from trafficgen.models import Estimate, PopulationQuantity, RankCorrelation
from trafficgen.units import FloatArray

#: Fewer sessions that have both quantities say nothing about their dependence.
FEWEST_SESSIONS = 5
_LEVEL = 0.95
_NEARLY_ONE = 0.999
_SMALLEST_EIGENVALUE = 1e-6
_METHOD = (
    "normal scores of the ranks, shrunk towards independence (Schaefer and Strimmer 2005) by"
    " {shrinkage:.2f}; interval by Fisher's z of {count} sessions, before shrinking"
)


def rank_correlations(columns: dict[PopulationQuantity, FloatArray]) -> tuple[RankCorrelation, ...]:
    """Return the dependence of each two quantities that five sessions or more have both.

    The shrinkage is that which makes the expected squared error of the whole matrix least: sum of
    the variances of the correlations over the sum of their squares. It leaves the matrix positive
    definite.

    Args:
        columns: Each quantity of each session, NaN where the session does not have it, shape (k,)
            each.
    """
    found: list[tuple[PopulationQuantity, PopulationQuantity, float, int]] = []
    names = list(columns)
    for row, first in enumerate(names):
        for second in names[row + 1 :]:
            both = np.isfinite(columns[first]) & np.isfinite(columns[second])
            correlation = _of_scores(columns[first][both], columns[second][both])
            if correlation is not None:
                found.append((first, second, correlation, int(np.count_nonzero(both))))
    if not found:
        return ()
    shrinkage = _shrinkage(found)
    shrinkage = max(shrinkage, _least_for_positive(found, names))
    return tuple(_described(*pair, shrinkage=shrinkage) for pair in found)


def _of_scores(first: FloatArray, second: FloatArray) -> float | None:
    """Return the correlation of the normal scores of the ranks; None where there are too few, or
    all equal.
    """
    if first.size < FEWEST_SESSIONS or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    scores = np.stack(
        [special.ndtri(mean_ranks(values) / (values.size + 1)) for values in (first, second)]
    )
    # Scores have the mean zero.
    correlation = float(
        scores[0] @ scores[1] / np.sqrt((scores[0] @ scores[0]) * (scores[1] @ scores[1]))
    )
    return float(np.clip(correlation, -_NEARLY_ONE, _NEARLY_ONE))


def _shrinkage(found: list[tuple[PopulationQuantity, PopulationQuantity, float, int]]) -> float:
    squares = sum(correlation**2 for _, _, correlation, _ in found)
    variances = sum((1 - correlation**2) ** 2 / (count - 1) for _, _, correlation, count in found)
    return 1.0 if squares <= variances else variances / squares


def _least_for_positive(
    found: list[tuple[PopulationQuantity, PopulationQuantity, float, int]],
    names: list[PopulationQuantity],
) -> float:
    """Return the least shrinkage with which a matrix of correlations from different sessions is
    positive definite.
    """
    matrix = np.eye(len(names))
    for first, second, correlation, _ in found:
        at = names.index(first), names.index(second)
        matrix[at] = matrix[at[::-1]] = correlation
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest >= _SMALLEST_EIGENVALUE:
        return 0.0
    # Shrinking by a share moves every eigenvalue towards 1 by that share.
    return (_SMALLEST_EIGENVALUE - smallest) / (1 - smallest)


def _described(
    first: PopulationQuantity,
    second: PopulationQuantity,
    correlation: float,
    count: int,
    *,
    shrinkage: float,
) -> RankCorrelation:
    half = float(special.ndtri((1 + _LEVEL) / 2)) / np.sqrt(count - 3)
    low, high = np.tanh(np.arctanh(correlation) + np.array([-half, half])).tolist()
    value = correlation * (1 - shrinkage)
    return RankCorrelation(
        first=first,
        second=second,
        normal_correlation=Estimate(
            value=value,
            low=min(low, value),
            high=max(high, value),
            method=_METHOD.format(shrinkage=shrinkage, count=count),
        ),
    )
