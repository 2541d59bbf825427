from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trafficgen.calibration.phases.rebuffering import find_unusual_pauses
from trafficgen.calibration.phases.session_phases import Phases, find_phases
from trafficgen.flows import choose_session
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray

TableMaker = Callable[..., PacketTable]


def phases_of(table: PacketTable) -> Phases:
    return find_phases(choose_session(table), tick_s=1e-9, generator=np.random.default_rng(0))


def poisson(seed: int, *, start_s: float, end_s: float, per_s: float) -> FloatArray:
    rng = np.random.default_rng(seed)
    return start_s + np.sort(
        rng.uniform(0, end_s - start_s, rng.poisson(per_s * (end_s - start_s)))
    )


def stalled(seed: int, *, refill_per_s: float) -> FloatArray:
    """100 packets/s with a pause from 60 to 66 s, then 10 s of refill."""
    parts = [
        poisson(seed, start_s=0, end_s=60, per_s=100),
        poisson(seed + 1000, start_s=66, end_s=76, per_s=refill_per_s),
        poisson(seed + 2000, start_s=76, end_s=150, per_s=100),
    ]
    return np.concatenate(parts)


@pytest.mark.parametrize("seed", range(5))
def test_a_pause_with_a_refill_is_a_stall(make_table: TableMaker, seed: int) -> None:
    phases = phases_of(make_table(stalled(seed, refill_per_s=200)))
    assert len(phases.stalls) == 1
    stall = phases.stalls[0]
    # gaps around the pause are 0.01 s on average
    assert stall.start_s == pytest.approx(60, abs=0.1)
    assert stall.duration_s == pytest.approx(6, abs=0.2)
    assert stall.refill_end_s == pytest.approx(76, rel=0.1)
    assert stall.refill_kbps == pytest.approx(1600, rel=0.1)
    assert stall.refill_kbps is not None


@pytest.mark.parametrize("seed", range(5))
def test_a_pause_without_a_refill_is_no_stall(make_table: TableMaker, seed: int) -> None:
    assert phases_of(make_table(stalled(seed, refill_per_s=100))).stalls == ()


def test_two_stalls_do_not_hide_each_other(make_table: TableMaker) -> None:
    time_s = stalled(0, refill_per_s=200)
    later = 150 + stalled(7, refill_per_s=200)
    assert [
        round(stall.start_s)
        for stall in phases_of(make_table(np.concatenate((time_s, later)))).stalls
    ] == [60, 210]


def test_the_pauses_of_on_off_traffic_are_its_rhythm() -> None:
    rng = np.random.default_rng(0)
    gap_s = np.full(4000, 0.005)
    gap_s[::100] = rng.lognormal(np.log(5), 0.3, 40)
    assert find_unusual_pauses(gap_s, tick_s=1e-9) == []
    gap_s[2000] = 40.0
    # ln(40 / 5) = 2.08 is seven standard deviations
    assert find_unusual_pauses(gap_s, tick_s=1e-9) == [2000]


@pytest.mark.parametrize("seed", range(10))
def test_heavy_tailed_gaps_have_no_unusual_pause(seed: int) -> None:
    gap_s = 0.01 * (np.random.default_rng(seed).pareto(1.2, 6000) + 1)
    assert find_unusual_pauses(gap_s, tick_s=1e-9) == []


@pytest.mark.parametrize(("clock_runs_on", "stalls"), [(False, 1), (True, 0)])
def test_the_rtp_clock_tells_a_stalled_source_from_lost_packets(
    make_table: TableMaker, clock_runs_on: bool, stalls: int
) -> None:
    media_s = np.arange(2000) * 0.02
    time_s = media_s + np.where(media_s > 20, 5.0, 0.0)
    timestamp = np.rint((time_s if clock_runs_on else media_s) * 90_000).astype(np.int64)
    table = make_table(
        time_s,
        rtp_timestamp=timestamp,
        rtp_sequence=np.arange(2000),
        rtp_ssrc=7,
        flows=[{"flow": 0, "clock_hz": 90_000}],
    )
    found = phases_of(table).stalls
    assert len(found) == stalls
    if stalls:
        assert found[0].refill_kbps is None
        assert found[0].duration_s == pytest.approx(5.02)
