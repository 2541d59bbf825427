"""Sources with known rate states, for the tests of calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from trafficgen.units import FloatArray, IntArray, bytes_from_bps, ns_array_from_s

#: A ladder of four levels that is climbed rung by rung, mostly.
KBPS = (80.0, 150.0, 260.0, 450.0)
MEAN_DWELL_S = (12.0, 18.0, 25.0, 40.0)
TRANSITION = np.array([[0, 0.8, 0.15, 0.05], [0.4, 0, 0.5, 0.1], [0.1, 0.4, 0, 0.5], [0.05, 0.25, 0.7, 0]])

Gaps = Callable[[np.random.Generator, float, int], FloatArray]
Dwell = Callable[[np.random.Generator, float], float]


@dataclass(frozen=True)
class Switching:
    """Packets of a source that switches between levels, and its true path."""

    time_ns: IntArray
    ip_bytes: IntArray
    level: IntArray
    dwell_s: FloatArray


SwitchingMaker = Callable[..., Switching]


def jittered(rng: np.random.Generator, mean_s: float, count: int) -> FloatArray:
    return mean_s * rng.uniform(0.8, 1.2, count)


def gamma_dwell(rng: np.random.Generator, mean_s: float) -> float:
    return float(rng.gamma(3, mean_s / 3))


@pytest.fixture(scope="session")
def switching() -> SwitchingMaker:
    """Return a function that makes a source which switches between levels."""

    def make(
        seed: int,
        *,
        switches: int = 60,
        gaps: Gaps = jittered,
        dwell: Dwell = gamma_dwell,
        kbps: tuple[float, ...] = KBPS,
        mean_dwell_s: tuple[float, ...] = MEAN_DWELL_S,
        transition: FloatArray = TRANSITION,
        packet_bytes: int = 1000,
    ) -> Switching:
        rng = np.random.default_rng(seed)
        level, times, dwells, now_s = 1, [], [], 0.0
        levels = []
        for _ in range(switches + 1):
            length_s = dwell(rng, mean_dwell_s[level])
            mean_gap_s = packet_bytes / bytes_from_bps(1000 * kbps[level], 1.0)
            gap_s = gaps(rng, mean_gap_s, int(1.5 * length_s / mean_gap_s + 50))
            time_s = now_s + np.cumsum(gap_s) - gap_s[0] * rng.random()
            times.append(time_s[time_s < now_s + length_s])
            levels.append(level)
            dwells.append(length_s)
            now_s += length_s
            level = int(rng.choice(len(kbps), p=transition[level]))
        time_ns = np.unique(ns_array_from_s(np.round(np.concatenate(times), 6)))
        return Switching(time_ns, np.full(time_ns.size, packet_bytes), np.array(levels), np.array(dwells))

    return make


MmppMaker = Callable[..., IntArray]


@pytest.fixture(scope="session")
def mmpp_times() -> MmppMaker:
    """Return a function that draws packet times of a two-state Markov-modulated Poisson process, ns."""

    def make(
        seed: int,
        *,
        rates: tuple[float, float],
        sojourns_s: tuple[float, float],
        packets: int,
        dwell: Dwell = lambda rng, mean_s: float(rng.exponential(mean_s)),
    ) -> IntArray:
        rng = np.random.default_rng(seed)
        now_s, state, total, times = 0.0, 0, 0, []
        while total < packets:
            length_s = dwell(rng, sojourns_s[state])
            times.append(now_s + np.sort(rng.random(rng.poisson(rates[state] * length_s))) * length_s)
            now_s, state, total = now_s + length_s, 1 - state, total + times[-1].size
        return ns_array_from_s(np.round(np.concatenate(times)[:packets], 6))

    return make
