"""Pieces in which plateaus of the rate are looked for: the search takes a time that grows with
their square.
"""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.processes.semi_markov.plateaus import cut_into_units
from trafficgen.units import IntArray, ns_array_from_s


def pauses(count: int) -> IntArray:
    """Return times of packets that are a second and more apart."""
    return ns_array_from_s(np.cumsum(1.1 + 0.3 * np.random.default_rng(1).random(count)))


@pytest.mark.parametrize("count", [100, 5_000, 50_000])
def test_units_are_bounded_however_many_pauses_there_are(count: int) -> None:
    time_ns, size_bytes = pauses(count), np.full(count, 400)
    units = cut_into_units(time_ns, size_bytes, tick_s=1e-6)
    assert min(count, 6_000) / 2.2 <= len(units) <= 6_000
    # a unit ends where the next begins: all but those after the last edge are in one
    inside = time_ns < units.edge_ns[-1]
    assert units.size_bytes.sum() == 400 * inside.sum()
    assert units.duration_s.sum() == pytest.approx((units.edge_ns[-1] - units.edge_ns[0]) / 1e9)
