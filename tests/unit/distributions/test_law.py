"""A law in a model file and the distribution that it stands for."""

from __future__ import annotations

import pytest

from trafficgen.models import Atom, Law, QuantilePoint, Tail


def test_law_with_atoms_becomes_a_truncated_mixture() -> None:
    law = Law(
        unit="bytes",
        family="lognorm",
        params={"s": 0.5, "loc": 0.0, "scale": 500.0},
        atoms=(Atom(value=1500, p=0.35),),
        minimum=40,
        maximum=1500,
        integer=True,
        observations=100,
    )
    mixed = law.distribution()
    assert mixed.support == (40, 1500)
    assert mixed.continuous_weight == pytest.approx(0.65)
    assert 1.0 - float(mixed.cdf(1499)) == pytest.approx(0.35, abs=0.01)


def test_law_of_quantiles_takes_their_values() -> None:
    points = (
        QuantilePoint(p=0, value=1.0),
        QuantilePoint(p=0.5, value=2.0),
        QuantilePoint(p=1, value=4.0),
    )
    law = Law(unit="s", family="quantiles", quantiles=points, observations=3)
    assert law.distribution().mean == pytest.approx(0.5 * 1.5 + 0.5 * 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"params": {"shape": 2.0}}, "gamma takes the parameters a, loc, scale"),
        (
            {"params": {"a": 2.0, "scale": 1.0}, "minimum": -2.0, "maximum": -1.0},
            "no probability between",
        ),
    ],
)
def test_law_that_cannot_be_drawn_from_is_refused_when_it_is_read(
    changes: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Law.model_validate({"unit": "s", "family": "gamma", "observations": 1, **changes})


def test_tail_follows_the_last_quantile() -> None:
    points = (QuantilePoint(p=0, value=1.0), QuantilePoint(p=1, value=2.0))
    tail = Tail(p=0.1, threshold=2.0, c=0.25, scale=1.0)
    law = Law(
        unit="s", family="quantiles", quantiles=points, tail=tail, observations=3
    ).distribution()
    assert float(law.cdf(2.0)) == pytest.approx(0.9)
    assert law.mean == pytest.approx(0.9 * 1.5 + 0.1 * (2.0 + 1 / 0.75))


def test_bounds_of_whole_numbers_hold_all_that_is_rounded_to_them() -> None:
    law = Law(
        unit="bytes",
        family="norm",
        params={"loc": 100.0, "scale": 1.0},
        minimum=100,
        integer=True,
        observations=1,
    )
    # The share of 99.5 to 100.5 in what is above 99.5.

    # The mass of the cell around 100 over what lies above 99.5, of the standard normal law.
    assert float(law.distribution().cdf(100)) == pytest.approx(0.38292 / 0.69146, rel=1e-4)
