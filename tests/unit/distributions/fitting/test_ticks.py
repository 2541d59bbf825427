"""Samples counted by clock ticks: both ways of counting, and what follows from the counts."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.distributions.fitting.ticks import count_ticks


@pytest.mark.parametrize("tick", [1e-9, 1e-3], ids=["far apart", "close together"])
def test_counts_are_those_of_the_rounded_values(tick: float) -> None:
    sample = np.random.default_rng(1).gamma(2.0, 0.05, 500)
    found = count_ticks(sample, tick=tick)
    number, counts = np.unique(np.rint(sample / tick), return_counts=True)
    assert found.number.tolist() == number.tolist()
    assert found.counts.tolist() == counts.tolist()
    assert found.values.tolist() == (np.rint(sample / tick) * tick).tolist()
    assert found.ascending.tolist() == np.sort(found.values).tolist()


@pytest.mark.parametrize("values", [[3.0, 1.0, 4.0, 4.0, 9.0], [2.0, 7.0, 7.0, 2.0]])
def test_the_median_is_rounded_down(values: list[float]) -> None:
    assert count_ticks(np.array(values), tick=1.0).median() == int(np.median(values))


def test_values_on_some_ticks_keep_their_order() -> None:
    found = count_ticks(np.array([5.0, 2.0, 9.0, 5.0, 2.0]), tick=1.0)
    assert found.select(found.number != 5).values.tolist() == [2.0, 9.0, 2.0]
