"""Invariants of the distances of samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trafficgen.validation.distances import sample_distances

SAMPLES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40).map(
    lambda values: np.sort(np.array(values))
)


@given(SAMPLES, SAMPLES)
def test_ks_lies_between_zero_and_one_and_is_symmetric(one: np.ndarray, other: np.ndarray) -> None:
    found = sample_distances(one, other)
    assert 0.0 <= found.ks <= 1.0
    assert found.ks == pytest.approx(sample_distances(other, one).ks, abs=1e-12)


@given(SAMPLES)
def test_sample_is_at_distance_zero_from_itself(one: np.ndarray) -> None:
    found = sample_distances(one, one)
    assert found.ks == 0.0
    assert found.wasserstein == 0.0 or np.isnan(found.wasserstein)


@given(SAMPLES, st.floats(0.5, 100.0))
def test_wasserstein_of_a_shift_is_the_shift(one: np.ndarray, shift: float) -> None:
    deviation = float(np.std(one))
    found = sample_distances(one, one + shift)
    if one[0] != one[-1] and deviation > 1e-3:
        assert found.wasserstein * deviation == pytest.approx(shift, rel=1e-6)
