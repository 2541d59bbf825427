"""Variance of means of values that depend on each other, against the theory of autoregressions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from trafficgen import _core
from trafficgen.distributions.fitting.uncertainty import mean_with_interval, variance_inflation
from trafficgen.units import FloatArray

PHI = 0.6


def autoregression(seed: int, n: int) -> FloatArray:
    """Return a series whose long-run variance is 1 / (1 - phi)**2, and its variance 1 / (1 -
    phi**2).
    """
    noise = np.random.default_rng(seed).normal(size=n + 100)
    return np.asarray(signal.lfilter([1.0], [1.0, -PHI], noise)[100:])


def inflate(series: FloatArray) -> float:
    """Return the inflation of a series each of whose values is its own."""
    return variance_inflation(series, np.arange(series.size, dtype=np.uint16))


def test_inflation_of_an_autoregression_is_that_of_theory() -> None:
    found = [inflate(autoregression(seed, 20_000)) for seed in range(5)]
    expected = (1 + PHI) / (1 - PHI)
    # Blocks cut off a little dependence: below by up to a tenth; noise sqrt(4 length / (3 n)) of
    # some 6% a series.
    assert np.mean(found) == pytest.approx(expected, rel=0.15)


def test_independent_values_are_not_inflated() -> None:
    series = np.random.default_rng(0).normal(size=(200, 2000))
    inflated = [inflate(one) > 1 for one in series]
    # One in forty exceeds two standard errors by chance; three standard errors of 200 such.
    assert np.count_nonzero(inflated) <= 200 * 0.025 + 3 * np.sqrt(200 * 0.025) + 5


def test_constant_and_short_series_have_no_inflation() -> None:
    assert inflate(np.ones(100)) == 1.0
    assert inflate(np.arange(10.0)) == 1.0


def test_blocks_of_one_value_have_the_plain_variance() -> None:
    values = autoregression(0, 500)
    place = np.arange(500, dtype=np.uint16)
    found = _core.block_sum_variance(values - values.mean(), place, 1)
    assert found == pytest.approx(values.var())


def test_interval_of_the_mean_of_dependent_values_covers() -> None:
    covered = 0
    for seed in range(300):
        found = mean_with_interval(autoregression(seed, 1000), np.random.default_rng(seed))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0 <= found.high
    # 95% of 300: standard error 1.3 points, three of them, and two points that short blocks are
    # known to lose; the interval for independent values would cover 67%.
    assert 0.89 <= covered / 300 <= 0.99


def test_a_few_values_have_a_mean_without_interval() -> None:
    found = mean_with_interval(np.array([1.0, 2.0, 3.0]), np.random.default_rng(0))
    assert (found.value, found.low, found.high) == (2.0, None, None)
