"""The families against scipy.stats, which defines their names and parameters."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from scipy import integrate, stats

from trafficgen.distributions import (
    DISCRETE_FAMILIES,
    FAMILIES,
    BodyAndTail,
    Distribution,
    Quantiles,
    Truncated,
    distribution_of,
    truncate,
)

#: A Kolmogorov-Smirnov test at this level fails once in 10,000 seeds when the sampler is right; the
#: seeds are fixed.
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
    ("genpareto", {"c": 0.3, "loc": 0.0, "scale": 0.004}),
    ("genpareto", {"c": -0.4, "loc": 1.0, "scale": 2.0}),
    ("genpareto", {"c": 0.0, "loc": 0.0, "scale": 2.0}),
    ("truncpareto", {"b": 1.2, "c": 100.0, "loc": 0.0, "scale": 0.001}),
    ("truncpareto", {"b": 2.0, "c": 8.0, "loc": 1.0, "scale": 3.0}),
    ("fisk", {"c": 2.6, "loc": 0.0, "scale": 0.01}),
    ("fisk", {"c": 5.0, "loc": 1.0, "scale": 2.0}),
    ("norm", {"loc": 3.0, "scale": 2.0}),
    ("logistic", {"loc": 3.0, "scale": 2.0}),
    ("gumbel_r", {"loc": 3.0, "scale": 2.0}),
    ("beta", {"a": 2.0, "b": 3.5, "loc": 100.0, "scale": 900.0}),
    ("beta", {"a": 0.5, "b": 1.0, "loc": 0.0, "scale": 1.0}),
]
DISCRETE_CASES = [
    ("geom", {"p": 0.2, "loc": 0.0}),
    ("geom", {"p": 0.9, "loc": -1.0}),
    ("nbinom", {"n": 2.5, "p": 0.3, "loc": 1.0}),
    ("zipf", {"a": 3.6, "loc": 0.0}),
    ("poisson", {"mu": 4.2, "loc": 1.0}),
]
#: Shapes that begin above 1.
AT_LEAST_ONE = {("zipf", "a"), ("truncpareto", "c")}
PROBABILITIES = np.array([0.0, 1e-9, 0.001, 0.2, 0.5, 0.9, 0.999, 1 - 1e-9])


def test_every_family_has_a_case() -> None:
    assert {family for family, _ in CASES} == set(FAMILIES) - DISCRETE_FAMILIES
    assert {family for family, _ in DISCRETE_CASES} == DISCRETE_FAMILIES


@np.errstate(divide="ignore")  # scipy takes the logarithm of 0 at the ends of some families
@pytest.mark.parametrize(("family", "params"), CASES)
def test_family_agrees_with_scipy(family: str, params: dict[str, float]) -> None:
    ours, theirs = distribution_of(family, params), getattr(stats, family)(**params)
    # 1 - 1e-9 holds seven digits of what is above it.
    np.testing.assert_allclose(ours.ppf(PROBABILITIES), theirs.ppf(PROBABILITIES), rtol=1e-7)
    np.testing.assert_allclose(
        ours.isf(PROBABILITIES[1:]), theirs.isf(PROBABILITIES[1:]), rtol=1e-7
    )
    x = np.append(theirs.ppf(PROBABILITIES), [-5.0, theirs.isf(1e-30)])
    np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-7, atol=1e-12)
    # scipy has no value of the log-logistic law below 1e-16.
    np.testing.assert_allclose(
        ours.sf(x), theirs.sf(x), rtol=1e-7, atol=1e-25 if family == "fisk" else 0
    )
    np.testing.assert_allclose([ours.mean, ours.variance], [theirs.mean(), theirs.var()], rtol=1e-7)
    assert ours.support == theirs.support()


@pytest.mark.parametrize(("family", "params"), CASES)
def test_samples_follow_the_family(family: str, params: dict[str, float]) -> None:
    ours = distribution_of(family, params)
    draws = ours.sample(np.random.default_rng(1), SAMPLE)
    assert draws.shape == (SAMPLE,)
    assert stats.kstest(ours.cdf(draws), "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize(("family", "params"), CASES)
@pytest.mark.parametrize(
    ("low", "high"), [(0.1, 0.95), (0.0, 0.15), (0.97, 1.0), (0.999999, 0.9999999)]
)
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
    variance = integrate.quad(
        lambda p: (float(law.ppf(p)) - mean) ** 2, 0, 1, epsabs=0, epsrel=1e-9
    )[0]
    assert law.mean == pytest.approx(mean, rel=1e-6)
    # E[X**2] - E[X]**2 loses digits where the mean is large against the spread.
    assert law.variance == pytest.approx(variance, rel=1e-6, abs=1e-9 * mean**2)


def test_moments_that_diverge_are_infinite() -> None:
    assert math.isinf(distribution_of("pareto", {"b": 0.9}).mean)
    assert distribution_of("pareto", {"b": 1.5}).mean == pytest.approx(3.0)
    assert math.isinf(distribution_of("pareto", {"b": 1.5}).variance)
    assert math.isfinite(
        Truncated(whole=distribution_of("pareto", {"b": 0.9}), maximum=1e6).variance
    )


def test_bounds_outside_the_support_leave_the_law_alone() -> None:
    law: Distribution = distribution_of("expon", {"scale": 2.0})
    assert truncate(law, minimum=None, maximum=None) is law
    assert truncate(law, minimum=-1.0, maximum=None) is law
    assert truncate(law, minimum=1.0, maximum=None).support == (1.0, math.inf)


def test_truncation_to_one_value_is_that_value() -> None:
    law = Truncated(whole=distribution_of("expon", {}), minimum=2.0, maximum=2.0)
    assert law.sample(np.random.default_rng(0), 3).tolist() == [2.0, 2.0, 2.0]
    assert (law.mean, law.variance) == (2.0, 0.0)
    assert law.cdf([1.9, 2.0]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("family", "params", "words"),
    [
        ("normal", {}, "use one of expon"),
        ("gamma", {"scale": 1.0}, "takes the parameters a, loc, scale"),
        ("expon", {"shape": 1.0}, "takes the parameters loc, scale"),
        ("expon", {"scale": 0.0}, "scale of expon must be positive"),
        ("pareto", {"b": -1.0}, "b of pareto must be positive"),
    ],
)
def test_wrong_parameters_are_refused_by_name(
    family: str, params: dict[str, float], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        distribution_of(family, params)


def test_interval_without_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="no probability between"):
        Truncated(whole=distribution_of("expon", {"loc": 5.0}), minimum=1.0, maximum=2.0)


def test_quantiles_are_linear_between_points_and_jump_at_equal_ones() -> None:
    law = Quantiles(probabilities=(0.0, 0.25, 0.75, 1.0), values=(0.0, 1.0, 1.0, 3.0))
    np.testing.assert_allclose(
        law.cdf([-1, 0, 0.5, 0.999999, 1, 2, 3, 4]),
        [0, 0, 0.125, 0.25, 0.75, 0.875, 1, 1],
        atol=1e-6,
    )
    np.testing.assert_allclose(
        law.ppf([0, 0.125, 0.25, 0.5, 0.75, 0.875, 1]), [0, 0.5, 1, 1, 1, 2, 3]
    )
    assert law.mean == pytest.approx(0.25 * 0.5 + 0.5 * 1 + 0.25 * 2)
    assert law.partial_moment(2) == pytest.approx(0.25 / 3 + 0.5 + 0.25 * (1 + 3 + 9) / 3)
    assert law.partial_moment(0, low=1.0) == pytest.approx(0.25)
    assert law.partial_moment(0, low=0.5, high=1.0) == pytest.approx(0.625)
    # Standard error of the mean of n draws: sqrt(variance / n); five of them.
    draws = law.sample(np.random.default_rng(3), SAMPLE)
    assert abs(draws.mean() - law.mean) < 5 * math.sqrt(law.variance / SAMPLE)


@pytest.mark.parametrize(
    ("p", "x"),
    [
        ((0.0, 0.9), (1.0, 2.0)),
        ((0.0, 1.0), (2.0, 1.0)),
        ((0.0, 0.0, 1.0), (1.0, 2.0, 3.0)),
        ((0.0,), (1.0,)),
    ],
)
def test_quantiles_that_are_no_distribution_function_are_refused(
    p: tuple[float, ...], x: tuple[float, ...]
) -> None:
    with pytest.raises(ValueError, match="quantiles"):
        Quantiles(probabilities=p, values=x)


@pytest.mark.parametrize(("family", "params"), DISCRETE_CASES)
def test_discrete_family_agrees_with_scipy(family: str, params: dict[str, float]) -> None:
    ours, theirs = distribution_of(family, params), getattr(stats, family)(**params)
    k = np.arange(-2, 60)
    np.testing.assert_allclose(ours.cdf(k), theirs.cdf(k), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(ours.cdf(k + 0.5), theirs.cdf(k), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(ours.sf(k), theirs.sf(k), rtol=1e-9, atol=1e-14)
    p = np.array([1e-6, 0.01, 0.2, 0.5, 0.9, 0.999])
    np.testing.assert_array_equal(ours.ppf(p), theirs.ppf(p))
    np.testing.assert_array_equal(ours.isf(p), theirs.isf(p))
    values = k[(k >= ours.support[0]) & (ours.sf(k) > 1e-12)]
    np.testing.assert_array_equal(ours.ppf(ours.cdf(values)), values)
    np.testing.assert_array_equal(ours.isf(ours.sf(values)), values)
    np.testing.assert_allclose([ours.mean, ours.variance], [theirs.mean(), theirs.var()], rtol=1e-9)
    expected = sum(number * theirs.pmf(number) for number in range(3, 8))
    assert ours.partial_moment(1, low=2, high=7) == pytest.approx(expected)
    assert ours.support[0] == theirs.support()[0]
    draws = ours.sample(np.random.default_rng(1), SAMPLE)
    # Five standard errors of the mean of n draws.
    assert abs(draws.mean() - theirs.mean()) < 5 * math.sqrt(min(theirs.var(), 1e6) / SAMPLE)


@pytest.mark.parametrize(
    ("family", "params"),
    [
        *DISCRETE_CASES,
        ("geom", {"p": 1.0, "loc": 0.0}),
        ("nbinom", {"n": 300.0, "p": 1e-3, "loc": 0.0}),
        ("zipf", {"a": 1.5, "loc": 2.0}),  # neither of its moments is finite
        ("zipf", {"a": 2.0, "loc": 0.0}),
        ("poisson", {"mu": 900.0, "loc": -5.0}),
    ],
)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_moments_below_a_bound_are_the_sums_of_the_values(
    family: str, params: dict[str, float], order: int
) -> None:
    law = distribution_of(family, params)
    for high in (law.support[0] + np.array([0, 1, 2, 7, 999, 1000, 1001, 5000])).tolist():
        values = np.arange(law.support[0], high + 1)
        expected = float(np.dot(np.diff(law.cdf(values), prepend=0.0), values**order))
        found = law.partial_moment(order, high=high)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("family", "params"), [*CASES, *DISCRETE_CASES])
def test_a_large_bound_takes_no_memory(family: str, params: dict[str, float]) -> None:
    """Sums over the values below a bound took 24 GB where it was that of the bytes of a bin."""
    whole = distribution_of(family, params)
    tracemalloc.start()
    try:
        for largest in (1e9, 2.0**53):
            law = truncate(whole, minimum=None, maximum=largest)
            assert law.mean == pytest.approx(whole.mean, rel=1e-6)
            assert law.partial_moment(2, low=1e6, high=1e8) >= 0
            law.sample(np.random.default_rng(1), 1)
            law.ppf(PROBABILITIES)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("family", "params"), [*CASES, *DISCRETE_CASES])
@pytest.mark.parametrize("times", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e15])
def test_what_no_float_holds_is_infinite_and_no_warning(
    family: str, params: dict[str, float], times: float, scale: float
) -> None:
    """Warnings are errors in tests: a quantile of a log-logistic law was one."""
    shapes = {
        name: max(value * times, 1.0 + 1e-6) if (family, name) in AT_LEAST_ONE else value * times
        for name, value in params.items()
        if name not in ("loc", "scale", "p")
    }
    places = {"scale": scale} if "scale" in params else {"p": params["p"]} if "p" in params else {}
    law = distribution_of(family, {**shapes, "loc": 0.0, **places})
    x = np.array([-1.0, 0.0, 1e-300, 1e-9, 1.0, 1e9, 1e300, math.inf])
    p = np.array([0.0, 1e-100, 1e-12, 0.5, 1 - 1e-12, 1.0])  # below 1e-150 scipy's beta is NaN
    for probability in (law.cdf(x), 1 - law.sf(x)):
        assert (np.diff(probability) >= 0).all()
        assert probability[-1] == 1
    for value in (law.ppf(p), law.isf(p)[::-1]):
        assert not np.isnan(value).any()
        assert (value[1:] >= value[:-1]).all()


def test_zeta_law_has_the_moments_that_its_exponent_allows() -> None:
    law = distribution_of("zipf", {"a": 2.5})
    assert law.mean == pytest.approx(stats.zipf(2.5).mean())
    assert math.isinf(law.variance)
    assert math.isinf(distribution_of("zipf", {"a": 1.5}).mean)


HYPEREXPONENTIAL = {"p1": 0.7, "scale1": 0.002, "p2": 0.3, "scale2": 0.05}


def test_mixture_is_the_weighted_sum_of_its_components() -> None:
    law = distribution_of("hyperexpon", HYPEREXPONENTIAL)
    x = np.geomspace(1e-5, 1.0, 50)
    expected = 0.7 * np.exp(-x / 0.002) + 0.3 * np.exp(-x / 0.05)
    np.testing.assert_allclose(law.sf(x), expected, rtol=1e-12)
    np.testing.assert_allclose(law.cdf(x), 1 - expected, rtol=1e-9)
    assert law.mean == pytest.approx(0.7 * 0.002 + 0.3 * 0.05)
    assert law.partial_moment(2) == pytest.approx(2 * (0.7 * 0.002**2 + 0.3 * 0.05**2))
    p = np.array([1e-6, 0.1, 0.5, 0.99, 1 - 1e-9])
    np.testing.assert_allclose(law.cdf(law.ppf(p)), p, rtol=1e-9)
    np.testing.assert_allclose(law.sf(law.isf(p)), p, rtol=1e-9)
    assert law.ppf([0.0, 1.0]).tolist() == [0.0, math.inf]
    assert (
        stats.kstest(law.cdf(law.sample(np.random.default_rng(1), SAMPLE)), "uniform").pvalue
        > FALSE_ALARM
    )


def test_a_mixture_of_lognormal_laws_is_that_of_scipy_into_both_tails() -> None:
    shares, sigmas, scales = (0.3, 0.6, 0.1), (0.5, 0.005, 1.5), (1e-4, 1e-2, 3.0)
    law = distribution_of(
        "lognorm_mixture",
        {
            f"{name}{number}": value
            for name, values in (("p", shares), ("s", sigmas), ("scale", scales))
            for number, value in enumerate(values, start=1)
        },
    )
    x = np.geomspace(1e-6, 1e3, 200)
    parts = [stats.lognorm(s, scale=scale) for s, scale in zip(sigmas, scales, strict=True)]
    for found, name in ((law.cdf(x), "cdf"), (law.sf(x), "sf")):
        expected = sum(w * getattr(part, name)(x) for w, part in zip(shares, parts, strict=True))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)
    p = np.concatenate((np.geomspace(1e-30, 0.5, 60), np.linspace(0.51, 0.99, 20)))
    np.testing.assert_allclose(law.cdf(law.ppf(p)), p, rtol=1e-9)
    np.testing.assert_allclose(law.sf(law.isf(p)), p, rtol=1e-9)


@pytest.mark.parametrize(
    "params", [{"p1": 0.5, "scale1": 1.0, "p2": 0.4, "scale2": 2.0}, {"p1": 1.0, "scale2": 1.0}, {}]
)
def test_mixture_with_wrong_parameters_is_refused(params: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"hyperexpon takes|weights of hyperexpon"):
        distribution_of("hyperexpon", params)


def test_body_and_tail_share_the_probability() -> None:
    body = Quantiles(probabilities=(0.0, 0.5, 1.0), values=(0.0, 1.0, 2.0))
    law = BodyAndTail(
        body=body,
        tail=distribution_of("genpareto", {"c": 0.25, "loc": 2.0, "scale": 1.0}),
        tail_probability=0.1,
    )
    assert float(law.cdf(2.0)) == pytest.approx(0.9)
    assert float(law.sf(3.0)) == pytest.approx(0.1 * float(stats.genpareto(0.25).sf(1.0)))
    p = np.array([0.0, 0.3, 0.9, 0.95, 0.9999])
    np.testing.assert_allclose(law.cdf(law.ppf(p)), p, atol=1e-12)
    assert law.mean == pytest.approx(0.9 * 1.0 + 0.1 * (2.0 + 1 / 0.75))
    draws = law.sample(np.random.default_rng(1), SAMPLE)
    assert stats.kstest(law.cdf(draws), "uniform").pvalue > FALSE_ALARM
    with pytest.raises(ValueError, match="before the body ends"):
        BodyAndTail(
            body=body,
            tail=distribution_of("genpareto", {"c": 0.25, "loc": 1.0, "scale": 1.0}),
            tail_probability=0.1,
        )
