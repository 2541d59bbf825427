"""Distances and p-values against scipy, and p-values of true families against the uniform law they
must follow.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trafficgen.distributions import distribution_of
from trafficgen.distributions.fitting.cells import group_into_cells
from trafficgen.distributions.fitting.likelihood import Bounds
from trafficgen.distributions.fitting.selection import fit_candidates
from trafficgen.distributions.fitting.ticks import count_ticks
from trafficgen.distributions.fitting.uncertainty import check_fit, law_cells, share_ticks
from trafficgen.models import GoodnessOfFit
from trafficgen.units import FloatArray

TRUTH = {
    "expon": {"scale": 0.004},
    "lognorm": {"s": 0.8, "scale": 0.01},
    "gamma": {"a": 0.7, "scale": 0.002},
    "weibull_min": {"c": 0.6, "scale": 0.01},
    "pareto": {"b": 2.5, "scale": 0.001},
    "genpareto": {"c": 0.3, "scale": 0.004},
    "fisk": {"c": 2.5, "scale": 0.004},
    "norm": {"loc": 0.02, "scale": 0.002},
    "logistic": {"loc": 0.02, "scale": 0.001},
    "gumbel_r": {"loc": 0.02, "scale": 0.002},
}


def fit_and_check(
    sample: FloatArray,
    family: str,
    *,
    seed: int,
    tick: float = 1e-9,
    bounds: Bounds = (None, None),
    gaps: bool = True,
) -> GoodnessOfFit:
    candidates = fit_candidates(
        group_into_cells(sample, tick=tick, is_difference=gaps), [family], bounds=bounds
    )
    found = candidates[0]
    cells = law_cells(found.maximum.law, tick=tick, is_difference=gaps)
    assert cells is not None
    counted = count_ticks(sample, tick=tick)
    ks = share_ticks(counted).distance_to(found.distribution, is_difference=gaps)
    return check_fit(counted, cells, ks=ks, generator=np.random.default_rng(seed))


def clocked(gaps: FloatArray, *, tick: float) -> FloatArray:
    """Return gaps as differences of the readings of a clock."""
    return np.diff(np.floor(np.cumsum(gaps) / tick + 0.3)) * tick


def test_distance_agrees_with_scipy() -> None:
    sample = np.random.default_rng(0).exponential(2.0, 500)
    law = distribution_of("expon", {"loc": 0.0, "scale": 2.0})
    theirs = stats.kstest(sample, "expon", args=(0, 2.0)).statistic
    assert share_ticks(count_ticks(sample, tick=1e-9)).distance_to(
        law, is_difference=True
    ) == pytest.approx(theirs, abs=1e-7)


def test_anderson_darling_statistic_agrees_with_scipy() -> None:
    sample = np.random.default_rng(0).exponential(2.0, 1500)
    # scipy's statistic needs every value; ours is summed over cells of 1/128 of the law and finer
    # ones at its ends.
    theirs = stats.goodness_of_fit(
        stats.expon,
        sample,
        known_params={"loc": 0},
        statistic="ad",
        n_mc_samples=9,
        rng=np.random.default_rng(1),
    ).statistic
    assert fit_and_check(sample, "expon", seed=1).anderson_darling == pytest.approx(
        theirs, rel=0.05
    )


def test_p_value_agrees_with_the_monte_carlo_test_of_scipy() -> None:
    sample = np.random.default_rng(5).gamma(1.15, 1.0, 300)
    theirs = stats.goodness_of_fit(
        stats.expon,
        sample,
        known_params={"loc": 0},
        statistic="ks",
        n_mc_samples=999,
        rng=np.random.default_rng(1),
    )
    ours = fit_and_check(sample, "expon", seed=1).p_value
    # Both are shares of replicates, 999 and 499 of them: three standard errors, and the coarser
    # grid of our distances.
    assert ours == pytest.approx(theirs.pvalue, abs=3 * np.sqrt(0.25 / 499 + 0.25 / 999) + 0.02)


def test_p_value_of_a_wrong_family_is_small() -> None:
    check = fit_and_check(np.random.default_rng(0).uniform(1, 2, 1000), "expon", seed=1)
    assert check.p_value == pytest.approx(1 / 500)
    assert check.anderson_darling_p_value == pytest.approx(1 / 500)


def assert_uniform(p_values: list[float | None]) -> None:
    # 0.1% point of the Kolmogorov distribution, and one step of the grid of 499 replicates
    assert (
        stats.kstest(np.array(p_values, dtype=float), "uniform").statistic
        < 1.95 / np.sqrt(len(p_values)) + 1 / 500
    )


@pytest.mark.parametrize("family", ["expon", "lognorm"])
def test_p_values_of_a_true_family_are_uniform(family: str) -> None:
    law, n = getattr(stats, family)(**TRUTH[family]), 300
    checks = [
        fit_and_check(law.rvs(n, random_state=seed), family, seed=seed) for seed in range(120)
    ]
    assert_uniform([check.p_value for check in checks])
    assert_uniform([check.anderson_darling_p_value for check in checks])


@pytest.mark.slow
@pytest.mark.parametrize("family", list(TRUTH))
@pytest.mark.parametrize(("n", "tick"), [(150, 1e-9), (3000, 1e-6), (3000, 1e-3)])
def test_p_values_of_true_families_are_uniform_whatever_the_clock(
    family: str, n: int, tick: float
) -> None:
    law = getattr(stats, family)(**TRUTH[family])
    if family == "pareto" and (tick > 1e-6 or n < 1000):
        pytest.skip(
            "a tick as long as the shortest gap, or few gaps, leave open where the law starts"
        )
    checks = [
        fit_and_check(
            clocked(law.rvs(n, random_state=seed), tick=tick), family, seed=seed, tick=tick
        )
        for seed in range(300)
    ]
    assert_uniform([check.p_value for check in checks])
    assert_uniform([check.anderson_darling_p_value for check in checks])


@pytest.mark.slow
def test_p_values_of_sizes_cut_off_at_the_mtu_are_uniform() -> None:
    p_values = []
    for seed in range(400):
        sizes = np.rint(stats.lognorm(0.5, scale=900).rvs(1500, random_state=seed))
        check = fit_and_check(
            sizes[sizes < 1500], "lognorm", seed=seed, tick=1.0, bounds=(None, 1499.5), gaps=False
        )
        p_values.append(check.p_value)
    assert_uniform(p_values)
