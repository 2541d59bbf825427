"""Whole numbers drawn from a table of their probabilities follow the law that they are drawn
from.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trafficgen._core import AliasTable
from trafficgen.distributions import MixedLaw, Truncated, distribution_of

#: A right table is refused by chance once in a million seeds.
SMALLEST_P = 1e-6

SIZES = MixedLaw(
    continuous=Truncated(
        whole=distribution_of("gamma", {"a": 8.0, "scale": 10.0}), minimum=39.5, maximum=150.5
    ),
    values=(1500.0, 60.0, 52.5),
    probabilities=(0.2, 0.05, 0.05),
    integer=True,
)


def expected_share(
    law: MixedLaw, values: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> list[float]:
    return [
        float(law.cdf(value)) - float(law.cdf(np.nextafter(value, -np.inf))) for value in values
    ]


@pytest.mark.parametrize("count", [100, 200_000])  # one by one, and from the table
def test_many_draws_follow_the_law_as_few_do(count: int) -> None:
    generator = np.random.default_rng(3)
    draws = np.concatenate([SIZES.sample(generator, count) for _ in range(200_000 // count)])
    values, found = np.unique(draws, return_counts=True)
    expected = np.array(expected_share(SIZES, values)) * draws.size
    assert expected.sum() == pytest.approx(draws.size, rel=1e-3)
    many = expected >= 5  # as the test of Pearson asks
    found = np.append(found[many], found[~many].sum() + 1e-9)
    expected = np.append(expected[many], draws.size - expected[many].sum() + 1e-9)
    assert stats.chisquare(found, expected * found.sum() / expected.sum()).pvalue > SMALLEST_P


def test_a_number_drawn_does_not_depend_on_what_was_drawn_before() -> None:
    fresh = MixedLaw(
        continuous=SIZES.continuous,
        values=SIZES.values,
        probabilities=SIZES.probabilities,
        integer=SIZES.integer,
    )
    SIZES.sample(np.random.default_rng(0), 5000)
    for count in (10, 114, 115, 5000):
        seen = SIZES.sample(np.random.default_rng(7), count)
        np.testing.assert_array_equal(seen, fresh.sample(np.random.default_rng(7), count))


@given(
    st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e6)), min_size=1, max_size=40).filter(any),
    st.integers(0, 99),
)
def test_only_values_with_weight_are_drawn(weights: list[float], seed: int) -> None:
    table = AliasTable(np.arange(len(weights), dtype=np.float64), np.array(weights))
    numbers = np.random.default_rng(seed).random(2000)
    drawn = np.unique(table.values(numbers)).astype(int)
    assert all(weights[value] > 0 for value in drawn)


@pytest.mark.parametrize("weights", [[], [0.0, 0.0], [1.0, -0.5], [np.inf], [np.nan]])
def test_weights_that_are_no_law_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights must not be negative, and their sum positive"):
        AliasTable(np.arange(len(weights), dtype=np.float64), np.array(weights))


def test_sizes_are_the_draws_rounded_within_bounds() -> None:
    table = AliasTable(np.array([-3.0, 2.5, 3.5, 70_000.0]), np.ones(4))
    numbers = np.array([0.1, 0.3, 0.6, 0.9])
    np.testing.assert_array_equal(table.whole_values(numbers, 65_535), [0, 2, 4, 65_535])


def test_values_and_weights_are_as_many() -> None:
    with pytest.raises(ValueError, match="2 values for 1 weights"):
        AliasTable(np.zeros(2), np.ones(1))
