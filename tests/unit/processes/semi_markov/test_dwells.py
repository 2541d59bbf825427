from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trafficgen.processes.semi_markov.dwells import (
    DwellFamily,
    Dwells,
    dwell_law,
    fit_dwell_family,
    mean_dwell,
)


@pytest.mark.parametrize("family", ["gamma", "lognorm", "weibull_min"])
def test_censored_fit_agrees_with_scipy(family: DwellFamily) -> None:
    whole_s = stats.gamma(2.5, scale=8).rvs(60, random_state=np.random.default_rng(1))
    dwells = Dwells(whole_s=whole_s, unfinished_s=np.array([30.0]))
    found = fit_dwell_family(family, dwells)
    assert found is not None
    law = getattr(stats, family)
    shape, _, scale = law.fit(
        stats.CensoredData(uncensored=whole_s, right=np.array([30.0])), floc=0
    )
    assert next(iter(found.params.values())) == pytest.approx(shape, rel=1e-3)
    assert found.params["scale"] == pytest.approx(scale, rel=1e-3)


def test_exponential_mean_is_the_time_over_the_exits() -> None:
    found = fit_dwell_family(
        "expon", Dwells(whole_s=np.array([2.0, 4.0]), unfinished_s=np.array([6.0]))
    )
    assert found is not None
    assert found.params["scale"] == 6.0


@pytest.mark.parametrize(
    ("family", "law"),
    [
        ("expon", stats.expon(scale=15)),
        ("gamma", stats.gamma(4, scale=4)),
        ("weibull_min", stats.weibull_min(4, scale=15)),
    ],
)
def test_law_of_many_dwells_is_the_one_that_made_them(
    family: str, law: stats.rv_continuous
) -> None:
    whole_s = np.asarray(law.rvs(400, random_state=np.random.default_rng(3)), dtype=np.float64)
    found = dwell_law(Dwells(whole_s=whole_s, unfinished_s=np.zeros(0)))
    assert found is not None
    assert found.family == family
    # The standard error of the mean of 400 dwells with a coefficient of variation of 1 is 5%.
    assert found.distribution().mean == pytest.approx(float(law.mean()), rel=0.15)
    assert found.low["scale"] < found.params["scale"] < found.high["scale"]


def test_few_dwells_are_exponential_and_none_have_no_law() -> None:
    few = dwell_law(Dwells(whole_s=np.array([3.0, 3.1, 2.9]), unfinished_s=np.zeros(0)))
    assert few is not None
    assert few.family == "expon"
    assert dwell_law(Dwells(whole_s=np.zeros(0), unfinished_s=np.array([3.0]))) is None


def test_equal_dwells_do_not_break_the_fit() -> None:
    law = dwell_law(Dwells(whole_s=np.full(20, 5.0), unfinished_s=np.zeros(0)))
    assert law is not None
    assert law.distribution().mean == pytest.approx(5.0, rel=0.01)


def test_mean_of_few_dwells_is_the_time_over_the_exits_with_the_exact_interval() -> None:
    found = mean_dwell(Dwells(whole_s=np.array([4.0, 6.0]), unfinished_s=np.array([5.0])))
    assert found is not None
    assert found.mean_s == pytest.approx(7.5)
    # 2 * 15 over the 97.5% and 2.5% points of chi-squared with 4 degrees of freedom (tables: 11.143
    # and 0.4844).
    assert found.low_s == pytest.approx(30 / 11.143, rel=1e-3)
    assert found.high_s == pytest.approx(30 / 0.4844, rel=1e-3)


def test_a_level_never_left_has_no_mean_dwell() -> None:
    assert mean_dwell(Dwells(whole_s=np.zeros(0), unfinished_s=np.array([5.0]))) is None
