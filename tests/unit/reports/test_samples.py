"""Fewer points than observations, and nothing that a reader looks for is lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.conftest import build_table

from trafficgen.flows import choose_session
from trafficgen.models import Estimate
from trafficgen.reports.samples import (
    Side,
    chart_rates,
    choose_bin_s,
    choose_quantiles,
    distribution_curve,
    relative_rate_axis,
    survival_curve,
    thin,
)

SAMPLES = arrays(np.float64, st.integers(1, 3000), elements=st.floats(-1e6, 1e6, width=32))


@given(SAMPLES, st.integers(4, 200))
def test_a_thin_curve_keeps_both_extremes_in_order_and_few_points(
    values: np.ndarray, most: int
) -> None:
    x, y = thin(np.arange(values.size), values, most=most)
    assert x.size <= most
    assert (np.diff(x) > 0).all()
    assert y.max() == values.max()
    assert y.min() == values.min()
    np.testing.assert_array_equal(values[x.astype(int)], y)


def test_a_curve_that_is_short_enough_stays_as_it_is() -> None:
    x, y = thin([0.0, 1.0, 2.0], [5.0, 6.0, 4.0], most=4)
    assert x.tolist() == [0, 1, 2]
    assert y.tolist() == [5, 6, 4]


@given(SAMPLES)
def test_a_distribution_curve_lies_on_the_empirical_distribution_function(
    sample: np.ndarray,
) -> None:
    values, shares = distribution_curve(sample)
    assert shares[0] == 0
    assert shares[-1] == 1
    assert values.size <= 600
    for value, share in zip(values[1:], shares[1:], strict=True):
        assert share == pytest.approx(np.mean(sample <= value))


def test_a_distribution_curve_of_a_million_values_is_nowhere_far_from_them() -> None:
    sample = np.random.default_rng(1).lognormal(0, 2, 1_000_000)
    values, shares = distribution_curve(sample)
    assert values.size < 600
    assert np.max(np.diff(shares)) < 0.003


@given(arrays(np.float64, st.integers(1, 2000), elements=st.floats(0, 1e6, width=32)))
def test_a_survival_curve_is_the_share_that_reaches_each_value_and_never_zero(
    sample: np.ndarray,
) -> None:
    values, shares = survival_curve(sample)
    assert (values > 0).all()
    assert (shares > 0).all()
    for value, share in zip(values, shares, strict=True):
        assert share == pytest.approx(np.mean(sample >= value))


def test_the_largest_value_of_a_sample_is_in_its_tail_curve() -> None:
    sample = np.random.default_rng(2).pareto(1.2, 100_000)
    values, shares = survival_curve(sample)
    assert values[-1] == sample.max()
    assert shares[-1] == pytest.approx(1e-5)


@pytest.mark.parametrize("count", [0, 1, 2, 399, 400, 401, 10_000_000])
def test_quantile_places_reach_both_ends_and_are_few(count: int) -> None:
    places = choose_quantiles(count)
    assert places.size <= min(count, 600)
    if count:
        assert places[0] == 0
        assert places[-1] == count - 1


@pytest.mark.parametrize(
    ("span_s", "width_s"), [(10, 0.1), (150, 0.1), (151, 0.2), (3600, 5), (86_400, 100), (0, 0.1)]
)
def test_bins_are_round_and_few_enough(span_s: float, width_s: float) -> None:
    assert choose_bin_s(span_s, most=1500) == pytest.approx(width_s)


@pytest.mark.parametrize(("time_s", "names"), [([0.0, 0.02, 0.05], 1), ([0.0, 0.2, 0.5], 2)])
def test_a_rate_without_two_bins_is_no_chart(time_s: list[float], names: int) -> None:
    view = choose_session(build_table(time_s))
    charts = list(chart_rates([Side("measured", "measured", view)]))
    assert [one.name for one in charts] == ["rate", "cumulative-bytes"][-names:]


def test_relative_rates_differ_on_their_axis_however_far_an_interval_reaches() -> None:
    near = Estimate(value=0.9, low=0.8, high=1.1, method="mean")
    far = near.model_copy(update={"high": 5e5})
    assert relative_rate_axis([near, near]).high is None
    assert relative_rate_axis([near, far]).high == 3
