"""Starts of cycles: the kept ones are a shortest time apart, and few of the rest are looked at."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.flows.cycles import cut_into_cycles, is_paused, thin_starts
from trafficgen.units import ns_array_from_s


@pytest.mark.parametrize("shortest_ns", [0, 1, 7, 40, 1000])
@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_kept_starts_are_the_first_ones_a_shortest_time_apart(count: int, shortest_ns: int) -> None:
    generator = np.random.default_rng(count + shortest_ns)
    time_ns = np.sort(generator.integers(0, 900, count))
    first = np.flatnonzero(generator.random(count) < 0.7)
    expected: list[int] = []
    for row in first.tolist():
        if not expected or time_ns[row] - time_ns[expected[-1]] >= shortest_ns:
            expected.append(row)
    assert thin_starts(time_ns, first, shortest_ns=shortest_ns).tolist() == expected


@pytest.mark.parametrize("pause_s", [1.0, 0.5, 0.25])
@pytest.mark.parametrize("longest_s", [0.1, 0.4, 0.9, 3.0])
def test_cycles_are_periods_of_pauses_where_the_stream_is_paused(
    pause_s: float, longest_s: float
) -> None:
    gap_s = np.where(np.arange(2_000) % 20 == 0, longest_s, 0.01)
    time_ns, size_bytes = ns_array_from_s(np.cumsum(gap_s)), np.full(gap_s.size, 400)
    cycles = cut_into_cycles(time_ns, size_bytes, tick_s=1e-6, pause_s=pause_s)
    assert cycles.paused == is_paused(time_ns, pause_s=pause_s) == (longest_s > pause_s)
