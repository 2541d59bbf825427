from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trafficgen.models import MmppProcess
from trafficgen.processes.fitting import LawFitter, PhasePackets
from trafficgen.processes.mmpp.fit import propose_mmpp
from trafficgen.units import FloatArray, IntArray, ns_array_from_s

MmppMaker = Callable[..., Any]


def stream_of(quantity: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(quantity.encode()))


def packets_at(time_ns: IntArray) -> PhasePackets:
    return PhasePackets(
        time_ns=time_ns,
        ip_bytes=np.full(time_ns.size, 700),
        span_ns=(int(time_ns[0]), int(time_ns[-1])),
        tick_s=1e-6,
    )


def proposed(time_ns: IntArray) -> MmppProcess | None:
    found = propose_mmpp(packets_at(time_ns), LawFitter(stream_of, 1e-6))
    if found is None:
        return None
    assert isinstance(found.process, MmppProcess)
    return found.process


@pytest.mark.parametrize(
    ("rates", "sojourns_s"), [((200.0, 20.0), (0.5, 0.5)), ((400.0, 50.0), (0.05, 0.1))]
)
def test_a_switched_poisson_process_is_recognised_with_intervals(
    mmpp_times: MmppMaker, rates: tuple[float, float], sojourns_s: tuple[float, float]
) -> None:
    process = proposed(mmpp_times(3, rates=rates, sojourns_s=sojourns_s, packets=20_000))
    assert process is not None
    assert len(process.states) == 2
    for state, rate, sojourn_s in zip(process.states, rates, sojourns_s, strict=True):
        assert state.rate_per_s.value == pytest.approx(rate, rel=0.06)
        assert state.mean_sojourn_s.value == pytest.approx(sojourn_s, rel=0.2)
        assert state.mean_sojourn_s.low is not None
        assert state.mean_sojourn_s.high is not None
        assert state.mean_sojourn_s.low < state.mean_sojourn_s.value < state.mean_sojourn_s.high
    assert process.evidence_bic is not None
    assert process.evidence_bic > 100


def gaps_of(kind: str) -> FloatArray:
    rng = np.random.default_rng(4)
    if kind == "exponential":
        return rng.exponential(0.01, 8000)
    if kind == "hyperexponential":
        return rng.exponential(np.where(rng.random(8000) < 0.3, 0.05, 0.002))
    if kind == "bursts":
        gaps = np.full(8000, 0.001)
        gaps[::20] = 0.5
        return gaps
    regular = np.where(np.arange(8000) // 400 % 2 == 0, 0.005, 0.02)
    return np.asarray(regular * rng.uniform(0.9, 1.1, 8000))


@pytest.mark.parametrize(
    "kind", ["exponential", "hyperexponential", "bursts", "regular at two rates"]
)
def test_other_gaps_are_not(kind: str) -> None:
    assert proposed(ns_array_from_s(np.cumsum(gaps_of(kind)))) is None


def test_switching_with_regular_dwells_is_not(mmpp_times: MmppMaker) -> None:
    time_ns = mmpp_times(
        5,
        rates=(400.0, 50.0),
        sojourns_s=(4.0, 8.0),
        packets=40_000,
        dwell=lambda rng, mean_s: mean_s * float(rng.uniform(0.9, 1.1)),
    )
    assert proposed(time_ns) is None


def test_few_gaps_do_not_support_states(mmpp_times: MmppMaker) -> None:
    assert proposed(mmpp_times(1, rates=(200.0, 20.0), sojourns_s=(0.5, 0.5), packets=400)) is None
