"""The distance of two samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trafficgen.distributions.two_samples import ks_distance


@pytest.mark.parametrize("ties", [True, False])
def test_the_distance_of_two_samples_is_that_of_scipy(ties: bool) -> None:
    generator = np.random.default_rng(5)
    one, other = generator.normal(size=300), generator.normal(0.3, 1.0, 170)
    if ties:
        one, other = np.rint(3 * one), np.rint(3 * other)
    assert ks_distance(one, other) == pytest.approx(stats.ks_2samp(one, other).statistic)
