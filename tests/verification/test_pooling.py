"""Random-effects pooling against published results, another implementation, and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.meta_analysis import combine_effects
from tests.verification.records import RecordCheck

from trafficgen.calibration.population.across_sessions import pool_random_effects
from trafficgen.units import FloatArray

#: Trials of the BCG vaccine: cases and non-cases among the vaccinated, then among the controls
#: (Colditz et al. 1994).
BCG = np.array(
    [
        [4, 119, 11, 128],
        [6, 300, 29, 274],
        [3, 228, 11, 209],
        [62, 13536, 248, 12619],
        [33, 5036, 47, 5761],
        [180, 1361, 372, 1079],
        [8, 2537, 10, 619],
        [505, 87886, 499, 87892],
        [29, 7470, 45, 7232],
        [17, 1699, 65, 1600],
        [186, 50448, 141, 27197],
        [5, 2493, 3, 2338],
        [27, 16886, 29, 17825],
    ],
    dtype=np.float64,
)


def log_relative_risks() -> tuple[FloatArray, FloatArray]:
    """Return the logarithm of each trial's relative risk and its standard error."""
    cases, others, control_cases, control_others = BCG.T
    treated, controls = cases + others, control_cases + control_others
    variance = 1 / cases - 1 / treated + 1 / control_cases - 1 / controls
    return np.log(cases / treated / (control_cases / controls)), np.sqrt(variance)


def test_the_trials_of_the_bcg_vaccine_give_the_published_pooling() -> None:
    """Viechtbauer, "Conducting meta-analyses in R with the metafor package" (2010): REML,
    Knapp-Hartung, Q profile.
    """
    pooled = pool_random_effects(log_relative_risks()[0], standard_errors=log_relative_risks()[1])
    assert pooled.deviation.value**2 == pytest.approx(0.3132, abs=5e-5)
    assert (pooled.deviation.low or 0) ** 2 == pytest.approx(0.1197, abs=5e-5)
    assert (pooled.deviation.high or 0) ** 2 == pytest.approx(1.1115, abs=5e-5)
    assert pooled.mean.value == pytest.approx(-0.7145, abs=5e-5)
    assert (pooled.mean.low, pooled.mean.high) == pytest.approx((-1.1084, -0.3206), abs=5e-5)
    assert 1 - pooled.error_share == pytest.approx(0.9222, abs=5e-5)


def test_likelihood_and_moments_agree_where_the_errors_are_alike() -> None:
    """With equal errors the estimators of Paule and Mandel, and by restricted likelihood, are the
    same.
    """
    estimates = np.random.default_rng(2).normal(0, 1, 15)
    errors = np.full(15, 0.4)
    pooled = pool_random_effects(estimates, standard_errors=errors)
    other = combine_effects(estimates, errors**2, method_re="iterated")
    assert pooled.deviation.value**2 == pytest.approx(other.tau2, rel=1e-4)
    assert pooled.mean.value == pytest.approx(other.mean_effect_re, rel=1e-6)


def test_sessions_without_errors_are_a_plain_sample() -> None:
    sample = np.random.default_rng(3).normal(2, 0.5, 12)
    pooled = pool_random_effects(sample, standard_errors=np.zeros(12))
    assert pooled.mean.value == pytest.approx(sample.mean())
    assert pooled.deviation.value == pytest.approx(sample.std(ddof=1), rel=1e-3)
    assert pooled.effects == pytest.approx(sample)


def test_noise_alone_is_no_spread_between_sessions() -> None:
    """Eight sessions that are all alike, each known to 0.5."""
    estimates = 1 + 0.5 * np.array([-1.2, -0.9, -0.4, -0.1, 0.1, 0.4, 0.9, 1.2])
    pooled = pool_random_effects(estimates, standard_errors=np.full(8, 0.5))
    assert pooled.deviation.value == pytest.approx(0, abs=1e-3)
    assert pooled.effects == pytest.approx(np.full(8, 1.0), abs=0.01)


def test_a_session_is_drawn_in_the_more_the_less_it_is_known() -> None:
    rng = np.random.default_rng(5)
    errors = np.repeat([0.05, 0.5], 200)
    estimates = rng.normal(0, 0.5, 400) + rng.normal(0, errors)
    pooled = pool_random_effects(estimates, standard_errors=errors)
    # Together they spread as the truth does, though the estimates spread more: 3.3 standard errors
    # of 400.
    assert pooled.effects.std() == pytest.approx(0.5, rel=3.3 / np.sqrt(800) * 1.3)
    known, unknown = np.split(
        np.abs(pooled.effects - pooled.mean.value) / np.abs(estimates - pooled.mean.value), 2
    )
    assert known.mean() > 0.98
    # The root of 0.5^2 / (0.5^2 + 0.5^2).
    assert unknown.mean() == pytest.approx(np.sqrt(0.5), abs=0.06)


@pytest.mark.slow
def test_intervals_cover(record_check: RecordCheck) -> None:
    rng, replicates = np.random.default_rng(1), 2000
    held = np.zeros(2)
    for _ in range(replicates):
        errors = rng.uniform(0.05, 0.4, 15)
        estimates = rng.normal(1, 0.5, 15) + rng.normal(0, errors)
        pooled = pool_random_effects(estimates, standard_errors=errors)
        assert pooled.mean.low is not None
        assert pooled.mean.high is not None
        assert pooled.deviation.low is not None
        assert pooled.deviation.high is not None
        held += (
            pooled.mean.low < 1 < pooled.mean.high,
            pooled.deviation.low < 0.5 < pooled.deviation.high,
        )
    for name, share in zip(("mean", "deviation"), held / replicates, strict=True):
        record_check(
            f"{name} of sessions, pooled: {replicates} corpora of 15",
            expected=0.95,
            measured=float(share),
            unit="share",
            accepted="1.6 points",
        )
        # 95% within 3.3 standard deviations of the binomial.
        assert share == pytest.approx(0.95, abs=3.3 * np.sqrt(0.95 * 0.05 / replicates))
