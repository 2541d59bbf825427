from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trafficgen.calibration.process_choice import fit_process
from trafficgen.models import SemiMarkovProcess
from trafficgen.processes.base import Span, playable
from trafficgen.processes.fitting import PhasePackets
from trafficgen.units import IntArray

SwitchingMaker = Callable[..., Any]
MmppMaker = Callable[..., Any]

#: What the fixture's ladder has.
KBPS = (80.0, 150.0, 260.0, 450.0)


def stream_of(quantity: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(quantity.encode()))


def packets_of(time_ns: IntArray, ip_bytes: IntArray) -> PhasePackets:
    return PhasePackets(
        time_ns=time_ns, ip_bytes=ip_bytes, span_ns=(int(time_ns[0]), int(time_ns[-1])), tick_s=1e-6
    )


@pytest.mark.long
def test_a_source_that_switches_is_played_as_one(switching: SwitchingMaker) -> None:
    source = switching(1)
    packets = packets_of(source.time_ns, source.ip_bytes)
    process = fit_process(packets, generator_of=stream_of).process
    assert isinstance(process, SemiMarkovProcess)
    np.testing.assert_allclose([state.rate_bps / 1000 for state in process.states], KBPS, rtol=0.02)
    assert process.first_state == source.level[0]
    for level, state in enumerate(process.states):
        assert state.dwell_s is not None
        dwell_s = source.dwell_s[:-1][source.level[:-1] == level]
        assert state.dwell_s.distribution().mean == pytest.approx(dwell_s.mean(), rel=0.12)
        rate = (
            8000 / state.process.gap_s.distribution().mean
            if state.process.kind == "renewal"
            else 0.0
        )
        assert rate == pytest.approx(state.rate_bps, rel=0.02)
    played = playable(process).play(
        Span(0.0, packets.span_s), lambda quantity: stream_of(f"7{quantity}")
    )
    assert played.time_s.size == pytest.approx(source.time_ns.size, rel=0.03)


def test_exponential_gaps_and_dwells_are_an_mmpp(mmpp_times: MmppMaker) -> None:
    time_ns = mmpp_times(1, rates=(400.0, 50.0), sojourns_s=(2.0, 5.0), packets=20_000)
    assert (
        fit_process(
            packets_of(time_ns, np.full(time_ns.size, 900)), generator_of=stream_of
        ).process.kind
        == "mmpp"
    )


def test_one_switch_is_no_process_of_switches(switching: SwitchingMaker) -> None:
    source = switching(5, switches=1)
    process = fit_process(
        packets_of(source.time_ns, source.ip_bytes), generator_of=stream_of
    ).process
    assert process.kind != "semi_markov"
