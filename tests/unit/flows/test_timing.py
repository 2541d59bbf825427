from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trafficgen.flows import clock_tick_ns, gaps_within_flows_s
from trafficgen.tables import PacketTable


def test_gaps_are_between_packets_of_the_same_flow(make_table: Callable[..., PacketTable]) -> None:
    table = make_table([0.0, 0.1, 0.3, 0.6, 1.0], flow=np.array([0, 1, 0, 1, 1]))
    gaps, ends = gaps_within_flows_s(table, np.array([True, True, True, False, True]))
    np.testing.assert_allclose(gaps, [0.3, 0.9])
    np.testing.assert_array_equal(ends, [2, 4])


@pytest.mark.parametrize(
    ("time_ns", "tick_ns"),
    [([5, 12, 23], 1), ([3000, 8000, 9000], 1000), ([7, 20_000_007, 40_000_007], 1_000_000)],
)
def test_the_tick_is_the_last_decimal_digit_in_use(time_ns: list[int], tick_ns: int) -> None:
    assert clock_tick_ns(np.array(time_ns)) == tick_ns
