"""Delivery traces: worked by hand, and what holds for any rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trafficgen.errors import ExportError
from trafficgen.export.targets.mahimahi.delivery import (
    MOST_LINES,
    delivery_of_arrivals,
    delivery_of_rate,
    delivery_of_steps,
)
from trafficgen.simulation.traces import load_trace

#: A rate at which one opportunity passes each millisecond.
_ONE_A_MS_BPS = 1504 * 8 * 1000.0


@pytest.mark.parametrize(
    ("rate", "times_ms"),
    [(1.0, [1]), (3.0, [0, 1, 1]), (0.5, [2]), (1.5, [1, 1, 2]), (1 / 70_000, [70_000])],
)
def test_a_constant_rate_takes_the_shortest_trace_that_comes_to_it(
    rate: float, times_ms: list[int]
) -> None:
    assert delivery_of_rate(rate * _ONE_A_MS_BPS).times_ms.tolist() == times_ms


@given(st.floats(5e3, 1e10))
def test_any_rate_is_met_and_no_opportunity_is_more_than_half_a_millisecond_away(
    rate_bps: float,
) -> None:
    delivery = delivery_of_rate(rate_bps)
    # Up to a minute of whole opportunities: at 5 kbit/s some 25, at most half of one too many or
    # too few.
    assert abs(delivery.rate_bps / rate_bps - 1) < 0.05
    if rate_bps > 1e6:
        assert abs(delivery.rate_bps / rate_bps - 1) < 1e-4
    assert delivery.error_s[0] <= 0.0005 + 1e-9
    assert (np.diff(delivery.times_ms) >= 0).all()
    assert 0 < delivery.times_ms.size <= MOST_LINES


def test_rates_that_change_have_as_many_opportunities_as_bytes_pass() -> None:
    # 2 a ms for 10 ms, nothing for 20 ms, 0.5 a ms for 20 ms.
    delivery = delivery_of_steps(
        np.array([0.0, 0.010, 0.030]), np.array([2.0, 0.0, 0.5]) * _ONE_A_MS_BPS, length_s=0.050
    )
    first = [0, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 6, 6, 7, 8, 8, 8, 9, 10, 10]
    assert delivery.times_ms.tolist() == [*first, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50]
    assert delivery.rate_bps == pytest.approx(delivery.wanted_bps)


def test_a_trace_that_ends_in_silence_keeps_its_length() -> None:
    delivery = delivery_of_steps(
        np.array([0.0, 0.004]), np.array([1.0, 0.0]) * _ONE_A_MS_BPS, length_s=0.010
    )
    assert delivery.times_ms.tolist() == [1, 2, 3, 10]
    assert delivery.error_s[0] == pytest.approx(0.006), "and says how far the last had to be moved"


@given(
    st.lists(st.tuples(st.integers(1, 5000), st.floats(0, 5e7)), min_size=1, max_size=20),
    st.integers(1, 5000),
)
def test_steps_keep_the_bytes_that_pass_within_one_opportunity(
    steps: list[tuple[int, float]], last_ms: int
) -> None:
    lengths_ms = [length for length, _ in steps]
    begins_s = np.concatenate([[0.0], np.cumsum(lengths_ms)]) / 1000
    rates = np.array([rate for _, rate in steps] + [1e7])
    delivery = delivery_of_steps(begins_s, rates, length_s=float(begins_s[-1]) + last_ms / 1000)
    passed = np.cumsum(rates / 8 * np.diff([*begins_s, begins_s[-1] + last_ms / 1000])) / 1504
    for end_s, opportunities in zip(
        [*begins_s[1:], begins_s[-1] + last_ms / 1000], passed, strict=True
    ):
        # Those rounded to the half millisecond behind the edge are within 0.5 ms of rate.
        here = np.count_nonzero(delivery.times_ms <= end_s * 1000)
        assert abs(here - opportunities) <= 2 + rates.max() / 8 / 1504 / 1000


def test_arrivals_give_an_opportunity_whenever_another_full_packet_has_come() -> None:
    at_ms = np.array([5.0, 6.0, 7.4, 20.0, 21.0])
    sizes = np.array([1504, 752, 752, 1000, 600])
    delivery = delivery_of_arrivals((at_ms * 1e6).astype(np.int64), sizes)
    # 1504 bytes at 5 ms, 3008 at 7.4, 4512 at 21, and 96 that are left.
    assert delivery.times_ms.tolist() == [0, 2, 16, 16]


@pytest.mark.parametrize(("at_ns", "sizes"), [([0, 10**9], [100, 100]), ([0, 10], [1504, 1504])])
def test_too_little_to_define_a_path_is_refused(at_ns: list[int], sizes: list[int]) -> None:
    with pytest.raises(ExportError, match=r"too little arrived.*'path': 'rate="):
        delivery_of_arrivals(np.array(at_ns), np.array(sizes))


def test_what_takes_too_many_lines_is_refused_with_the_setting_that_helps() -> None:
    with pytest.raises(ExportError, match="set length_s"):
        delivery_of_steps(np.array([0.0]), np.array([1e10]), length_s=100)
    with pytest.raises(ExportError, match="no packet passes"):
        delivery_of_steps(np.array([0.0]), np.array([1e3]), length_s=1)


@settings(deadline=None)
@given(st.floats(1e5, 1e9))
def test_a_trace_reads_back_with_its_rate(
    tmp_path_factory: pytest.TempPathFactory, rate_bps: float
) -> None:
    file: Path = tmp_path_factory.mktemp("trace") / "forward.trace"
    delivery = delivery_of_rate(rate_bps)
    delivery.write(file)
    assert load_trace(str(file)).mean_bps == pytest.approx(delivery.rate_bps, rel=1e-12)
