"""Distances of samples: worked by hand, against scipy, and their size under chance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from trafficgen.validation import distances
from trafficgen.validation.distances import (
    are_too_few,
    ks_noise,
    sample_distances,
    wasserstein_noise,
)


def test_distances_of_a_shifted_sample_are_known() -> None:
    reference = np.arange(100.0)
    shifted = reference + 10
    found = sample_distances(reference, shifted)
    assert found.ks == pytest.approx(0.1)
    # The Wasserstein distance of a shift is the shift; the deviation of 0..99 is sqrt((100**2 - 1)
    # / 12).
    assert found.wasserstein == pytest.approx(10 / math.sqrt((100**2 - 1) / 12))


def test_distances_worked_by_hand_with_ties() -> None:
    # F: 1 (1/2), 2 (1); G: 1 (1/4), 2 (1/2), 4 (1).  |F - G| is 1/4 on [1, 2) and 1/2 on [2, 4).
    found = sample_distances(np.array([1.0, 2.0]), np.array([1.0, 2.0, 4.0, 4.0]))
    assert found.ks == pytest.approx(0.5)
    assert found.wasserstein == pytest.approx((0.25 + 2 * 0.5) / 0.5)


@pytest.mark.parametrize("block", [1, 2, 7, 832, 833, 10_000])
def test_the_blocks_of_a_distance_are_not_seen(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    generator = np.random.default_rng(4)
    one = np.sort(np.round(generator.gamma(2.0, 3.0, 500), 1))
    other = np.sort(np.round(generator.lognormal(1.0, 0.8, 333), 1))
    whole = sample_distances(one, other)
    monkeypatch.setattr(distances, "_BLOCK", block)
    found = sample_distances(one, other)
    assert found.ks == whole.ks
    assert found.wasserstein == pytest.approx(whole.wasserstein, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_distances_agree_with_scipy(seed: int) -> None:
    generator = np.random.default_rng(seed)
    one = np.sort(np.round(generator.gamma(2.0, 3.0, 500), 1))
    other = np.sort(np.round(generator.lognormal(1.0, 0.8, 333), 1))
    found = sample_distances(one, other)
    assert found.ks == pytest.approx(stats.ks_2samp(one, other).statistic, rel=1e-12)
    assert found.wasserstein == pytest.approx(
        stats.wasserstein_distance(one, other) / np.std(one), rel=1e-12
    )


def test_distances_that_mean_nothing_are_nan() -> None:
    empty, constant = np.zeros(0), np.full(3, 0.1)
    assert math.isnan(sample_distances(empty, constant).ks)
    assert math.isnan(sample_distances(constant, empty).wasserstein)
    assert math.isnan(sample_distances(constant, np.array([1.0])).wasserstein)
    assert math.isnan(ks_noise(0, 3))
    assert math.isnan(wasserstein_noise(constant, 3))


@pytest.mark.parametrize(
    ("n", "m"), [(0, 9), (1, 30), (2, 7), (3, 3), (3, 4), (4, 4), (3, 5), (10, 10)]
)
def test_too_few_values_are_those_whose_largest_distance_is_not_beyond_chance(
    n: int, m: int
) -> None:
    """The exact probability of the distance 1 under one law is that of all of one side below all of
    the other.
    """
    probability_of_largest = 2 / math.comb(n + m, n)
    assert are_too_few(n, m) == are_too_few(m, n) == (n == 0 or probability_of_largest > 0.05)


@pytest.mark.parametrize("law", ["uniform", "expon", "norm"])
def test_noise_is_exceeded_about_once_in_twenty_times(law: str) -> None:
    """Of 400 pairs of one law 20 should exceed; the band is five binomial standard errors for 5%,
    wider below for KS.

    For laws other than the uniform the Wasserstein level is approximate: its share must lie between
    2% and 11%.
    """
    generator = np.random.default_rng(1)
    draw = getattr(
        generator,
        {"uniform": "random", "expon": "standard_exponential", "norm": "standard_normal"}[law],
    )
    ks, wasserstein = 0, 0
    for _ in range(400):
        one, other = np.sort(draw(300)), np.sort(draw(200))
        found = sample_distances(one, other)
        ks += found.ks > ks_noise(300, 200)
        wasserstein += found.wasserstein > wasserstein_noise(one, 200)
    assert 0.01 < ks / 400 < 0.05 + 5 * math.sqrt(0.05 * 0.95 / 400)
    assert 0.02 < wasserstein / 400 < 0.11
