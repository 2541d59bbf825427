"""Fractional Gaussian noise against its formula, and estimators of its Hurst parameter against what
generated it.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from scipy import stats

from trafficgen.models import FractionalNoiseProcess
from trafficgen.processes.base import Span, playable
from trafficgen.processes.fitting import LawFitter, PhasePackets
from trafficgen.processes.fractional_noise.fit import (
    judge_long_range,
    local_whittle,
    propose_fgn,
    rate_and_noise,
)
from trafficgen.processes.fractional_noise.hurst import estimate_hurst
from trafficgen.processes.fractional_noise.sample import fractional_noise, noise_autocovariance
from trafficgen.units import FloatArray, IntArray, ns_array_from_s

BIN_S = 0.1


def packets(
    bins: int, hurst: float, seed: int, *, poisson: bool, mean: float = 50.0
) -> tuple[IntArray, IntArray]:
    """Times, ns, and sizes of packets whose number in bins of 0.1 s follows fractional noise."""
    rng = np.random.default_rng(seed)
    rate = np.maximum(0.0, mean * (1 + 0.25 * fractional_noise(hurst, bins, rng)))
    counts = rng.poisson(rate) if poisson else np.rint(rate).astype(np.int64)
    row = np.repeat(np.arange(bins), counts)
    number = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
    offset = rng.random(row.size) if poisson else (number + 0.5) / counts[row]
    return ns_array_from_s(np.sort((row + offset) * BIN_S)), np.full(row.size, 1000)


def test_generated_noise_has_the_autocovariance_of_the_formula() -> None:
    rng = np.random.default_rng(0)
    for hurst in (0.3, 0.6, 0.8, 0.95):
        draws = np.array([fractional_noise(hurst, 64, rng) for _ in range(4000)])
        lags = np.arange(0, 64, 9)
        found = np.array([np.mean(draws[:, 0] * draws[:, lag]) for lag in lags])
        # products of standard normal pairs have a standard deviation of at most sqrt(2); five
        # standard errors
        np.testing.assert_allclose(
            found, noise_autocovariance(hurst, 63)[lags], atol=5 * np.sqrt(2 / 4000)
        )


def test_the_autocovariance_is_that_of_increments_of_fractional_brownian_motion() -> None:
    lag = np.arange(1, 20)
    hurst = 0.8

    def motion(s: FloatArray, t: FloatArray) -> FloatArray:
        return np.asarray(
            0.5 * (s ** (2 * hurst) + t ** (2 * hurst) - np.abs(s - t) ** (2 * hurst))
        )

    at, one, zero = lag.astype(np.float64), np.ones(lag.size), np.zeros(lag.size)
    increments = motion(one, at + 1) - motion(one, at) - motion(zero, at + 1) + motion(zero, at)
    np.testing.assert_allclose(
        noise_autocovariance(hurst, 19)[1:], increments, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("hurst", [0.6, 0.9])
def test_local_whittle_covers(hurst: float) -> None:
    found = [
        local_whittle(fractional_noise(hurst, 2048, np.random.default_rng(seed)))
        for seed in range(100)
    ]
    covered = sum(one is not None and one.low <= hurst <= one.high for one in found)
    assert covered >= 88  # 95% less three standard errors of 2.2


@pytest.mark.slow
@pytest.mark.parametrize("poisson", [False, True])
@pytest.mark.parametrize("hurst", [0.6, 0.75, 0.9])
@pytest.mark.parametrize("bins", [2000, 10_000])
def test_the_hurst_parameter_of_packets_is_covered(bins: int, hurst: float, poisson: bool) -> None:
    covered, values = 0, []
    for seed in range(100):
        time_ns, sizes = packets(bins, hurst, 1000 + seed, poisson=poisson)
        rate, noise = rate_and_noise(time_ns, sizes, bin_s=BIN_S, start_ns=int(time_ns[0]))
        found = estimate_hurst(rate[:-1], noise_variance=noise)
        assert found is not None
        covered += found.low <= hurst <= found.high
        values.append(found.value)
    assert covered >= 86  # of 100 at 92% or more: three standard errors of 2.2 below
    assert abs(float(np.mean(values)) - hurst) < 0.02
    assert float(np.mean(np.abs(np.array(values) - hurst) < 0.1)) >= 0.95


def verdicts(series: list[FloatArray]) -> dict[str, int]:
    found = [judge_long_range(one).verdict for one in series]
    return {name: found.count(name) for name in found}


def test_level_shifts_and_trends_are_not_taken_for_long_memory() -> None:
    streams = [np.random.default_rng(seed) for seed in range(25)]
    time = np.arange(3000)
    shifted = [
        np.where(time < rng.uniform(0.2, 0.8) * 3000, 100, 150) + rng.integers(-1, 2, 3000)
        for rng in streams
    ]
    noisy = [
        np.where(time < rng.uniform(0.2, 0.8) * 3000, 100, 120) + 10 * rng.normal(size=3000)
        for rng in streams
    ]
    for series in (shifted, noisy):
        assert (
            verdicts([np.asarray(one, dtype=np.float64) for one in series]).get("long_memory", 0)
            == 0
        )


def test_strict_periods_are_not_taken_for_long_memory() -> None:
    time = np.arange(3000)
    rngs = [np.random.default_rng(seed) for seed in range(25)]
    on_off = [100.0 * ((time // 10) % 2) + rng.normal(size=3000) for rng in rngs]
    groups = [np.where(time % 20 == 0, 100.0, 20.0) + rng.normal(size=3000) for rng in rngs]
    assert verdicts(on_off) == {"periodic": 25}
    assert "long_memory" not in verdicts(groups)


def test_long_memory_is_found_and_short_memory_is_not() -> None:
    rngs = [np.random.default_rng(seed) for seed in range(25)]
    # five per cent of Qu's tests reject, and as many pairs of intervals miss each other
    assert verdicts([fractional_noise(0.8, 5000, rng) for rng in rngs])["long_memory"] >= 20
    assert (
        verdicts([rng.poisson(20, 3000).astype(np.float64) for rng in rngs]).get("long_memory", 0)
        <= 2
    )


def test_a_rate_of_fractional_noise_is_proposed_and_played_back() -> None:
    def generator_of(quantity: str) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(quantity.encode()))

    time_ns, sizes = packets(4000, 0.8, 7, poisson=True)
    phase = PhasePackets(
        time_ns=time_ns, ip_bytes=sizes, span_ns=(int(time_ns[0]), int(time_ns[-1])), tick_s=1e-9
    )
    found = propose_fgn(phase, LawFitter(generator_of, 1e-9))
    assert found is not None
    process = found.process
    assert isinstance(process, FractionalNoiseProcess)
    assert process.placement == "poisson"
    played = playable(process).play(Span(0, 400), generator_of)
    before, _ = rate_and_noise(time_ns, sizes, bin_s=BIN_S, start_ns=int(time_ns[0]))
    after, _ = rate_and_noise(
        ns_array_from_s(played.time_s), played.ip_bytes.astype(np.int64), bin_s=BIN_S, start_ns=0
    )
    # the mean of 4000 bins with H = 0.8 has a standard error of 0.25 * 4000**-0.2 = 5% of itself
    assert abs(after.mean() / before.mean() - 1) < 0.15
    assert stats.ks_2samp(before - before.mean(), after - after.mean()).statistic < 0.1


def test_poisson_packets_are_no_fractional_noise() -> None:
    rng = np.random.default_rng(0)
    time_ns = ns_array_from_s(np.sort(rng.uniform(0, 400, 20_000)))
    phase = PhasePackets(
        time_ns=time_ns, ip_bytes=np.full(20_000, 1000), span_ns=(0, int(time_ns[-1])), tick_s=1e-9
    )
    assert propose_fgn(phase, LawFitter(lambda quantity: np.random.default_rng(0), 1e-9)) is None
