"""The law of a quantity across sessions says how many sessions it rests on, and is no surer than
they make it.
"""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.calibration.population.across_sessions import (
    Observed,
    fit_law_across_sessions,
    is_too_wide,
    pool_random_effects,
)
from trafficgen.models import PopulationLaw
from trafficgen.quantity_bounds import LONGEST_S


def law_of(
    values: list[float], *, error: float = 0.0, sessions: int | None = None
) -> PopulationLaw:
    observed = [Observed(value, error) for value in values]
    generator = np.random.default_rng(0)
    return fit_law_across_sessions(
        observed, unit="s", sessions=sessions or len(values), generator=generator
    )


def test_one_session_is_one_value_without_an_interval() -> None:
    pooled = law_of([12.0])
    assert pooled.law.family == "atoms"
    assert pooled.law.atoms[0].value == pytest.approx(12.0)
    assert pooled.median.low is None
    assert "no spread" in pooled.method


@pytest.mark.parametrize(("values", "expected"), [((10.0, 80.0), True), ((10.0, 11.0), False)])
def test_two_sessions_that_differ_have_no_useful_interval(
    values: tuple[float, ...], expected: bool
) -> None:
    assert is_too_wide(law_of(list(values)).median) is expected


def test_few_sessions_are_lognormal() -> None:
    pooled = law_of([10.0, 20.0, 40.0])
    assert pooled.law.family == "lognorm"
    assert pooled.median.value == pytest.approx(20.0)
    assert pooled.law.params["s"] == pytest.approx(np.log(2), rel=1e-3)


@pytest.mark.parametrize("count", [2, 3, 30])
def test_sessions_of_all_lengths_have_a_law_within_bounds(count: int) -> None:
    pooled = law_of(np.geomspace(1e-9, 0.9 * LONGEST_S, count).tolist())
    assert pooled.law.maximum is not None
    assert pooled.law.maximum <= LONGEST_S


def test_sessions_that_have_it_are_counted_among_all() -> None:
    assert law_of([1.0, 2.0], sessions=8).positive_share == 0.25


def test_two_kinds_of_values_are_no_lognormal() -> None:
    pooled = law_of([1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 50.0, 51.0, 52.0, 53.0, 54.0, 55.0])
    assert pooled.law.family == "quantiles"


def test_many_sessions_let_families_compete() -> None:
    values = np.random.default_rng(1).exponential(10, 200) + 1e-3
    pooled = law_of(values.tolist())
    assert pooled.law.alternatives
    assert "BIC" in pooled.method


def test_values_within_their_errors_are_one_value() -> None:
    pooled = law_of([9.9, 10.0, 10.1, 10.0], error=0.2)
    assert pooled.log_deviation.value == pytest.approx(0, abs=1e-3)
    assert pooled.error_share > 0.9


def test_draws_stay_near_what_was_seen() -> None:
    law = law_of([10.0, 20.0, 40.0]).law
    assert law.maximum is not None
    assert law.distribution().support[1] < 20 * 2**3.5


def test_one_session_without_an_error_of_its_own_leaves_a_share() -> None:
    pooled = pool_random_effects(np.array([1.0, 2.0]), standard_errors=np.array([0.0, 0.3]))
    between = pooled.deviation.value**2
    typical = 0.3**2 / 2  # (w + v) / (2 w v) where w is far above v
    assert pooled.error_share == pytest.approx(typical / (typical + between), rel=1e-6)


def test_the_share_of_errors_is_that_of_higgins_and_thompson() -> None:
    error = np.array([0.3, 0.2, 0.5])
    pooled = pool_random_effects(np.array([1.0, 4.0, 2.5]), standard_errors=error)
    weight = 1 / error**2
    typical = 2 * weight.sum() / (weight.sum() ** 2 - (weight**2).sum())
    between = pooled.deviation.value**2
    assert pooled.error_share == pytest.approx(typical / (typical + between), rel=1e-9)


def test_lengths_that_were_cut_count_as_lower_bounds() -> None:
    rng = np.random.default_rng(4)
    lengths = 200 * np.exp(0.6 * rng.standard_normal(400))
    seen_until = 300.0
    observed = [Observed(min(one, seen_until), is_cut=one > seen_until) for one in lengths]
    generator = np.random.default_rng(0)
    law = fit_law_across_sessions(observed, unit="s", sessions=400, generator=generator)
    # 3.3 standard errors of a median of 400 with a spread of 0.6.
    assert np.log(law.median.value / 200) == pytest.approx(0, abs=0.1)
    assert law.log_deviation.value == pytest.approx(0.6, abs=0.1)
    assert law.law.distribution().mean == pytest.approx(lengths.mean(), rel=0.15)
    assert "lower bounds" in law.method
