from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trafficgen.calibration.families import fit_family
from trafficgen.calibration.goodness_of_fit import bootstrap_p_value, ks_distance
from trafficgen.distributions import distribution_of
from trafficgen.models import Family


def test_distance_agrees_with_scipy() -> None:
    sample = np.sort(np.random.default_rng(0).exponential(2.0, 500))
    law = distribution_of("expon", {"loc": 0.0, "scale": 2.0})
    assert ks_distance(sample, law) == pytest.approx(stats.kstest(sample, "expon", args=(0, 2.0)).statistic, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["expon", "lognorm", "weibull_min"])
def test_p_values_of_the_true_family_are_uniform(family: Family) -> None:
    params = {"expon": {}, "lognorm": {"s": 0.8}, "weibull_min": {"c": 0.6}}[family]
    p_values = []
    for seed in range(120):
        sample = getattr(stats, family).rvs(**params, size=150, random_state=seed)
        fit = fit_family(family, sample)
        assert fit is not None
        p_value = bootstrap_p_value(sample, fit, tick=1e-9, generator=np.random.default_rng(seed))
        assert p_value is not None
        p_values.append(p_value)
    # 0.1% point of the Kolmogorov distribution at n = 120, and a hundredth for the grid of 99 replicates
    assert stats.kstest(p_values, "uniform").statistic < 1.95 / np.sqrt(120) + 0.01


def test_p_value_of_a_wrong_family_is_small() -> None:
    sample = np.random.default_rng(0).uniform(1, 2, 1000)
    fit = fit_family("expon", sample)
    assert fit is not None
    assert bootstrap_p_value(sample, fit, tick=1e-9, generator=np.random.default_rng(1)) == pytest.approx(0.01)
