"""The families against scipy.stats, which defines their names and parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from trafficgen.distributions import FAMILIES, Distribution, Quantiles, Truncated, distribution_of, truncated

#: A Kolmogorov-Smirnov test at this level fails once in 10,000 seeds when the sampler is right; the seeds are fixed.
FALSE_ALARM = 1e-4
SAMPLE = 20_000

CASES = [
    ("expon", {"loc": 0.0, "scale": 0.004}),
    ("expon", {"loc": 2.0, "scale": 3.0}),
    ("lognorm", {"s": 0.45, "loc": 0.0, "scale": 492.7}),
    ("lognorm", {"s": 1.8, "loc": -1.0, "scale": 0.01}),
    ("gamma", {"a": 0.3, "loc": 0.0, "scale": 2.0}),
    ("gamma", {"a": 7.5, "loc": 1.0, "scale": 0.1}),
    ("weibull_min", {"c": 0.6, "loc": 0.0, "scale": 5.0}),
    ("weibull_min", {"c": 3.0, "loc": 0.5, "scale": 2.0}),
    ("pareto", {"b": 2.6, "loc": 0.0, "scale": 1.5}),
    ("pareto", {"b": 4.0, "loc": -1.0, "scale": 1.0}),
]
PROBABILITIES = np.array([0.0, 1e-9, 0.001, 0.2, 0.5, 0.9, 0.999, 1 - 1e-9])


def test_every_family_has_a_case() -> None:
    assert {family for family, _ in CASES} == set(FAMILIES)


@pytest.mark.parametrize(("family", "params"), CASES)
def test_family_agrees_with_scipy(family: str, params: dict[str, float]) -> None:
    ours, theirs = distribution_of(family, params), getattr(stats, family)(**params)
    np.testing.assert_allclose(ours.ppf(PROBABILITIES), theirs.ppf(PROBABILITIES), rtol=1e-9)
    np.testing.assert_allclose(ours.isf(PROBABILITIES[1:]), theirs.isf(PROBABILITIES[1:]), rtol=1e-9)
    x = np.append(theirs.ppf(PROBABILITIES), [-5.0, theirs.isf(1e-30)])
    np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.sf(x), theirs.sf(x), rtol=1e-9)
    np.testing.assert_allclose([ours.mean, ours.variance], [theirs.mean(), theirs.var()], rtol=1e-9)
    assert ours.support == theirs.support()


@pytest.mark.parametrize(("family", "params"), CASES)
def test_samples_follow_the_family(family: str, params: dict[str, float]) -> None:
    ours = distribution_of(family, params)
    draws = ours.sample(np.random.default_rng(1), SAMPLE)
    assert draws.shape == (SAMPLE,)
    assert stats.kstest(ours.cdf(draws), "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize(("family", "params"), CASES)
@pytest.mark.parametrize(("low", "high"), [(0.1, 0.95), (0.0, 0.15), (0.97, 1.0), (0.999999, 0.9999999)])
def test_truncated_law_is_the_law_given_its_interval(
    family: str, params: dict[str, float], low: float, high: float
) -> None:
    whole = distribution_of(family, params)
    law = Truncated(whole=whole, minimum=float(whole.ppf(low)), maximum=float(whole.ppf(high)))
    p = np.array([0.01, 0.3, 0.5, 0.77, 0.99])
    np.testing.assert_allclose(law.ppf(p), whole.ppf(low + p * (high - low)), rtol=1e-6)
    np.testing.assert_allclose(law.cdf(law.ppf(p)), p, rtol=1e-6)
    np.testing.assert_allclose(law.sf(law.isf(p)), p, rtol=1e-6)
    draws = law.sample(np.random.default_rng(2), SAMPLE)
    assert law.minimum <= draws.min() <= draws.max() <= law.maximum
    assert stats.kstest(law.cdf(draws), "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize(("family", "params"), CASES)
@pytest.mark.parametrize(("low", "high"), [(0.1, 0.95), (0.0, 0.15), (0.97, 0.999)])
def test_truncated_moments_equal_the_integral_of_the_quantiles(
    family: str, params: dict[str, float], low: float, high: float
) -> None:
    whole = distribution_of(family, params)
    law = Truncated(whole=whole, minimum=float(whole.ppf(low)), maximum=float(whole.ppf(high)))
    mean = integrate.quad(lambda p: float(law.ppf(p)), 0, 1, epsabs=0, epsrel=1e-9)[0]
    variance = integrate.quad(lambda p: (float(law.ppf(p)) - mean) ** 2, 0, 1, epsabs=0, epsrel=1e-9)[0]
    assert law.mean == pytest.approx(mean, rel=1e-6)
    # E[X**2] - E[X]**2 loses digits where the mean is large against the spread.
    assert law.variance == pytest.approx(variance, rel=1e-6, abs=1e-9 * mean**2)


def test_moments_that_diverge_are_infinite() -> None:
    assert math.isinf(distribution_of("pareto", {"b": 0.9}).mean)
    assert distribution_of("pareto", {"b": 1.5}).mean == pytest.approx(3.0)
    assert math.isinf(distribution_of("pareto", {"b": 1.5}).variance)
    assert math.isfinite(Truncated(whole=distribution_of("pareto", {"b": 0.9}), maximum=1e6).variance)


def test_bounds_outside_the_support_leave_the_law_alone() -> None:
    law: Distribution = distribution_of("expon", {"scale": 2.0})
    assert truncated(law, minimum=None, maximum=None) is law
    assert truncated(law, minimum=-1.0, maximum=None) is law
    assert truncated(law, minimum=1.0, maximum=None).support == (1.0, math.inf)


def test_truncation_to_one_value_is_that_value() -> None:
    law = Truncated(whole=distribution_of("expon", {}), minimum=2.0, maximum=2.0)
    assert law.sample(np.random.default_rng(0), 3).tolist() == [2.0, 2.0, 2.0]
    assert (law.mean, law.variance) == (2.0, 0.0)
    assert law.cdf([1.9, 2.0]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("family", "params", "words"),
    [
        ("normal", {}, "known are expon"),
        ("gamma", {"scale": 1.0}, "takes the parameters a, loc, scale"),
        ("expon", {"shape": 1.0}, "takes the parameters loc, scale"),
        ("expon", {"scale": 0.0}, "scale of Exponential must be positive"),
        ("pareto", {"b": -1.0}, "b of Pareto must be positive"),
    ],
)
def test_wrong_parameters_are_refused_by_name(family: str, params: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        distribution_of(family, params)


def test_interval_without_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="no probability between"):
        Truncated(whole=distribution_of("expon", {"loc": 5.0}), minimum=1.0, maximum=2.0)


def test_quantiles_are_linear_between_points_and_jump_at_equal_ones() -> None:
    law = Quantiles(probabilities=(0.0, 0.25, 0.75, 1.0), values=(0.0, 1.0, 1.0, 3.0))
    np.testing.assert_allclose(
        law.cdf([-1, 0, 0.5, 0.999999, 1, 2, 3, 4]), [0, 0, 0.125, 0.25, 0.75, 0.875, 1, 1], atol=1e-6
    )
    np.testing.assert_allclose(law.ppf([0, 0.125, 0.25, 0.5, 0.75, 0.875, 1]), [0, 0.5, 1, 1, 1, 2, 3])
    assert law.mean == pytest.approx(0.25 * 0.5 + 0.5 * 1 + 0.25 * 2)
    assert law.partial_moment(2) == pytest.approx(0.25 / 3 + 0.5 + 0.25 * (1 + 3 + 9) / 3)
    assert law.partial_moment(0, low=1.0) == pytest.approx(0.25)
    assert law.partial_moment(0, low=0.5, high=1.0) == pytest.approx(0.625)
    # Standard error of the mean of n draws: sqrt(variance / n); five of them.
    draws = law.sample(np.random.default_rng(3), SAMPLE)
    assert abs(draws.mean() - law.mean) < 5 * math.sqrt(law.variance / SAMPLE)


@pytest.mark.parametrize(
    ("p", "x"),
    [((0.0, 0.9), (1.0, 2.0)), ((0.0, 1.0), (2.0, 1.0)), ((0.0, 0.0, 1.0), (1.0, 2.0, 3.0)), ((0.0,), (1.0,))],
)
def test_quantiles_that_are_no_distribution_function_are_refused(p: tuple[float, ...], x: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="quantiles"):
        Quantiles(probabilities=p, values=x)
