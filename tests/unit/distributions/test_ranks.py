"""Ranks, beside those of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trafficgen.distributions.two_samples import mean_ranks, rank_correlation


@given(st.lists(st.integers(-3, 3).map(float) | st.floats(-1e9, 1e9), min_size=1, max_size=60))
def test_ties_share_the_mean_of_their_ranks(values: list[float]) -> None:
    assert mean_ranks(np.array(values)).tolist() == stats.rankdata(values).tolist()


def test_the_correlation_of_ranks_is_that_of_scipy() -> None:
    generator = np.random.default_rng(3)
    one = np.rint(generator.exponential(5.0, 400))
    other = one + generator.normal(0.0, 4.0, 400)
    assert rank_correlation(one, other) == pytest.approx(
        float(stats.spearmanr(one, other).statistic), rel=1e-12
    )
