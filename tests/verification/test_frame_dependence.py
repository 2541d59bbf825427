"""Series of frame sizes: what was measured of their dependence comes back when they are played."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from trafficgen.processes.autocorrelated_series import normal_scores, spectral_ranks
from trafficgen.processes.base import to_playable
from trafficgen.processes.fractional_noise.hurst import autocorrelation
from trafficgen.processes.frames.timing import normal_scores_of, score_spectrum
from trafficgen.units import FloatArray


def autoregressive(coefficient: float, count: int, seed: int) -> FloatArray:
    noise = np.random.default_rng(seed).normal(size=count + 500)
    return np.asarray(signal.lfilter([1.0], [1.0, -coefficient], noise)[500:])


@pytest.mark.parametrize("coefficient", [-0.5, 0.3, 0.8, 0.97])
def test_played_scores_have_the_autocorrelation_that_was_measured(coefficient: float) -> None:
    scores = normal_scores_of(np.exp(autoregressive(coefficient, 3000, seed=1)))
    ranks = spectral_ranks(to_playable(score_spectrum(scores)), 3000, np.random.default_rng(2))
    played = autocorrelation(normal_scores(3000)[ranks], lags=20)
    # by Bartlett's formula a sample autocorrelation of 3000 values has a standard error of at most
    # sqrt((1 + c^2) / (1 - c^2) / 3000), 0.1 for c = 0.97 and 0.024 for -0.5; what bands average
    # out lies within it
    error = np.sqrt((1 + coefficient**2) / (1 - coefficient**2) / 3000)
    np.testing.assert_allclose(played, autocorrelation(scores, lags=20), atol=4 * error)
    np.testing.assert_allclose(played[:3], autocorrelation(scores, lags=3), atol=0.05)


def test_a_strict_period_stays_strict() -> None:
    time = np.arange(2000)
    scores = normal_scores_of(
        np.sin(2 * np.pi * time / 50) + 0.3 * np.random.default_rng(0).normal(size=2000)
    )
    spectrum = score_spectrum(scores)
    assert spectrum is not None
    assert spectrum.lines[0].frequency == pytest.approx(0.02)
    ranks = spectral_ranks(to_playable(spectrum), 2000, np.random.default_rng(1))
    played = autocorrelation(normal_scores(2000)[ranks], lags=500)
    # ten periods on, the series agrees with itself as far as its noise (a sixth of the variance)
    # and its end let it
    assert played[499] > 0.9 * autocorrelation(scores, lags=500)[499]


def test_two_seeds_give_two_orders_of_the_same_values() -> None:
    spectrum = to_playable(score_spectrum(normal_scores_of(autoregressive(0.8, 1000, seed=0))))
    one, other = (spectral_ranks(spectrum, 1000, np.random.default_rng(seed)) for seed in (1, 2))
    assert sorted(one) == sorted(other) == list(range(1000))
    assert np.mean(one == other) < 0.05


def test_shares_of_a_spectrum_add_up_to_the_variance() -> None:
    spectrum = score_spectrum(normal_scores_of(autoregressive(0.5, 777, seed=3)))
    assert spectrum is not None
    assert sum(spectrum.share) + sum(line.share for line in spectrum.lines) == pytest.approx(
        1.0, abs=0.002
    )
    assert score_spectrum(np.zeros(100)) is None
    assert score_spectrum(np.arange(8.0)) is None
