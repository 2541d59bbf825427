"""Families of users are fitted, played, stored, and refused in one line."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from trafficgen import TrafficgenError, register_distribution
from trafficgen.distributions import distribution_of
from trafficgen.distributions.fitting.fit_law import fit_law
from trafficgen.models import Law

POSITIVE = (0.0, inf)


@pytest.fixture(autouse=True)
def burr() -> None:
    bounds = {"c": POSITIVE, "d": POSITIVE, "scale": POSITIVE}
    register_distribution("burr12", stats.burr12, bounds=bounds)


def test_a_family_of_three_parameters_is_recovered_with_intervals() -> None:
    truth = {"c": 2.0, "d": 3.0, "scale": 0.02}
    sample = stats.burr12.rvs(2.0, 3.0, scale=0.02, size=20_000, random_state=3)
    law = fit_law(sample, unit="s", tick=1e-6, generator=np.random.default_rng(4)).law
    assert law.family == "burr12"
    for name, value in truth.items():
        assert law.low[name] < value < law.high[name]
    assert law.high["c"] / law.low["c"] < 1.2
    assert law.fit is not None
    assert law.fit.p_value is not None
    assert law.fit.p_value > 0.05
    assert Law.model_validate_json(law.model_dump_json()) == law


def test_families_of_others_are_still_chosen_for_what_they_describe() -> None:
    sample = np.random.default_rng(5).gamma(0.5, 0.01, 5_000)
    law = fit_law(sample, unit="s", tick=1e-9, generator=np.random.default_rng(6)).law
    assert law.family == "gamma"


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("low", "high"), [(-inf, inf), (0.3, inf), (0.1, 0.7), (-inf, 0.2)])
def test_moments_are_those_of_the_integral(order: int, low: float, high: float) -> None:
    law = distribution_of("burr12", {"c": 2.5, "d": 2.0, "scale": 0.5})
    expected = stats.burr12.expect(
        lambda x: x**order, (2.5, 2.0), scale=0.5, lb=max(low, 0.0), ub=high, epsabs=1e-12
    )
    assert law.partial_moment(order, low=low, high=high) == pytest.approx(expected, rel=1e-7)


def test_a_tail_without_moment_has_an_infinite_one() -> None:
    law = distribution_of("burr12", {"c": 0.9, "d": 1.0})
    assert math.isinf(law.mean)
    assert math.isinf(distribution_of("burr12", {"c": 1.5, "d": 1.0}).variance)


def test_draws_follow_the_law_and_it_travels_to_other_processes() -> None:
    law = distribution_of("burr12", {"c": 2.0, "d": 3.0, "scale": 0.02})
    assert pickle.loads(pickle.dumps(law)) == law
    draws = law.sample(np.random.default_rng(7), 5_000)
    assert stats.kstest(draws, stats.burr12(2.0, 3.0, scale=0.02).cdf).pvalue > 0.01


class HalfNormal:
    """Functions without those of scipy.stats that are optional."""

    def cdf(self, x: np.ndarray, *, loc: float, scale: float) -> Any:
        return special.erf(np.maximum(np.subtract(x, loc) / scale, 0) / math.sqrt(2))

    def ppf(self, q: np.ndarray, *, loc: float, scale: float) -> Any:
        return loc + scale * math.sqrt(2) * special.erfinv(q)


def test_cdf_and_ppf_are_enough() -> None:
    register_distribution("half_normal", HalfNormal(), bounds={"scale": POSITIVE})
    sample = np.abs(np.random.default_rng(8).normal(0, 0.1, 4_000))
    law = fit_law(sample, unit="s", tick=1e-6, generator=np.random.default_rng(9)).law
    assert law.family == "half_normal"
    assert law.params["scale"] == pytest.approx(0.1, rel=0.05)
    assert law.distribution().mean == pytest.approx(0.1 * math.sqrt(2 / math.pi), rel=0.05)


def test_a_family_is_tried_for_its_units_alone() -> None:
    register_distribution("sizes", HalfNormal(), bounds={"scale": POSITIVE}, units=("bytes",))
    sample = np.abs(np.random.default_rng(8).normal(0, 0.1, 4_000))
    law = fit_law(sample, unit="s", tick=1e-6, generator=np.random.default_rng(9)).law
    assert "sizes" not in {law.family, *(one.family for one in law.alternatives)}


def test_the_start_is_asked_for_the_sample() -> None:
    seen = []

    def start(sample: np.ndarray) -> dict[str, float]:
        seen.append(sample)
        return {"scale": float(sample.mean())}

    register_distribution("half_normal", HalfNormal(), bounds={"scale": POSITIVE}, start=start)
    values = np.abs(np.random.default_rng(8).normal(0, 0.1, 4_000))
    fit_law(values, unit="s", tick=1e-6, generator=np.random.default_rng(9))
    assert seen
    assert np.all(np.diff(seen[-1]) >= 0)
    assert seen[-1].mean() == pytest.approx(values.mean(), rel=0.05)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"c": (0, 5), "scale": POSITIVE}, "the bounds of c are"),
        ({"c": POSITIVE}, "need scale between 0 and inf"),
        ({"loc": POSITIVE, "scale": POSITIVE}, "loc, if it is estimated"),
    ],
)
def test_bounds_that_are_not_known_are_refused(
    bounds: dict[str, tuple[float, float]], message: str
) -> None:
    with pytest.raises(TrafficgenError, match=message):
        register_distribution("mine", stats.burr12, bounds=bounds)


@pytest.mark.parametrize(
    ("functions", "bounds", "message"),
    [
        (stats.burr12, {"c": POSITIVE}, "shapes c, the law has c, d; give bounds of c, d, scale"),
        (stats.burr12, {"d": POSITIVE, "c": POSITIVE}, "give bounds of c, d, scale, in this order"),
        (stats.burr12, {"c": POSITIVE, "e": POSITIVE}, "the bounds have the shapes c, e"),
        (stats.norm, {"c": POSITIVE}, "the law has none"),
        (stats.poisson, {"mu": POSITIVE}, "a law of whole numbers, which cannot be registered"),
        (stats.burr12(2, 3), {"c": POSITIVE, "d": POSITIVE}, "its parameters are fixed"),
        (stats.powerlaw, {"a": (-inf, inf)}, "cdf does not undo ppf at a=0, scale="),
        (HalfNormal(), {"c": POSITIVE}, r"its functions fail \(TypeError: "),
    ],
)
def test_a_distribution_is_tried_once_when_it_is_registered(
    functions: Any, bounds: dict[str, tuple[float, float]], message: str
) -> None:
    with pytest.raises(TrafficgenError, match="distribution mine: ") as caught:
        register_distribution("mine", functions, bounds={**bounds, "scale": POSITIVE})
    assert caught.match(message)
    assert "\n" not in str(caught.value)


def test_a_start_that_lacks_a_parameter_is_refused() -> None:
    with pytest.raises(TrafficgenError, match="mine: start gives no 'scale'"):
        register_distribution(
            "mine", HalfNormal(), bounds={"scale": POSITIVE}, start=lambda sample: {}
        )


def test_what_is_no_distribution_is_refused() -> None:
    with pytest.raises(TrafficgenError, match="have no cdf"):
        register_distribution("mine", object(), bounds={"scale": POSITIVE})  # type: ignore[arg-type]
    with pytest.raises(TrafficgenError, match="one of trafficgen's own distributions"):
        register_distribution("gamma", stats.gamma, bounds={"scale": POSITIVE})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"c": 2.0}, "burr12 takes the parameters c, d, loc, scale; got c"),
        ({"c": -2.0, "d": 1.0}, "c of burr12 must lie between 0 and inf, got -2"),
    ],
)
def test_parameters_that_do_not_fit_are_told(params: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        distribution_of("burr12", params)


def test_a_model_without_the_registration_says_what_is_needed() -> None:
    with pytest.raises(ValueError, match="import the module that registers it"):
        Law(unit="s", family="unheard_of", params={"scale": 1.0}, observations=0)


class _FailsOnMany:
    """A family whose functions fail for more values than a trial has, in one of several ways."""

    def __init__(self, fail: Callable[[], object]) -> None:
        self._fail = fail

    def cdf(self, x: Any, *, loc: float, scale: float) -> Any:
        found = -np.expm1(-np.asarray(x) / scale)
        return self._fail() if np.size(x) > 50 else found

    def ppf(self, q: Any, *, loc: float, scale: float) -> Any:
        return -scale * np.log1p(-np.asarray(q))


def _raise(error: Exception) -> object:
    raise error


@pytest.mark.parametrize(
    ("fail", "message"),
    [
        (lambda: _raise(KeyError("mine")), "KeyError: 'mine'"),
        (lambda: np.zeros(3), r"TypeError: values of the shape \(3,\)"),
        (lambda: _raise(ValueError("out of range")), None),
    ],
    ids=["raises", "shape", "refuses"],
)
def test_a_family_that_fails_in_a_fit_is_named(
    fail: Callable[[], object], message: str | None
) -> None:
    register_distribution("failing", _FailsOnMany(fail), bounds={"scale": POSITIVE})
    sample = np.random.default_rng(5).gamma(0.5, 0.01, 500)
    if message is None:
        law = fit_law(sample, unit="s", tick=1e-9, generator=np.random.default_rng(6)).law
        assert law.family != "failing"
        return
    with pytest.raises(TrafficgenError, match=f"distribution failing fails .{message}"):
        fit_law(sample, unit="s", tick=1e-9, generator=np.random.default_rng(6))
