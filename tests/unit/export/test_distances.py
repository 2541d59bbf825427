"""The distance of two samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trafficgen.export.distances import gaps_s, ks_distance


def test_the_distance_is_that_of_scipy() -> None:
    generator = np.random.default_rng(5)
    one, other = generator.integers(0, 40, 300), generator.integers(5, 50, 170)
    assert ks_distance(one, other) == pytest.approx(stats.ks_2samp(one, other).statistic)


def test_gaps_are_those_within_a_flow_in_whole_microseconds() -> None:
    gaps = gaps_s([np.array([0, 1_500, 10_000]), np.array([500]), np.array([7_000, 9_999])])
    assert gaps.tolist() == pytest.approx([1e-6, 9e-6, 2e-6])
