"""Series with a given law and a given autocorrelation."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.processes.autocorrelated_series import (
    draw_correlated_order,
    draw_correlated_scores,
    sample_autocorrelation,
    spectrum,
)
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray


def autoregression(coefficient: float, *, lags: int) -> FloatArray:
    return np.asarray(coefficient ** np.arange(1, lags + 1), dtype=np.float64)


def test_an_order_keeps_every_value_once() -> None:
    ascending = np.sort(random_stream(1, session=0, purpose="values").lognormal(size=500))
    series = draw_correlated_order(
        ascending, autoregression(0.8, lags=20), random_stream(1, session=0, purpose="order")
    )
    np.testing.assert_array_equal(np.sort(series), ascending)


@pytest.mark.parametrize("coefficient", [0.8, 0.5, -0.6])
def test_a_short_series_has_nearly_the_autocorrelation_asked_for(coefficient: float) -> None:
    # A free realisation of 120 values would be off by 2 / sqrt(120) = 0.18 at some lag as a rule.
    wanted = autoregression(coefficient, lags=20)
    for seed in range(10):
        series = draw_correlated_scores(
            wanted, 120, random_stream(seed, session=0, purpose="scores")
        )
        assert np.max(np.abs(sample_autocorrelation(series, 20) - wanted)) < 0.15


def test_a_strict_period_comes_back_with_its_autocorrelation() -> None:
    measured = np.tile([5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 20)
    measured += random_stream(0, session=0, purpose="noise").normal(0, 0.1, measured.size)
    wanted = sample_autocorrelation(measured, 24)
    series = draw_correlated_order(
        np.sort(measured), wanted, random_stream(0, session=0, purpose="order")
    )
    assert np.max(np.abs(sample_autocorrelation(series, 24) - wanted)) < 0.15


def test_seeds_give_different_orders_and_one_seed_always_the_same() -> None:
    ascending, wanted = np.arange(100.0), autoregression(0.7, lags=10)
    runs = [
        draw_correlated_order(ascending, wanted, random_stream(seed, session=0, purpose="order"))
        for seed in (1, 2, 1)
    ]
    np.testing.assert_array_equal(runs[0], runs[2])
    assert np.any(runs[0] != runs[1])


def test_without_lags_the_order_is_random() -> None:
    series = draw_correlated_order(
        np.arange(400.0), np.zeros(0), random_stream(0, session=0, purpose="order")
    )
    # 3.5 standard deviations of the autocorrelation of independent values.
    assert np.max(np.abs(sample_autocorrelation(series, 5))) < 3.5 / np.sqrt(400)


def test_the_spectrum_of_an_autoregression_is_the_one_of_theory() -> None:
    coefficient, count = 0.6, 1000
    power = spectrum(autoregression(coefficient, lags=1), count)[1:]
    angle = 2 * np.pi * np.arange(1, count // 2 + 1) / count
    theory = 1 / (1 - 2 * coefficient * np.cos(angle) + coefficient**2)
    # The ridge that keeps strict periods stable changes the coefficient by a thousandth.
    np.testing.assert_allclose(power / power.sum(), theory / theory.sum(), rtol=0.01)


def test_a_series_of_no_values_is_empty() -> None:
    found = draw_correlated_scores(np.array([0.5]), 0, np.random.default_rng(0))
    assert found.size == 0


STRICT_PERIOD: FloatArray = np.where(np.arange(1, 25) % 8, -0.14, 0.99)


@pytest.mark.parametrize("wanted", [autoregression(0.6, lags=24), STRICT_PERIOD])
def test_a_long_series_of_scores_has_the_autocorrelation_asked_for(wanted: FloatArray) -> None:
    found = draw_correlated_scores(wanted, 60_001, np.random.default_rng(3))
    np.testing.assert_allclose(sample_autocorrelation(found, 24), wanted, atol=2e-3)
