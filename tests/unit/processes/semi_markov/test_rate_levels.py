from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trafficgen.processes.semi_markov.rate_levels import Levels, find_levels
from trafficgen.units import FloatArray, IntArray, ns_array_from_s

SwitchingMaker = Callable[..., Any]

#: What the fixture's ladder has.
KBPS = (80.0, 150.0, 260.0, 450.0)


TICK_S = 1e-6


def levels_of(path: list[int], dwell_s: list[float]) -> Levels:
    edge_ns = ns_array_from_s(np.concatenate(([0.0], np.cumsum(dwell_s))))
    rates: FloatArray = np.arange(1.0, max(path) + 2) * 1000
    return Levels(rates, edge_ns, np.array(path), evidence_bic=100.0)


def test_four_levels_are_found_with_their_rates_switches_and_dwells(
    switching: SwitchingMaker,
) -> None:
    source = switching(1)
    levels = find_levels(source.time_ns, source.ip_bytes, tick_s=TICK_S)
    assert levels is not None
    np.testing.assert_allclose(levels.kbps, KBPS, rtol=0.02)
    assert levels.switches == source.dwell_s.size - 1
    np.testing.assert_array_equal(levels.level, source.level)
    # A switch is placed to a unit, here of a third of a second.
    np.testing.assert_allclose(np.diff(levels.edge_ns)[:-1] / 1e9, source.dwell_s[:-1], atol=1.0)


def test_levels_are_found_in_packets_at_random(switching: SwitchingMaker) -> None:
    # At the lowest level there are 10 packets a second: a dwell of two seconds can't be told from
    # chance.
    source = switching(3, gaps=exponential)
    levels = find_levels(source.time_ns, source.ip_bytes, tick_s=TICK_S)
    assert levels is not None
    assert len(levels) == 4
    np.testing.assert_allclose(levels.kbps, KBPS, rtol=0.05)
    assert abs(levels.switches - 60) <= 4


def test_three_levels_of_a_short_session_are_found(switching: SwitchingMaker) -> None:
    chain = np.array([[0, 1.0, 0], [0.5, 0, 0.5], [0, 1.0, 0]])
    source = switching(
        2, switches=6, kbps=(100.0, 200.0, 400.0), mean_dwell_s=(10.0, 12.0, 15.0), transition=chain
    )
    levels = find_levels(source.time_ns, source.ip_bytes, tick_s=TICK_S)
    assert levels is not None
    assert levels.switches == 6
    np.testing.assert_allclose(
        levels.kbps, np.array([100.0, 200.0, 400.0])[np.unique(source.level)], rtol=0.02
    )


def test_bursts_do_not_hide_levels(switching: SwitchingMaker) -> None:
    # Each packet becomes a frame of three, 0.2 ms apart.
    source = switching(4, packet_bytes=3000)
    time_ns = (source.time_ns[:, None] + np.array([0, 200_000, 400_000])).ravel()
    levels = find_levels(time_ns, np.full(time_ns.size, 1000), tick_s=TICK_S)
    assert levels is not None
    np.testing.assert_allclose(levels.kbps, KBPS, rtol=0.02)
    assert abs(levels.switches - 60) <= 1


def exponential(rng: np.random.Generator, mean_s: float, count: int) -> FloatArray:
    return rng.exponential(mean_s, count)


def heavy(rng: np.random.Generator) -> FloatArray:
    return np.asarray(0.005 * (1 + rng.pareto(1.8, 30_000)))


def memory(rng: np.random.Generator) -> FloatArray:
    """Gaps under a rate that moves slowly about its mean and has no levels."""
    noise = rng.normal(0, 0.12, 600)
    log_rate = np.zeros(600)
    for step in range(1, 600):
        log_rate[step] = 0.95 * log_rate[step - 1] + noise[step]
    counts = np.maximum(1, np.round(50 * np.exp(log_rate))).astype(np.int64)
    return np.repeat(0.5 / counts, counts)


def chunks(rng: np.random.Generator) -> FloatArray:
    """ON/OFF: a chunk of 200 to 400 packets about every five seconds."""
    gaps = np.full(60 * 300, 0.0004)
    gaps[::300] = rng.gamma(10, 0.5, 60)
    return gaps


@pytest.mark.parametrize(
    "gaps",
    [
        lambda rng: rng.exponential(0.01, 30_000),
        lambda rng: 0.01 * rng.uniform(0.9, 1.1, 30_000),
        lambda rng: rng.lognormal(-5, 1.2, 30_000),
        heavy,
        memory,
        chunks,
    ],
    ids=["exponential", "regular", "lognormal", "pareto", "slow", "chunks"],
)
def test_a_rate_without_levels_has_none(gaps: Callable[[np.random.Generator], FloatArray]) -> None:
    for seed in range(3):
        time_ns = np.unique(ns_array_from_s(np.cumsum(gaps(np.random.default_rng(seed)))))
        assert find_levels(time_ns, np.full(time_ns.size, 1000), tick_s=TICK_S) is None


def test_a_pair_of_packets_has_no_levels() -> None:
    for count in (0, 1, 2, 5):
        time_ns: IntArray = np.arange(count, dtype=np.int64) * 10**8
        assert find_levels(time_ns, np.full(count, 500), tick_s=TICK_S) is None


def test_rows_of_the_jump_chain_are_shares_and_a_level_never_left_has_none() -> None:
    levels = levels_of([0, 1, 0, 1, 0, 2], [1.0] * 6)
    rows = levels.transition_rows()
    assert rows[0] is not None
    assert rows[1] is not None
    np.testing.assert_allclose(rows[0], [0, 2 / 3, 1 / 3])
    np.testing.assert_allclose(rows[1], [1, 0, 0])
    assert rows[2] is None
    intervals = levels.transition_intervals()
    assert intervals[2] is None
    assert intervals[0] is not None
    assert intervals[0][1, 0] < 2 / 3 < intervals[0][1, 1]
    assert levels.switches == 5


def test_the_last_dwell_is_censored_and_the_first_is_whole() -> None:
    levels = levels_of([0, 1, 0], [4.0, 2.0, 9.0])
    np.testing.assert_allclose(levels.dwells(0).whole_s, [4.0])
    np.testing.assert_allclose(levels.dwells(0).unfinished_s, [9.0])
    assert levels.dwells(1).unfinished_s.size == 0
