"""Dependence across sessions is that of ranks, shrunk, and a matrix that can be drawn from."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.calibration.population.pooled_model import rank_correlations


def test_a_monotone_relation_counts_whatever_its_shape() -> None:
    rate = np.exp(np.random.default_rng(1).normal(0, 1, 40))
    (pair,) = rank_correlations({"playout_rate_bps": rate, "media_duration_s": 1 / rate**3})
    assert pair.normal_correlation.value == pytest.approx(-1, abs=0.01)


def test_independent_quantities_are_shrunk_to_independence() -> None:
    rng = np.random.default_rng(2)
    pairs = rank_correlations(
        {"playout_rate_bps": rng.normal(size=8), "media_duration_s": rng.normal(size=8)}
    )
    (pair,) = pairs
    assert pair.normal_correlation.low is not None
    assert pair.normal_correlation.high is not None
    assert pair.normal_correlation.low < 0 < pair.normal_correlation.high
    assert abs(pair.normal_correlation.value) < 0.3


def test_sessions_without_a_quantity_are_left_out_of_its_pairs() -> None:
    ratio = np.array([np.nan] * 6 + [1.0, 2.0, 3.0, 4.0])
    assert rank_correlations({"playout_rate_bps": np.arange(10.0), "buffering_ratio": ratio}) == ()


def test_correlations_from_different_sessions_still_make_a_matrix_to_draw_from() -> None:
    nan, up = np.full(30, np.nan), np.arange(30.0)
    first = np.concatenate([up, up, nan])
    second = np.concatenate([up, nan, up])
    third = np.concatenate([nan, up, -up])
    pairs = rank_correlations(
        {"playout_rate_bps": first, "media_duration_s": second, "buffering_ratio": third}
    )
    values = {(pair.first, pair.second): pair.normal_correlation.value for pair in pairs}
    names = ["playout_rate_bps", "media_duration_s", "buffering_ratio"]
    matrix = np.eye(3)
    for (one, other), value in values.items():
        matrix[names.index(one), names.index(other)] = matrix[
            names.index(other), names.index(one)
        ] = value
    np.linalg.cholesky(matrix)  # raises where it is not positive definite
    assert (
        values["playout_rate_bps", "media_duration_s"]
        > 0
        > values["media_duration_s", "buffering_ratio"]
    )
