"""Distribution functions of the core against scipy.stats, and their scores against differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from trafficgen._core import LAW_FAMILIES, GroupedSample, Law, move_law
from trafficgen.distributions import DISCRETE_FAMILIES, FAMILIES, distribution_of, truncate
from trafficgen.units import FloatArray

Params = dict[str, float]
Bounds = tuple[float | None, float | None]
#: Families whose tails scipy counts from the other end.
ROUNDED = ("pareto", "truncpareto", "fisk", "zipf")
PROBABILITIES = np.concatenate((10.0 ** -np.arange(1, 100, 7), [0.2, 0.3, 0.5]))
STEP = 1e-5

CASES: list[tuple[str, Params]] = [
    ("expon", {"scale": 0.004}),
    ("lognorm", {"s": 0.45, "scale": 492.7}),
    ("lognorm", {"s": 1.8, "scale": 0.01}),
    ("gamma", {"a": 0.02, "scale": 2.0}),
    ("gamma", {"a": 0.7, "scale": 2.0}),
    ("gamma", {"a": 7.5, "scale": 0.1}),
    ("gamma", {"a": 150.0, "scale": 0.1}),
    ("gamma", {"a": 1e3, "scale": 1e-3}),
    ("gamma", {"a": 2e4, "scale": 1e-6}),
    ("weibull_min", {"c": 0.6, "scale": 5.0}),
    ("weibull_min", {"c": 30.0, "scale": 2.0}),
    ("pareto", {"b": 2.6, "scale": 1.5}),
    ("genpareto", {"c": 0.3, "scale": 0.004}),
    ("genpareto", {"c": -0.4, "loc": 1.0, "scale": 2.0}),
    ("genpareto", {"c": 0.0, "scale": 2.0}),
    ("genpareto", {"c": 1e-9, "scale": 2.0}),
    ("truncpareto", {"b": 1.2, "c": 100.0, "scale": 0.001}),
    ("fisk", {"c": 2.6, "scale": 0.01}),
    ("norm", {"loc": 3.0, "scale": 2.0}),
    ("logistic", {"loc": 3.0, "scale": 2.0}),
    ("gumbel_r", {"loc": 3.0, "scale": 2.0}),
    ("beta", {"a": 2.0, "b": 3.5, "loc": 100.0, "scale": 900.0}),
    ("beta", {"a": 0.5, "b": 1.0, "loc": 0.0, "scale": 1.0}),
    ("beta", {"a": 80.0, "b": 300.0, "loc": 0.0, "scale": 1.0}),
    ("geom", {"p": 0.2}),
    ("geom", {"p": 0.9, "loc": -1.0}),
    ("nbinom", {"n": 2.5, "p": 0.3, "loc": 1.0}),
    ("nbinom", {"n": 400.0, "p": 0.5}),
    ("zipf", {"a": 3.6}),
    ("zipf", {"a": 1.2}),
    ("poisson", {"mu": 4.2, "loc": 1.0}),
    ("poisson", {"mu": 900.0}),
]


def test_every_family_is_in_the_core_with_the_names_of_scipy() -> None:
    assert set(LAW_FAMILIES) == set(FAMILIES) == {family for family, _ in CASES}
    for family, (parameters, free) in LAW_FAMILIES.items():
        shapes = getattr(stats, family).shapes
        place = ["loc"] if family in DISCRETE_FAMILIES else ["loc", "scale"]
        assert parameters == [*(shapes.split(", ") if shapes else []), *place]
        assert set(free) <= set(parameters)


def points_of(family: str, params: Params) -> FloatArray:
    """Return values in both tails, not too many whole numbers."""
    law = distribution_of(family, params)
    x = np.concatenate((law.ppf(PROBABILITIES), law.isf(PROBABILITIES)))
    discrete = family in DISCRETE_FAMILIES
    return np.unique(x[np.isfinite(x) & (np.abs(x) < (1e4 if discrete else np.inf))])


@pytest.mark.parametrize(("family", "params"), CASES)
@pytest.mark.parametrize("upper", [False, True])
def test_tails_agree_with_scipy(family: str, params: Params, *, upper: bool) -> None:
    law = getattr(stats, family)(**params)
    x = np.append(points_of(family, params), [-7.0, np.inf])
    with np.errstate(all="ignore"):
        expected = law.sf(x) if upper else law.cdf(x)
    found = Law(family, params).tail(x, upper)
    # scipy counts these from the other end, which loses digits in one of the tails.
    rounding = 2e-15 if family in ROUNDED else 1e-300
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=rounding)


@pytest.mark.parametrize(("family", "params"), CASES)
@pytest.mark.parametrize("upper", [False, True])
def test_quantiles_lead_back_to_their_probabilities(
    family: str, params: Params, *, upper: bool
) -> None:
    """Into the tails; the distribution function itself is compared with scipy's."""
    law = Law(family, params)
    p = np.append(PROBABILITIES, 0.9)
    x = law.quantiles(p, upper)
    if family in DISCRETE_FAMILIES:
        # The smallest number that is exceeded with at most, or reached with at least, p.
        inside = (x > law.support[0]) & (x < 2.0**52)
        reached, before = law.tail(x, upper)[inside], law.tail(x - 1, upper)[inside]
        least, most = (reached, before) if upper else (before, reached)
        assert (least <= p[inside] * (1 + 1e-9)).all()
        assert (most >= p[inside] * (1 - 1e-9)).all()
        return
    # Next to an end that is not 0, or below 1e-290, no number is near enough.
    places = np.nextafter(x, law.support[0]), np.nextafter(x, law.support[1])
    spread = np.abs(law.tail(places[1], upper) - law.tail(places[0], upper))
    sure = (np.abs(x) > 1e-290) & (spread < 1e-10 * p)
    sure &= np.abs(law.support[1] - x) > 1e-13 * np.abs(x)
    assert np.count_nonzero(sure) >= 3
    np.testing.assert_allclose(law.tail(x, upper)[sure], p[sure], rtol=1e-9)


@pytest.mark.parametrize(("family", "params"), CASES)
@pytest.mark.parametrize("ends", [(0.0, 1.0), (0.1, 0.95), (0.0, 1e-3), (0.9, 0.99)])
@pytest.mark.parametrize("order", [1, 2])
def test_partial_moments_are_integrals_of_the_quantiles(
    family: str, params: Params, ends: tuple[float, float], order: int
) -> None:
    law, theirs = Law(family, params), getattr(stats, family)(**params)
    low, high = law.quantiles(np.array(ends), upper=False).tolist()
    if ends == (0.0, 1.0):
        low, expected = -np.inf, [theirs.mean(), theirs.var() + theirs.mean() ** 2][order - 1]
    elif family in DISCRETE_FAMILIES:
        low, high = min(low, 1e4), min(high, 1e4)  # scipy counts number by number
        k = np.arange(low + 1, high + 1)
        expected = float(np.sum(theirs.pmf(k) * k**order))
    else:
        expected = integrate.quad(
            lambda p: theirs.ppf(p) ** order, *ends, epsabs=0, epsrel=1e-11, limit=500
        )[0]
    found = law.partial_moment(order, low, high)
    # Differences of moments have the digits of the larger one.
    rounding = 1e-15 * (abs(params.get("loc", 0.0)) + params.get("scale", 1.0)) ** order
    assert found == pytest.approx(expected, rel=1e-9, abs=rounding)


@pytest.mark.parametrize(("family", "params"), [("pareto", {"b": 2.6}), ("fisk", {"c": 2.6})])
def test_upper_tails_are_the_inverse_of_their_quantiles(family: str, params: Params) -> None:
    x = distribution_of(family, params).isf(PROBABILITIES)
    np.testing.assert_allclose(Law(family, params).tail(x, upper=True), PROBABILITIES, rtol=1e-9)


@pytest.mark.parametrize(("family", "params"), CASES)
@pytest.mark.parametrize("bounded", [False, True])
def test_scores_are_the_differences_of_log_probabilities(
    family: str, params: Params, *, bounded: bool
) -> None:
    whole = distribution_of(family, params)
    edges = np.unique(whole.ppf(np.linspace(0.02, 0.98, 9)))
    if family in DISCRETE_FAMILIES:
        edges += 0.5
    bounds: Bounds = (float(edges[0]), float(edges[-1])) if bounded else (None, None)
    sample = group(edges)
    scores = sample.scores(family, params, bounds)
    assert scores is not None
    for axis, column in zip(np.eye(scores.shape[1]) * STEP, scores.T, strict=True):
        difference = difference_along(axis, sample, family, params, bounds)
        np.testing.assert_allclose(column, difference, rtol=1e-6, atol=1e-6 * abs(column).max())


def difference_along(
    axis: FloatArray, sample: GroupedSample, family: str, params: Params, bounds: Bounds
) -> FloatArray:
    """Change of the log-probabilities with a free number, from a step of it to either side."""
    up, down = (
        sample.log_probabilities(family, move_law(family, params, side * axis), bounds)
        for side in (1, -1)
    )
    return (up - down) / (2 * STEP)


def group(edges: FloatArray) -> GroupedSample:
    """Cells between edges, the lower half counted from below."""
    half = edges.size // 2
    sides = [
        (part, np.ones(part.size), np.arange(part.size)) for part in (edges[:half], edges[half:])
    ]
    cell = np.arange(edges.size - 1)
    return GroupedSample(sides[0], sides[1], cell, cell + 1, np.ones(cell.size))


def test_scores_of_mixtures_are_the_differences_of_log_probabilities() -> None:
    params = {"p1": 0.2, "s1": 0.3, "scale1": 1.0, "p2": 0.5, "s2": 0.9, "scale2": 2.0}
    params |= {"p3": 0.3, "s3": 0.5, "scale3": 4.0}
    sample = group(np.linspace(0.2, 8, 12))
    for bounds in ((None, None), (0.3, 7.0)):
        scores = sample.scores("lognorm_mixture", params, bounds)
        assert scores is not None
        assert scores.shape == (11, 8)
        for axis, column in zip(np.eye(8) * STEP, scores.T, strict=True):
            difference = difference_along(axis, sample, "lognorm_mixture", params, bounds)
            np.testing.assert_allclose(column, difference, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("bounds", [(None, None), (1.0, 5.0), (3.0, None)])
def test_log_probabilities_are_those_of_the_distribution(
    bounds: tuple[float | None, float | None],
) -> None:
    edges = np.array([1.0, 2.0, 2.5, 3.0, 5.0])
    law = truncate(distribution_of("gamma", {"a": 2.0}), minimum=bounds[0], maximum=bounds[1])
    expected = np.log(np.maximum(np.diff(law.cdf(edges)), 1e-300))
    found = group(edges).log_probabilities("gamma", {"a": 2.0}, bounds)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_what_is_no_law_is_refused() -> None:
    for family, params, words in (
        ("normal", {}, "unknown family"),
        ("gamma", {"b": 1.0}, "gamma has no parameter b"),
        ("gamma", {"a": -1.0}, "a of gamma must be positive and finite, got -1.0"),
        ("hyperexpon", {"p1": 0.5, "scale9": 1.0}, "has no parameter scale9"),
    ):
        with pytest.raises(ValueError, match=words):
            Law(family, params)
    moved = move_law("gamma", {"a": 2.0, "scale": 3.0}, np.array([np.log(2.0), 0.0]))
    assert moved == pytest.approx({"a": 4.0, "scale": 3.0})
