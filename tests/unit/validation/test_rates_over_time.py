"""Rates over time: autocorrelation, variance against the time scale."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trafficgen.critical_values import NORMAL_95
from trafficgen.flows import rate_series
from trafficgen.units import FloatArray
from trafficgen.validation.distances import (
    autocorrelation,
    autocorrelation_noise,
    largest_log10_ratio,
    rate_variances,
    sample_distances,
    variance_time_bins_s,
    variance_time_noise,
)
from trafficgen.validation.windows import _correlation


def test_autocorrelation_of_an_alternating_series() -> None:
    # +1, -1, ...: n - k products of (-1)**k over n squares.
    rates = np.tile([11.0, 9.0], 50)
    expected = [(-1) ** lag * (100 - lag) / 100 for lag in range(1, 4)]
    np.testing.assert_allclose(autocorrelation(rates, lags=3), expected)


@pytest.mark.parametrize("pairs", [30, 30_000])
def test_dot_products_of_any_length_are_given_to_blas_in_parts_that_start_no_threads(
    monkeypatch: pytest.MonkeyPatch, pairs: int
) -> None:
    one, other = np.random.default_rng(3).normal(size=(2, pairs))
    expected = np.corrcoef(one, other)[0, 1]
    given, dot = [], np.dot

    def record(left: FloatArray, right: FloatArray) -> float:
        given.append(left.size)
        return float(dot(left, right))

    monkeypatch.setattr(np, "dot", record)
    assert _correlation(one, other) == pytest.approx(expected, rel=1e-9)
    autocorrelation(one, lags=3)
    sample_distances(np.sort(one), np.sort(other))
    assert 0 < max(given) <= 10_000


def test_autocorrelation_of_a_long_series_is_that_of_all_its_products() -> None:
    rates = np.cumsum(np.random.default_rng(4).normal(size=30_000))
    centred = (rates - rates.mean()).tolist()
    power = math.fsum(value * value for value in centred)
    pairs = [zip(centred, centred[lag:], strict=False) for lag in (1, 20)]
    expected = [math.fsum(map(math.prod, some)) / power for some in pairs]
    np.testing.assert_allclose(autocorrelation(rates, lags=20)[[0, 19]], expected, rtol=1e-11)


def test_autocorrelation_of_constant_or_short_series() -> None:
    assert autocorrelation(np.full(50, 0.3), lags=2).tolist() == [0.0, 0.0]
    assert np.isnan(autocorrelation(np.arange(20.0), lags=20)).all()


def test_autocorrelation_noise_is_rarely_exceeded_by_independent_series() -> None:
    # 200 pairs at about 5%: more than 10% + is five standard errors away.
    generator = np.random.default_rng(3)
    exceeded = 0
    for _ in range(200):
        one, other = (autocorrelation(generator.standard_normal(n), lags=20) for n in (200, 150))
        exceeded += np.max(np.abs(one - other)) > autocorrelation_noise(200, 150)
    assert exceeded / 200 < 0.05 + 5 * math.sqrt(0.05 * 0.95 / 200)


def test_variance_time_bins_reach_a_tenth_of_the_shorter_side() -> None:
    assert variance_time_bins_s(reference_s=100.0, candidate_s=8.0) == [0.1, 0.2, 0.4, 0.8]
    assert variance_time_bins_s(reference_s=100.0, candidate_s=0.9) == []


def test_rate_variance_of_an_on_off_stream_is_known() -> None:
    # 1000 bytes in every other 0.1 s bin: 80 kbit/s or 0, so the deviation is 40 kbit/s; none at
    # 0.2 s.
    time_ns = np.arange(0, 20_000_000_000, 200_000_000)
    variances = rate_variances(time_ns, np.full(time_ns.size, 1000), bins_s=[0.1, 0.2])
    np.testing.assert_allclose(variances, [40_000.0**2, 0.0])


def test_longer_bins_count_what_packets_counted_one_by_one_give() -> None:
    generator = np.random.default_rng(5)
    time_ns = np.cumsum(generator.integers(0, 30_000_000, 20_000))
    size_bytes = generator.integers(40, 1500, 20_000)
    finest = rate_series(time_ns, size_bytes, bin_s=0.1)
    for count in (1, 2, 3, 64, 4096):
        alone = rate_series(time_ns, size_bytes, bin_s=0.1 * count)
        joined = finest.join_bins(count)
        assert joined.bin_ns == alone.bin_ns
        np.testing.assert_array_equal(joined.size_bytes, alone.size_bytes)


def test_log_ratio_of_variance_time_curves() -> None:
    assert largest_log10_ratio(np.array([1.0, 4.0]), np.array([1.0, 0.4])) == pytest.approx(1.0)
    assert largest_log10_ratio(np.array([0.0]), np.array([0.0])) == 0.0
    assert math.isinf(largest_log10_ratio(np.array([1.0]), np.array([0.0])))
    assert math.isnan(largest_log10_ratio(np.zeros(0), np.zeros(0)))


def test_variance_time_noise_follows_the_bins_of_the_longest_scale() -> None:
    # Longest bin 6.4 s of a tenth of 100 s: 15 bins a side.
    expected = NORMAL_95 * math.sqrt(2 * 2 / 14) / math.log(10)
    assert variance_time_noise(reference_s=100.0, candidate_s=100.0) == pytest.approx(expected)
    assert math.isnan(variance_time_noise(reference_s=0.5, candidate_s=100.0))


def test_variance_of_what_is_shorter_than_a_bin_is_not_known() -> None:
    time_ns = np.array([0, 50_000_000], dtype=np.int64)
    assert np.isnan(rate_variances(time_ns, np.array([100, 100]), bins_s=[0.1, 0.2])).all()
