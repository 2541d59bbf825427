"""Laws with atoms, worked by hand and sampled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from trafficgen.distributions import MixedLaw, Truncated, distribution_of

SAMPLE = 50_000


def test_atoms_alone_are_a_discrete_law() -> None:
    law = MixedLaw(continuous=None, values=(1500.0, 100.0), probabilities=(0.75, 0.25))
    assert law.mean == pytest.approx(1150.0)
    assert law.variance == pytest.approx(0.75 * 350**2 + 0.25 * 1050**2)
    assert law.support == (100.0, 1500.0)
    np.testing.assert_allclose(law.cdf([99, 100, 1499, 1500]), [0, 0.25, 0.25, 1])
    draws = law.sample(np.random.default_rng(1), SAMPLE)
    # Five binomial standard errors.
    assert abs(np.mean(draws == 1500) - 0.75) < 5 * math.sqrt(0.75 * 0.25 / SAMPLE)
    assert set(np.unique(draws)) == {100.0, 1500.0}


def test_mixture_puts_the_rest_on_the_continuous_part() -> None:
    law = MixedLaw(
        continuous=distribution_of("expon", {"scale": 2.0}), values=(5.0,), probabilities=(0.4,)
    )
    assert law.mean == pytest.approx(0.4 * 5 + 0.6 * 2)
    assert law.variance == pytest.approx(0.4 * 25 + 0.6 * 8 - law.mean**2)
    np.testing.assert_allclose(law.cdf([0.0, 5.0]), [0.0, 0.4 + 0.6 * (1 - math.exp(-2.5))])
    draws = law.sample(np.random.default_rng(1), SAMPLE)
    rest = draws[draws != 5.0]
    assert abs(1 - rest.size / SAMPLE - 0.4) < 5 * math.sqrt(0.4 * 0.6 / SAMPLE)
    assert (
        stats.kstest(rest, "expon", args=(0, 2.0)).pvalue > 1e-4
    )  # one false alarm in 10,000 seeds


def test_rounded_law_has_the_moments_of_its_whole_numbers() -> None:
    # Rounding an exponential of mean 1 with bounds [1, 50] moves its mean a lot; the sum over k is
    # exact.
    continuous = Truncated(
        whole=distribution_of("expon", {"scale": 1.0}), minimum=1.0, maximum=50.0
    )
    law = MixedLaw(continuous=continuous, integer=True)
    k = np.arange(1, 51)
    p = np.diff(np.append(continuous.cdf(np.append(0, k[:-1] + 0.5)), 1.0))
    assert law.mean == pytest.approx(float(np.sum(p * k)))
    assert law.variance == pytest.approx(float(np.sum(p * k**2)) - law.mean**2)
    draws = law.sample(np.random.default_rng(4), SAMPLE)
    assert np.array_equal(draws, np.rint(draws))
    assert abs(draws.mean() - law.mean) < 5 * math.sqrt(law.variance / SAMPLE)
    for value in (1, 2, 3):
        share = float(law.cdf(value))
        assert abs(np.mean(draws <= value) - share) < 5 * math.sqrt(share * (1 - share) / SAMPLE)


def test_rounded_draws_stay_within_whole_bounds() -> None:
    continuous = Truncated(
        whole=distribution_of("lognorm", {"s": 1.0, "scale": 3.0}), minimum=1.6, maximum=4.4
    )
    law = MixedLaw(continuous=continuous, integer=True)
    assert law.support == (2, 4)
    draws = law.sample(np.random.default_rng(0), 1000)
    assert set(np.unique(draws)) == {2.0, 3.0, 4.0}
    assert law.cdf([1.9, 4.0]).tolist() == [0.0, 1.0]


def test_moments_of_a_rounded_heavy_tail_include_what_lies_far_out() -> None:
    law = MixedLaw(continuous=distribution_of("pareto", {"b": 1.2, "scale": 1000.0}), integer=True)
    assert law.mean == pytest.approx(6000.0, rel=1e-6)
    assert math.isinf(law.variance)


def test_impossible_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="add up to 1"):
        MixedLaw(continuous=None, values=(1.0,), probabilities=(0.5,))
    with pytest.raises(ValueError, match="at most 1"):
        MixedLaw(
            continuous=distribution_of("expon", {}), values=(1.0, 2.0), probabilities=(0.7, 0.7)
        )
    with pytest.raises(ValueError, match="1 atoms have 2 probabilities"):
        MixedLaw(continuous=distribution_of("expon", {}), values=(1.0,), probabilities=(0.2, 0.3))


@pytest.mark.parametrize("count", [2, 15, 1000])
def test_spread_draws_come_one_from_each_slice_of_equal_probability(count: int) -> None:
    law = MixedLaw(continuous=distribution_of("lognorm", {"s": 1.5, "scale": 2.0}))
    draws = law.spread_sample(np.random.default_rng(3), count)
    slices = np.sort(np.floor(law.cdf(draws) * count))
    np.testing.assert_array_equal(slices, np.arange(count))


def test_spread_draws_take_atoms_as_often_as_their_probability_says() -> None:
    law = MixedLaw(
        continuous=distribution_of("lognorm", {"s": 0.4, "scale": 500.0}),
        values=(1500.0, 40.0),
        probabilities=(0.5, 0.125),
    )
    draws = law.spread_sample(np.random.default_rng(4), 800)
    assert (draws == 1500.0).sum() == 400
    assert (draws == 40.0).sum() == 100
    # 300 of 800 slices of the continuous part: its mean, to the width of a slice.
    rest = draws[(draws != 1500.0) & (draws != 40.0)]
    assert rest.mean() == pytest.approx(500.0 * np.exp(0.4**2 / 2), rel=0.01)


def test_spread_draws_come_in_random_order() -> None:
    law = MixedLaw(continuous=distribution_of("lognorm", {"s": 1.0, "scale": 1.0}))
    draws = law.spread_sample(np.random.default_rng(5), 2000)
    # Lag-1 correlation of ranks of a random order has standard deviation 1 / sqrt(n).
    ranks = np.argsort(np.argsort(draws)).astype(float)
    assert abs(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]) < 4 / np.sqrt(2000)


def test_quantiles_stop_at_atoms_and_go_on_behind_them() -> None:
    # P(X <= x) of an exponential of mean 2 with weight 0.6 and an atom of 0.4 at 5.
    law = MixedLaw(
        continuous=distribution_of("expon", {"scale": 2.0}), values=(5.0,), probabilities=(0.4,)
    )
    below = 0.6 * (1 - math.exp(-2.5))
    np.testing.assert_allclose(law.ppf([below + 1e-9, below + 0.2, below + 0.4]), [5, 5, 5])
    for p in (0.1, 0.5, below + 0.41, 0.99):
        assert float(law.cdf(law.ppf(p))) == pytest.approx(p)
    assert float(law.ppf(0.3)) == pytest.approx(-2 * math.log(1 - 0.5))


def test_quantiles_of_whole_numbers_are_the_smallest_that_reach_the_probability() -> None:
    law = MixedLaw(
        continuous=Truncated(
            whole=distribution_of("expon", {"scale": 3.0}), minimum=1.0, maximum=50.0
        ),
        values=(7.0,),
        probabilities=(0.25,),
        integer=True,
    )
    for p in np.linspace(0.01, 0.99, 37):
        value = float(law.ppf(p))
        assert value == round(value)
        assert float(law.cdf(value)) >= p - 1e-12
        assert value == 1 or float(law.cdf(value - 1)) < p


def test_quantiles_of_atoms_alone_are_the_atoms() -> None:
    law = MixedLaw(continuous=None, values=(1500.0, 100.0), probabilities=(0.75, 0.25))
    np.testing.assert_array_equal(law.ppf([0.1, 0.25, 0.26, 1.0]), [100, 100, 1500, 1500])
