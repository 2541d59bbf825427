"""Ranks of a sample, and the correlation of two by their ranks."""

from __future__ import annotations

import numpy as np

from trafficgen.units import FloatArray


def mean_ranks(values: FloatArray) -> FloatArray:
    """Rank values from 1 on; ties share the mean of theirs, shape (n,)."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place], dtype=np.float64)


def rank_correlation(one: FloatArray, other: FloatArray) -> float:
    """Correlate the ranks of two samples that are not constant (Spearman 1904)."""
    return float(np.corrcoef(mean_ranks(one), mean_ranks(other))[0, 1])
