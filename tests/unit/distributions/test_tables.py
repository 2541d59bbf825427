"""Tabulated quantiles against the exact ones, for all families and what is made of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from trafficgen.distributions import (
    DISCRETE_FAMILIES,
    FAMILIES,
    BodyAndTail,
    Distribution,
    MixedLaw,
    Quantiles,
    distribution_of,
    truncate,
)
from trafficgen.distributions.tables import TabulatedLaw, tabulate
from trafficgen.units import FloatArray

LARGEST_ERROR = 1e-9
#: Shapes of each continuous family, over all that captures have shown and more.
SHAPES = {
    "expon": {},
    "lognorm": {"s": (0.01, 3.0)},
    "gamma": {"a": (0.1, 500.0)},
    "weibull_min": {"c": (0.2, 8.0)},
    "pareto": {"b": (0.5, 8.0)},
    "genpareto": {"c": (-0.6, 0.9)},
    "truncpareto": {"b": (0.5, 5.0), "c": (2.0, 1e4)},
    "fisk": {"c": (0.5, 12.0)},
    "norm": {},
    "logistic": {},
    "gumbel_r": {},
    "beta": {"a": (0.3, 50.0), "b": (0.3, 50.0)},
}
COUNTS = {
    "geom": {"p": (0.001, 1.0)},
    "nbinom": {"n": (0.3, 20.0), "p": (0.05, 1.0)},
    "zipf": {"a": (1.2, 5.0)},
    "poisson": {"mu": (0.1, 300.0)},
}
SCALES = (1e-4, 1e4)


def test_every_family_is_covered() -> None:
    assert {*SHAPES, *COUNTS} == set(FAMILIES)
    assert set(COUNTS) == set(DISCRETE_FAMILIES)


@some.composite
def families(draw: some.DrawFn, names: tuple[str, ...] = tuple(SHAPES)) -> Distribution:
    """Draw a continuous family with parameters, at scales of gaps and of sizes."""
    family = draw(some.sampled_from(names))
    params = {name: draw(numbers(*ends)) for name, ends in SHAPES[family].items()}
    return distribution_of(family, params | {"scale": draw(numbers(*SCALES))})


def numbers(low: float, high: float) -> some.SearchStrategy[float]:
    """Draw numbers between two, evenly in their logarithms where they are positive."""
    if low <= 0:
        return some.floats(low, high)
    return some.floats(np.log(low), np.log(high)).map(lambda number: float(np.exp(number)))


@some.composite
def mixtures(draw: some.DrawFn) -> Distribution:
    """Draw a mixture of two or three components."""
    shares = draw(some.lists(numbers(0.01, 1.0), min_size=2, max_size=3))
    params = {f"p{n}": share / sum(shares) for n, share in enumerate(shares, 1)}
    params |= {f"scale{n}": draw(numbers(*SCALES)) for n in range(1, len(shares) + 1)}
    if draw(some.booleans()):
        return distribution_of("hyperexpon", params)
    params |= {f"s{n}": draw(numbers(0.01, 3.0)) for n in range(1, len(shares) + 1)}
    return distribution_of("lognorm_mixture", params)


@some.composite
def composites(draw: some.DrawFn) -> Distribution:
    """Draw a law between bounds, or one with a tail of its own."""
    law = draw(some.one_of(families(("gamma", "lognorm", "fisk")), mixtures()))
    low, high = law.ppf(sorted((draw(some.floats(0.0, 0.4)), draw(some.floats(0.6, 0.999)))))
    bounded = truncate(law, minimum=float(low), maximum=float(high))
    if draw(some.booleans()):
        return bounded
    tail = distribution_of("genpareto", {"c": 0.4, "loc": float(high), "scale": float(high)})
    return BodyAndTail(body=bounded, tail=tail, tail_probability=draw(some.floats(0.01, 0.3)))


def some_probabilities(seed: int, count: int = 300) -> FloatArray:
    """Draw probabilities as the generator does, and ones far in the tail."""
    random = np.random.default_rng(seed)
    return np.concatenate([random.random(count), np.exp(-36 * random.random(count // 3))])


def expect_alike(table: Distribution, law: Distribution, seed: int) -> None:
    p = some_probabilities(seed)
    p = p[p <= 0.5]
    for found, exact, tail in (
        (table.ppf(p), law.ppf(p), law.cdf),
        (table.isf(p), law.isf(p), law.sf),
    ):
        size = np.abs(exact)
        if law.support[0] < 0 < law.support[1]:
            size = np.maximum(size, 0.01 * np.ptp(law.ppf([0.25, 0.75])))
        close = np.abs(found - exact) <= LARGEST_ERROR * size
        # Where a law has many quantiles of nearly one probability, that decides.
        around = np.sort(
            [tail(found - LARGEST_ERROR * size), tail(found + LARGEST_ERROR * size)], 0
        )
        close |= (around[0] <= p * (1 + 1e-12)) & (p * (1 - 1e-12) <= around[1])
        assert np.all(close), (p[~close], found[~close], exact[~close])
    ascending = table.ppf(np.sort(p))
    assert np.all(np.diff(ascending) >= -LARGEST_ERROR * np.abs(ascending[1:]))
    np.testing.assert_allclose(table.ppf([0.0, 1.0]), law.ppf([0.0, 1.0]), rtol=LARGEST_ERROR)


@settings(max_examples=60, deadline=None)
@given(law=families(), seed=some.integers(0, 1000))
def test_tables_of_families_are_exact_to_a_billionth(law: Distribution, seed: int) -> None:
    expect_alike(TabulatedLaw(law=law), law, seed)


@settings(max_examples=30, deadline=None)
@given(law=mixtures(), seed=some.integers(0, 1000))
def test_tables_of_mixtures_are_exact_to_a_billionth(law: Distribution, seed: int) -> None:
    expect_alike(tabulate(law), law, seed)


@settings(max_examples=30, deadline=None)
@given(law=composites(), seed=some.integers(0, 1000))
def test_tables_of_composites_are_exact_to_a_billionth(law: Distribution, seed: int) -> None:
    expect_alike(tabulate(law), law, seed)


@settings(max_examples=40, deadline=None)
@given(data=some.data(), family=some.sampled_from(sorted(COUNTS)), seed=some.integers(0, 1000))
def test_whole_numbers_are_exact(data: some.DataObject, family: str, seed: int) -> None:
    params = {name: data.draw(numbers(*ends)) for name, ends in COUNTS[family].items()}
    law = distribution_of(family, params | {"loc": 2.0})
    p = np.append(some_probabilities(seed), [0.0, 1.0])
    np.testing.assert_array_equal(tabulate(law).ppf(p), law.ppf(p))


def test_bounds_and_quantiles_keep_every_digit() -> None:
    law = Quantiles(probabilities=(0.0, 0.3, 1.0), values=(1.0, 2.0, 9.0))
    p = some_probabilities(1)
    assert tabulate(law) is law
    bounded = truncate(law, minimum=1.5, maximum=None)
    np.testing.assert_array_equal(tabulate(bounded).ppf(p), bounded.ppf(p))


def test_a_law_whose_quantiles_are_one_number_has_them() -> None:
    law = distribution_of("norm", {"loc": 1.0, "scale": 1e-300})
    p = np.array([1e-9, 0.3, 0.5, 0.8, 1 - 1e-9])
    assert tabulate(law).ppf(p).tolist() == [1.0] * 5


@settings(max_examples=50, deadline=None)
@given(
    widths=some.lists(some.floats(1e-6, 1.0), min_size=1, max_size=69),
    steps=some.lists(some.floats(0.0, 900.0), min_size=70, max_size=70),
    atoms=some.lists(some.integers(0, 2000), max_size=4),
    is_whole=some.booleans(),
    seed=some.integers(0, 1000),
)
def test_laws_of_quantiles_keep_every_digit_in_the_core(
    widths: list[float], steps: list[float], atoms: list[int], is_whole: bool, seed: int
) -> None:
    points = np.append(0.0, np.cumsum(widths) / sum(widths))
    points[-1] = 1.0
    values = np.cumsum(steps)[: points.size]
    law = MixedLaw(
        continuous=Quantiles(probabilities=tuple(points), values=tuple(values)),
        values=tuple(atoms),
        probabilities=tuple(0.1 for _ in atoms),
        integer=is_whole and bool(np.ceil(values[0]) <= np.floor(values[-1])),
    )
    draws = law.spread_sample(np.random.default_rng(seed), 500)
    random = np.random.default_rng(seed)
    p = (random.permutation(500) + random.random(500)) / 500
    reached = np.cumsum(np.full(len(atoms), 0.1))
    chosen = np.searchsorted(reached, p, side="right")
    share = (p - sum(law.probabilities)) / (1 - sum(law.probabilities))
    inside = np.interp(np.clip(share, 0, 1) if atoms else p, points, values)
    if law.integer:
        inside = np.clip(np.rint(inside), np.ceil(values[0]), np.floor(values[-1]))
    expected = np.append(np.sort(atoms), np.nan)[chosen]
    expected = np.where(np.isnan(expected), inside, expected)
    # The share is a difference of probabilities, known to their last digit and no better.
    steepest = np.max(np.diff(values) / np.diff(points))
    np.testing.assert_allclose(draws, expected, rtol=1e-13, atol=2**-51 * steepest)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(law)).ppf(p), law.ppf(p))


def test_equal_laws_share_a_table_that_pickles() -> None:
    law, same = (
        distribution_of("hyperexpon", {"p1": 0.5, "scale1": 1.0, "p2": 0.5, "scale2": 9.0})
        for _ in range(2)
    )
    assert tabulate(law) is tabulate(same)
    tabulate(law).ppf(0.5)
    assert pickle.loads(pickle.dumps(tabulate(law))) is tabulate(law)


@pytest.mark.parametrize("atoms", [(), (3.0,), (3.0, 0.1, 500.0)])
def test_ascending_draws_are_spread_draws_in_order(atoms: tuple[float, ...]) -> None:
    continuous = distribution_of("gamma", {"a": 2.0, "scale": 3.0})
    law = MixedLaw(continuous=continuous, values=atoms, probabilities=tuple(0.2 for _ in atoms))
    ascending = law.ascending_sample(np.random.default_rng(3), 5000)
    assert np.all(np.diff(ascending) >= 0)
    for value in atoms:
        assert np.count_nonzero(ascending == value) == 1000
    alone = MixedLaw(continuous=None, values=(9.0, 2.0), probabilities=(0.25, 0.75))
    drawn = alone.ascending_sample(np.random.default_rng(3), 8)
    assert drawn.tolist() == [2.0] * 6 + [9.0] * 2
