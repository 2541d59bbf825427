"""Curves for drawings: bytes stay where they were sent, whatever the number of parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trafficgen.flows import rate_curve
from trafficgen.tables import FlowRates, RateCurve, average_parts

_times = st.lists(st.integers(0, 10**12), min_size=2, max_size=100)


@given(times=_times, bins=st.integers(1, 300), parts=st.integers(1, 300))
def test_no_byte_is_lost_or_counted_twice(times: list[int], bins: int, parts: int) -> None:
    time_ns = np.sort(np.array(times, dtype=np.int64))
    size_bytes = np.arange(1, time_ns.size + 1, dtype=np.int64)
    curve = rate_curve(time_ns, size_bytes, bins=bins)
    assert curve.size_bytes.sum() == size_bytes.sum()
    span_s = curve.end_s - curve.start_s
    if span_s > 0:
        total_bytes = curve.rate_kbps(parts).sum() * 1000 / 8 * span_s / parts
        assert total_bytes == pytest.approx(size_bytes.sum())


def test_a_constant_rate_is_a_flat_curve_of_that_rate() -> None:
    time_ns = np.arange(0, 10**10, 10**6)  # 1250 bytes every ms: 10 Mbit/s
    curve = rate_curve(time_ns, np.full(time_ns.size, 1250), bins=100)
    np.testing.assert_allclose(curve.rate_kbps(30), 10_000, rtol=0.02)
    np.testing.assert_allclose(curve.rate_kbps(30).mean(), 10_000, rtol=2e-4)


def test_before_and_after_a_flow_its_rate_is_zero() -> None:
    curve = RateCurve(start_s=2.0, end_s=4.0, bin_s=1.0, size_bytes=np.array([125.0, 250.0]))
    np.testing.assert_allclose(curve.rate_kbps(6, start_s=0.0, end_s=6.0), [0, 0, 1, 2, 0, 0])
    np.testing.assert_allclose(curve.rate_kbps(3, start_s=0.0, end_s=6.0), [0, 1.5, 0])


def test_the_last_bin_ends_with_the_last_packet_and_keeps_its_bytes() -> None:
    curve = RateCurve(start_s=0.0, end_s=10.0, bin_s=8.0, size_bytes=np.array([800.0, 125.0]))
    np.testing.assert_allclose(curve.rate_kbps(5), [0.8, 0.8, 0.8, 0.8, 0.5])
    at_its_edge = RateCurve(start_s=0.0, end_s=8.0, bin_s=8.0, size_bytes=np.array([800.0, 125.0]))
    np.testing.assert_allclose(at_its_edge.rate_kbps(4), [0.8, 0.8, 0.8, 1.3])


def test_packets_at_one_time_have_no_rate() -> None:
    curve = rate_curve(np.array([5, 5]), np.array([100, 100]))
    assert curve.size_bytes.tolist() == [200.0]
    assert curve.rate_kbps(3).tolist() == [0.0, 0.0, 0.0]
    assert rate_curve(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)).rate_kbps(
        2
    ).tolist() == [0.0, 0.0]


def test_directions_follow_from_who_began() -> None:
    pair = np.array([[1, 2], [30, 40]], dtype=np.uint64)
    rates = FlowRates.from_bins(pair, start_ns=0, end_ns=2 * 10**9, bin_ns=10**9, client_first=True)
    assert rates.to_client.size_bytes.tolist() == [30.0, 40.0]
    assert rates.swap_ends().to_client.size_bytes.tolist() == [1.0, 2.0]
    from_server = FlowRates.from_bins(
        pair, start_ns=0, end_ns=2 * 10**9, bin_ns=10**9, client_first=False
    )
    assert from_server.to_client.size_bytes.tolist() == [1.0, 2.0]


def test_parts_are_means_of_what_is_known() -> None:
    values = np.array([1.0, 3.0, np.nan, 5.0, np.nan, np.nan])
    np.testing.assert_allclose(average_parts(values, 3), [2.0, 5.0, np.nan])
    np.testing.assert_allclose(average_parts(values, 6), values)
    np.testing.assert_allclose(average_parts(np.array([2.0, 4.0]), 4), [2.0, 2.0, 4.0, 4.0])


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), parts=st.integers(1, 60))
def test_parts_keep_the_mean(values: list[float], parts: int) -> None:
    assert average_parts(np.array(values), parts).mean() == pytest.approx(np.mean(values), abs=1e-6)
