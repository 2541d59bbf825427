from __future__ import annotations

import numpy as np
import pytest

from trafficgen.flows import rate_series, widen_bin
from trafficgen.units import ns_array_from_s

TIME_NS = ns_array_from_s(np.array([10.0, 10.4, 11.0, 13.2, 13.9, 14.5]))
SIZE = np.array([125, 125, 250, 500, 500, 999])


def test_bins_start_at_the_first_packet_and_the_last_partial_one_is_dropped() -> None:
    series = rate_series(TIME_NS, SIZE, bin_s=1.0)
    np.testing.assert_allclose(series.rate_kbps, [2.0, 2.0, 0.0, 8.0])
    np.testing.assert_allclose(series.rate_bps, series.rate_kbps * 1000)
    assert series.start_ns == TIME_NS[0]


def test_bins_are_as_wide_as_their_number_allows() -> None:
    assert widen_bin(0.5, span_s=50.0, most_bins=100) == 0.5
    assert widen_bin(0.5, span_s=50.1, most_bins=100) == 1.0
    assert widen_bin(2.0, span_s=1e8, most_bins=1000) == 1e5


def test_a_stream_shorter_than_a_bin_has_no_bins() -> None:
    assert rate_series(TIME_NS, SIZE, bin_s=10.0).rate_kbps.size == 0
    assert rate_series(TIME_NS[:0], SIZE[:0], bin_s=1.0).rate_kbps.size == 0


def test_series_of_one_window_share_bins() -> None:
    series = rate_series(TIME_NS, SIZE, bin_s=1.0, start_ns=11_000_000_000, end_ns=15_000_000_000)
    np.testing.assert_allclose(series.size_bytes, [250, 0, 1000, 999])


def test_impossible_windows_are_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        rate_series(TIME_NS, SIZE, bin_s=0.0)
