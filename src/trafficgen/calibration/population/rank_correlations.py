"""The dependence of quantities across sessions, by their ranks.

The dependence is a Gaussian copula whose correlations are shrunk towards independence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.critical_values import NORMAL_95
from trafficgen.distributions.two_samples import mean_ranks
from trafficgen.models import Estimate, PopulationQuantity, RankCorrelation
from trafficgen.scipy_special import special
from trafficgen.units import FloatArray

#: Fewer sessions that have both quantities say nothing about their dependence.
FEWEST_SESSIONS = 5
_NEARLY_ONE = 0.999
_SMALLEST_EIGENVALUE = 1e-6
_METHOD = (
    "normal scores of the ranks, shrunk towards independence (Schaefer and Strimmer 2005) by"
    " {shrinkage:.2f}; interval by Fisher's z of {count} sessions, before shrinking"
)


@dataclass(frozen=True)
class _Pair:
    first: PopulationQuantity
    second: PopulationQuantity
    correlation: float
    sessions: int


def rank_correlations(columns: dict[PopulationQuantity, FloatArray]) -> tuple[RankCorrelation, ...]:
    """Estimate the dependence of each two quantities that five sessions or more have both.

    The shrinkage makes the expected squared error of the whole matrix least: the sum of the
    variances of the correlations over the sum of their squares. It leaves the matrix positive
    definite. Each column, shape (k,), is NaN in sessions that do not have the quantity.
    """
    pairs: list[_Pair] = []
    names = list(columns)
    for row, first in enumerate(names):
        for second in names[row + 1 :]:
            both = np.isfinite(columns[first]) & np.isfinite(columns[second])
            correlation = _correlate_scores(columns[first][both], columns[second][both])
            if correlation is not None:
                pairs.append(_Pair(first, second, correlation, int(np.count_nonzero(both))))
    if not pairs:
        return ()
    squares = sum(pair.correlation**2 for pair in pairs)
    variances = sum((1 - pair.correlation**2) ** 2 / (pair.sessions - 1) for pair in pairs)
    shrinkage = 1.0 if squares <= variances else variances / squares
    shrinkage = max(shrinkage, _least_for_positive(pairs, names))
    return tuple(_describe_pair(pair, shrinkage) for pair in pairs)


def _correlate_scores(first: FloatArray, second: FloatArray) -> float | None:
    """Correlate the normal scores of the ranks; None where there are too few, or all equal."""
    if first.size < FEWEST_SESSIONS or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    one, other = (special.ndtri(mean_ranks(x) / (x.size + 1)) for x in (first, second))
    correlation = float(one @ other / np.sqrt((one @ one) * (other @ other)))  # means are zero
    return float(np.clip(correlation, -_NEARLY_ONE, _NEARLY_ONE))


def _least_for_positive(pairs: list[_Pair], names: list[PopulationQuantity]) -> float:
    """Return the least shrinkage that makes correlations of different sessions definite."""
    matrix = np.eye(len(names))
    for pair in pairs:
        at = names.index(pair.first), names.index(pair.second)
        matrix[at] = matrix[at[::-1]] = pair.correlation
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest >= _SMALLEST_EIGENVALUE:
        return 0.0
    # Shrinking by a share moves every eigenvalue towards 1 by that share.
    return (_SMALLEST_EIGENVALUE - smallest) / (1 - smallest)


def _describe_pair(pair: _Pair, shrinkage: float) -> RankCorrelation:
    half = NORMAL_95 / np.sqrt(pair.sessions - 3)
    low, high = np.tanh(np.arctanh(pair.correlation) + np.array([-half, half])).tolist()
    value = pair.correlation * (1 - shrinkage)
    estimate = Estimate(
        value=value,
        low=min(low, value),
        high=max(high, value),
        method=_METHOD.format(shrinkage=shrinkage, count=pair.sessions),
    )
    return RankCorrelation(first=pair.first, second=pair.second, normal_correlation=estimate)
