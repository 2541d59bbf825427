"""Measures of the papers against series worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trafficgen.flows.measures import (
    adaptation_time_s,
    count_rate_changes,
    measure_data_rates,
    rate_differences,
    spread,
    successive_ratios,
    time_to_share_of_peak_s,
)

KBPS_40, KBPS_160 = 2500, 10_000  # bytes in 0.5 s


def two_rates(*, fast_from: int, fast_bins: int, bins: int) -> np.ndarray:
    """40 kbit/s in bins of 0.5 s, and 160 kbit/s in some of them."""
    size_bytes = np.full(bins, KBPS_40)
    size_bytes[fast_from : fast_from + fast_bins] = KBPS_160
    return size_bytes


def test_the_buffering_data_rate_is_the_largest_mean_over_10_s() -> None:
    rates = measure_data_rates(two_rates(fast_from=7, fast_bins=20, bins=300), span_s=150.0)
    assert rates is not None
    assert (rates.buffering_kbps, rates.steady_kbps, rates.ratio) == pytest.approx((160, 40, 4))


def test_a_shorter_burst_counts_with_what_surrounds_it() -> None:
    rates = measure_data_rates(two_rates(fast_from=0, fast_bins=5, bins=300), span_s=150.0)
    assert rates is not None
    assert rates.buffering_kbps == pytest.approx((5 * 160 + 15 * 40) / 20)


def test_windows_must_lie_in_the_first_80_s() -> None:
    rates = measure_data_rates(two_rates(fast_from=160, fast_bins=20, bins=300), span_s=150.0)
    assert rates is not None
    assert rates.buffering_kbps == pytest.approx(40)


def test_the_steady_rate_divides_by_the_time_to_the_last_packet() -> None:
    rates = measure_data_rates(two_rates(fast_from=0, fast_bins=20, bins=301), span_s=150.1)
    assert rates is not None
    assert rates.steady_kbps == pytest.approx(101 * KBPS_40 * 8 / 1000 / 50.1)


def test_short_playouts_have_neither_rate_and_silent_ends_no_ratio() -> None:
    assert measure_data_rates(np.full(219, KBPS_40), span_s=109.4) is None
    silent = measure_data_rates(np.concatenate((np.full(40, KBPS_40), np.zeros(200))), span_s=120.0)
    assert silent is not None
    assert silent.ratio is None


def test_the_two_parts_of_a_playout_give_what_the_whole_gives() -> None:
    size_bytes = two_rates(fast_from=30, fast_bins=25, bins=301)
    parts = measure_data_rates(
        size_bytes[:160], late_bytes=float(size_bytes[200:].sum()), span_s=150.1
    )
    assert parts == measure_data_rates(size_bytes, span_s=150.1)


def test_smoothness_leaves_out_pairs_with_an_empty_bin() -> None:
    assert successive_ratios(np.array([100.0, 50.0, 0.0, 80.0, 80.0])).tolist() == [0.5, 1.0]


def test_the_spread_is_the_ninth_over_the_first_decile() -> None:
    assert spread(np.arange(10.0, 111.0)) == pytest.approx(100 / 20)
    assert spread(np.ones(5)) == 1.0
    assert math.isnan(spread(np.zeros(0)))


def test_a_normalised_difference_is_minus_one_where_udp_has_all() -> None:
    found = rate_differences(
        np.array([0.0, 75.0, 90.0]), np.array([150.0, 75.0, 60.0]), bottleneck_kbps=150
    )
    np.testing.assert_allclose(found, [-1, 0, 0.2])


def test_the_rise_ends_in_the_first_bin_near_the_largest() -> None:
    assert time_to_share_of_peak_s(np.array([10, 50, 89, 90, 100])) == 1.5
    assert time_to_share_of_peak_s(np.array([10, 50, 89, 90, 100]), share=0.5) == 0.5
    assert math.isnan(time_to_share_of_peak_s(np.zeros(3)))


def test_scale_changes_count_both_directions_and_no_repetitions() -> None:
    assert count_rate_changes(np.array([80.0, 80.0, 45.0, 80.0])) == 2
    assert count_rate_changes(np.array([80.0])) == 0


@pytest.mark.parametrize(
    ("rates_bps", "expected_s"),
    [([34e3, 80e3], 0.0), ([80e3, 45e3, 34e3], 7.0), ([80e3, 45e3], math.inf)],
)
def test_adaptation_is_the_first_rate_that_the_path_carries(
    rates_bps: list[float], expected_s: float
) -> None:
    times_s = np.array([-0.1, 3.0, 7.0])[: len(rates_bps)]
    assert adaptation_time_s(times_s, np.array(rates_bps), limit_bps=35e3) == expected_s
