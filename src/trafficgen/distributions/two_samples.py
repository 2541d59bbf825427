"""How two samples compare: their Kolmogorov-Smirnov distance, and the correlation of ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trafficgen import _core
from trafficgen.units import FloatArray


def ks_distance(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """Compute the largest difference of two samples' distribution functions; any order and sizes.

    Source: Smirnov, "Table for estimating the goodness of fit of empirical distributions", Ann.
    Math. Stat. 1948.
    """
    first, second = (np.ascontiguousarray(sample, np.float64) for sample in (one, other))
    return _core.sample_distance(first, second)


def mean_ranks(values: FloatArray) -> FloatArray:
    """Rank values from 1 on; ties share the mean of theirs, NaN has none, shape (n,)."""
    return _core.mean_ranks(np.ascontiguousarray(values, dtype=np.float64))


def rank_correlation(one: FloatArray, other: FloatArray) -> float:
    """Correlate the ranks of two samples that are not constant (Spearman 1904)."""
    return float(np.corrcoef(mean_ranks(one), mean_ranks(other))[0, 1])
