"""Levels and Markov-modulated Poisson processes over many sessions: what is found, what is not, and
what covers.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from tests.verification.records import RecordCheck

from trafficgen.models import MmppProcess
from trafficgen.processes.fitting import LawFitter, PhasePackets
from trafficgen.processes.mmpp.fit import propose_mmpp
from trafficgen.processes.semi_markov.dwells import mean_dwell
from trafficgen.processes.semi_markov.rate_levels import find_levels
from trafficgen.units import FloatArray, IntArray, ns_array_from_s

KBPS = np.array([80.0, 150.0, 260.0, 450.0])
MEAN_DWELL_S = np.array([12.0, 18.0, 25.0, 40.0])
TRANSITION = np.array(
    [[0, 0.8, 0.15, 0.05], [0.4, 0, 0.5, 0.1], [0.1, 0.4, 0, 0.5], [0.05, 0.25, 0.7, 0]]
)


def switching(seed: int, *, switches: int) -> tuple[IntArray, int]:
    """Return the packets of a source with four levels and gamma dwells, and how often it
    switches.
    """
    rng = np.random.default_rng(seed)
    level, now_s, times = 1, 0.0, []
    for _ in range(switches + 1):
        length_s = rng.gamma(3, MEAN_DWELL_S[level] / 3)
        gap_s = 8000 / (1000 * KBPS[level])
        time_s = now_s + np.cumsum(gap_s * rng.uniform(0.7, 1.3, int(1.5 * length_s / gap_s + 50)))
        times.append(time_s[time_s < now_s + length_s])
        now_s += length_s
        level = int(rng.choice(4, p=TRANSITION[level]))
    return np.unique(ns_array_from_s(np.concatenate(times))), switches


@pytest.mark.slow
def test_four_levels_are_found_in_every_session_and_intervals_of_the_dwells_cover(
    record_check: RecordCheck,
) -> None:
    covered, of, missed = 0, 0, []
    for seed in range(20):
        time_ns, switches = switching(seed, switches=60)
        levels = find_levels(time_ns, np.full(time_ns.size, 1000), tick_s=1e-6)
        assert levels is not None
        np.testing.assert_allclose(levels.kbps, KBPS, rtol=0.05)
        missed.append(levels.switches - switches)
        for level, truth_s in enumerate(MEAN_DWELL_S.tolist()):
            dwell = mean_dwell(levels.dwells(level))
            if dwell is not None:
                covered, of = covered + (dwell.low_s <= truth_s <= dwell.high_s), of + 1
    record_check(
        f"mean times at four levels: {of} intervals of 20 sessions",
        expected=0.95,
        measured=covered / of,
        unit="share",
        accepted="at least 87%",
    )
    assert np.abs(missed).max() <= 2
    # 95% less three standard errors (2.4 points each); the shape of the dwells' law is estimated
    # from some ten of them.
    assert covered / of > 0.87


def noise_of_long_memory(n: int, hurst: float, rng: np.random.Generator) -> FloatArray:
    """Fractional Gaussian noise by circulant embedding (Davies and Harte 1987)."""
    lag = np.arange(n + 1, dtype=np.float64)
    power = 2 * hurst
    covariance = 0.5 * (np.abs(lag + 1) ** power - 2 * lag**power + np.abs(lag - 1) ** power)
    eigenvalues = np.fft.fft(np.concatenate((covariance, covariance[-2:0:-1]))).real.clip(0)
    normal = rng.normal(size=eigenvalues.size) + 1j * rng.normal(size=eigenvalues.size)
    return np.asarray(np.fft.fft(np.sqrt(eigenvalues / eigenvalues.size) * normal).real[:n])


@pytest.mark.slow
@pytest.mark.parametrize("hurst", [0.7, 0.9])
def test_long_memory_is_not_taken_for_levels(hurst: float) -> None:
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        counts = np.maximum(
            1, np.round(10 * (1 + 0.3 * noise_of_long_memory(3000, hurst, rng)))
        ).astype(np.int64)
        time_s = (
            np.repeat(np.arange(3000, dtype=np.float64) * 0.1, counts)
            + np.sort(rng.random(int(counts.sum()))) * 1e-3
        )
        time_ns = np.unique(ns_array_from_s(np.asarray(np.sort(time_s), dtype=np.float64)))
        found += find_levels(time_ns, np.full(time_ns.size, 1000), tick_s=1e-6) is not None
    assert found <= 1


@pytest.mark.slow
def test_intervals_of_an_mmpp_cover(record_check: RecordCheck) -> None:
    rates, sojourns_s = (200.0, 20.0), (0.5, 0.5)
    covered = np.zeros(4)
    fitted = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        now_s, state, times = 0.0, 0, []
        while now_s < 60:
            length_s = rng.exponential(sojourns_s[state])
            times.append(
                now_s + np.sort(rng.random(rng.poisson(rates[state] * length_s))) * length_s
            )
            now_s, state = now_s + length_s, 1 - state
        time_ns = np.unique(
            ns_array_from_s(np.asarray(np.round(np.concatenate(times), 6), dtype=np.float64))
        )
        packets = PhasePackets(
            time_ns, np.full(time_ns.size, 700), (int(time_ns[0]), int(time_ns[-1])), 1e-6
        )
        fit = LawFitter(lambda quantity: np.random.default_rng(zlib.crc32(quantity.encode())), 1e-6)
        found = propose_mmpp(packets, fit)
        if found is None:
            continue
        assert isinstance(found.process, MmppProcess)
        fitted += 1
        estimates = [state.rate_per_s for state in found.process.states]
        estimates += [state.mean_sojourn_s for state in found.process.states]
        for row, (estimate, truth) in enumerate(zip(estimates, (*rates, *sojourns_s), strict=True)):
            assert estimate.low is not None
            assert estimate.high is not None
            covered[row] += estimate.low <= truth <= estimate.high
    record_check(
        f"rates and sojourns of an MMPP, the least covered of four: {fitted} sessions",
        expected=0.95,
        measured=float(covered.min() / fitted),
        unit="share",
        accepted="at least 86.5%",
    )
    # The residuals of a true process are refused once in a hundred times for each of three reasons.
    assert fitted >= 54
    # 95% less three standard errors of 60 replicates.
    assert covered.min() / fitted >= 0.865
