from __future__ import annotations

import numpy as np
import pytest
from tests.verification.records import RecordCheck

from trafficgen.processes.fractional_noise.hurst import autocorrelation, estimate_hurst
from trafficgen.units import FloatArray


def fractional_gaussian_noise(n: int, hurst: float, seed: int) -> FloatArray:
    """Exact fractional Gaussian noise by circulant embedding (Davies and Harte 1987)."""
    lag = np.arange(n + 1, dtype=np.float64)
    power = 2 * hurst
    covariance = 0.5 * (np.abs(lag + 1) ** power - 2 * lag**power + np.abs(lag - 1) ** power)
    eigenvalues = np.fft.fft(np.concatenate((covariance, covariance[-2:0:-1]))).real.clip(0)
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=eigenvalues.size) + 1j * rng.normal(size=eigenvalues.size)
    return np.asarray(np.fft.fft(np.sqrt(eigenvalues / eigenvalues.size) * noise).real[:n])


@pytest.mark.parametrize("hurst", [0.5, 0.7, 0.9])
def test_hurst_of_fractional_gaussian_noise_is_recovered_and_covered(
    hurst: float, record_check: RecordCheck
) -> None:
    replicates = 100
    found = [
        estimate_hurst(fractional_gaussian_noise(2048, hurst, seed)) for seed in range(replicates)
    ]
    values = np.array([estimate.value for estimate in found if estimate is not None])
    covered = sum(
        estimate.low <= hurst <= estimate.high for estimate in found if estimate is not None
    )
    record_check(
        f"Hurst parameter {hurst}: {replicates} series of 2048 bins",
        expected=0.95,
        measured=covered / replicates,
        unit="share",
        accepted="at least 88%",
    )
    # one white series in a hundred looks like a strict rate to the wavelets, which then say nothing
    assert values.size >= replicates - 3
    # standard error of one estimate about 0.05; the wavelet start leaves a bias of at most 0.02
    assert np.median(values) == pytest.approx(
        hurst, abs=0.02 + 3 * 1.25 * 0.05 / np.sqrt(replicates)
    )
    assert covered >= 88  # 95% less three standard errors of 2.2


def test_short_and_constant_series_have_no_hurst_parameter() -> None:
    assert estimate_hurst(np.random.default_rng(0).normal(size=255)) is None
    assert estimate_hurst(np.ones(1000)) is None


def test_autocorrelation_of_an_autoregressive_series() -> None:
    rng = np.random.default_rng(0)
    series = np.zeros(20_000)
    noise = rng.normal(size=series.size)
    for i in range(1, series.size):
        series[i] = 0.6 * series[i - 1] + noise[i]
    # Bartlett: standard error below sqrt((1 + 2 * 0.36 / 0.64) / n) = 0.0103
    np.testing.assert_allclose(autocorrelation(series, lags=3), [0.6, 0.36, 0.216], atol=0.031)
    assert autocorrelation(np.full(100, 0.02), lags=10) == []
    assert autocorrelation(series[:5], lags=10) == []


def test_a_poisson_process_has_no_memory_beside_the_noise_of_its_placement() -> None:
    found = []
    for seed in range(40):
        counts = np.random.default_rng(seed).poisson(20, 3000).astype(np.float64)
        found.append(estimate_hurst(counts, noise_variance=20.0))
    values = np.array([one.value for one in found if one is not None])
    # one estimate of 3000 bins has a standard error of 0.03
    assert abs(float(np.median(values)) - 0.5) < 0.02
    assert (
        sum(one is not None and one.low <= 0.5 <= one.high for one in found) >= 34
    )  # of 38; three errors of 1.4
