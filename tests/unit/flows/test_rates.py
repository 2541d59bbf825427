from __future__ import annotations

import numpy as np
import pytest

from trafficgen.flows import mean_rate_kbps, rate_series, sliding_mean_rates_kbps
from trafficgen.units import ns_array_from_s

TIME_NS = ns_array_from_s(np.array([10.0, 10.4, 11.0, 13.2, 13.9, 14.5]))
SIZE = np.array([125, 125, 250, 500, 500, 999])


def test_bins_start_at_the_first_packet_and_the_last_partial_one_is_dropped() -> None:
    series = rate_series(TIME_NS, SIZE, bin_s=1.0)
    np.testing.assert_allclose(series.rate_kbps, [2.0, 2.0, 0.0, 8.0])
    np.testing.assert_allclose(series.rate_bps, series.rate_kbps * 1000)
    assert series.start_ns == TIME_NS[0]


def test_a_stream_shorter_than_a_bin_has_no_bins() -> None:
    assert rate_series(TIME_NS, SIZE, bin_s=10.0).rate_kbps.size == 0
    assert rate_series(TIME_NS[:0], SIZE[:0], bin_s=1.0).rate_kbps.size == 0


def test_series_of_one_window_share_bins() -> None:
    series = rate_series(TIME_NS, SIZE, bin_s=1.0, start_ns=11_000_000_000, end_ns=15_000_000_000)
    np.testing.assert_allclose(series.size_bytes, [250, 0, 1000, 999])


def test_a_mean_counts_silence_and_leaves_out_the_end_of_the_window() -> None:
    assert mean_rate_kbps(TIME_NS, SIZE, start_ns=10_000_000_000, end_ns=13_200_000_000) == pytest.approx(0.5 * 8 / 3.2)


def test_overlapping_windows_are_means_of_their_own() -> None:
    rates = sliding_mean_rates_kbps(TIME_NS, SIZE, starts_ns=np.array([10_000_000_000, 12_000_000_000]), window_s=2.0)
    np.testing.assert_allclose(rates, [0.5 * 8 / 2, 1.0 * 8 / 2])


def test_impossible_windows_are_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        rate_series(TIME_NS, SIZE, bin_s=0.0)
    with pytest.raises(ValueError, match="end after"):
        mean_rate_kbps(TIME_NS, SIZE, start_ns=5, end_ns=5)
