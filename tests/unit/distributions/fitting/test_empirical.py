from __future__ import annotations

import numpy as np
import pytest

from trafficgen.distributions import Quantiles
from trafficgen.distributions.fitting.empirical import quantile_points
from trafficgen.units import FloatArray


def law_of(sample: FloatArray) -> Quantiles:
    points = quantile_points(np.sort(sample))
    assert len(points) <= 64
    return Quantiles(
        probabilities=tuple(point.p for point in points),
        values=tuple(point.value for point in points),
    )


@pytest.mark.parametrize("size", [2, 50, 100_000])
def test_mean_and_distribution_of_a_heavy_tailed_mixture_are_kept(size: int) -> None:
    rng = np.random.default_rng(0)
    sample = np.concatenate((rng.lognormal(-8, 1, size), rng.lognormal(-1, 2, size // 20)))
    law = law_of(sample)
    assert law.mean == pytest.approx(sample.mean(), rel=0.02 + 1 / sample.size)
    middle = np.quantile(sample, np.linspace(0.01, 0.99, 99))
    # A small sample has a point for every other value: two steps of 1 / n.
    np.testing.assert_allclose(
        law.cdf(middle), np.linspace(0.01, 0.99, 99), atol=0.01 + 2 / sample.size
    )


def test_smallest_and_largest_value_are_kept() -> None:
    sample = np.random.default_rng(0).exponential(1.0, 1000)
    # Points are written with six digits.
    assert law_of(sample).support == pytest.approx((sample.min(), sample.max()), rel=1e-5)


def test_few_values_far_apart_stay_where_they_are() -> None:
    # Pauses of an audio stream: regular ones, and a few much longer and shorter.
    regular = np.random.default_rng(2).normal(2.0, 0.01, 18)
    sample = np.sort(np.concatenate(([0.2, 0.9, 1.4], regular, [3.1, 4.4])))
    law = law_of(sample)
    steps = (np.arange(sample.size) + 0.5) / sample.size
    # A point at the middle of every other step: the law is nowhere further from the sample than
    # three steps.
    np.testing.assert_allclose(law.cdf(sample), steps, atol=3 / sample.size)
    assert law.mean == pytest.approx(sample.mean(), rel=0.05)


def test_points_among_the_largest_of_millions_have_probabilities_of_their_own() -> None:
    sample = np.sort(np.random.default_rng(0).pareto(1.1, 3_750_000))
    p = [point.p for point in quantile_points(sample)]
    assert (p[0], p[-1]) == (0.0, 1.0)
    assert np.all(np.diff(p) > 0)
