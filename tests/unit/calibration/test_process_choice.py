from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trafficgen.calibration.process_choice import fit_process
from trafficgen.models import BurstProcess
from trafficgen.processes.bursts.fit import propose_bursts
from trafficgen.processes.fitting import FittedProcess, LawFitter, PhasePackets
from trafficgen.randomness import random_stream
from trafficgen.units import IntArray, ns_array_from_s


def packets_of(time_s: list[float], sizes: list[int], *, threshold_s: float | None) -> PhasePackets:
    time_ns: IntArray = ns_array_from_s(np.array(time_s))
    return PhasePackets(
        time_ns=time_ns,
        ip_bytes=np.array(sizes),
        span_ns=(int(time_ns[0]), int(time_ns[-1])),
        tick_s=1e-6,
        threshold_s=threshold_s,
    )


def fitted(time_s: list[float], sizes: list[int], *, threshold_s: float | None) -> FittedProcess:
    packets = packets_of(time_s, sizes, threshold_s=threshold_s)
    return fit_process(packets, generator_of=lambda quantity: np.random.default_rng(0))


def test_bursts_keep_the_size_of_their_last_packet_apart() -> None:
    time_s = [burst * 0.5 + packet * 0.001 for burst in range(20) for packet in range(3)]
    process = fitted(time_s, [1500, 1500, 300] * 20, threshold_s=0.1).process
    assert isinstance(process, BurstProcess)
    assert [atom.value for atom in process.packet_bytes.atoms] == [1500]
    assert [atom.value for atom in process.last_packet_bytes.atoms] == [300]
    assert [atom.value for atom in process.burst_packets.atoms] == [3]
    assert [atom.value for atom in process.spacing_s.atoms] == [0.5]
    assert process.gap_within_s is not None
    assert [atom.value for atom in process.gap_within_s.atoms] == [0.001]


def test_single_packets_are_a_renewal_process_even_with_a_threshold() -> None:
    time_s = [0.5 * number for number in range(40)]
    assert fitted(time_s, [500] * 40, threshold_s=0.1).process.kind == "renewal"


def test_few_bursts_are_a_renewal_process() -> None:
    time_s = [burst * 0.5 + packet * 0.001 for burst in range(4) for packet in range(3)]
    assert fitted(time_s, [500] * 12, threshold_s=0.1).process.kind == "renewal"


def test_two_packets_are_enough() -> None:
    assert fitted([0.0, 0.25], [500, 600], threshold_s=None).process.kind == "renewal"


def test_a_rate_that_hardly_varies_is_not_judged_by_its_autocorrelation() -> None:
    # A voice call: 50 packets/s with jitter, so that a bin has 24 to 26 packets now and then.
    rng = np.random.default_rng(3)
    time_s = 0.02 * np.arange(5000) + 0.001 * rng.standard_normal(5000).cumsum() * 0.05
    found = fitted(np.sort(time_s).tolist(), [200] * 5000, threshold_s=None)
    assert found.choice is not None
    chosen = found.choice.tried[found.choice.chosen]
    assert chosen.passed
    assert "rate.0.5" in chosen.distances
    assert "rate_acf" not in chosen.distances


@pytest.mark.parametrize("seed", [2, 4, 5])
def test_a_voice_call_on_a_clock_of_20_ms_has_frames(seed: int) -> None:
    # Packets are late on their own, one in a hundred by up to 7 ms, one by 19; the clock wanders.
    count, rng = 5500, np.random.default_rng(seed)
    late_s = 4e-4 * rng.standard_normal(count)
    late_s += 7e-3 * rng.random(count) * (rng.random(count) < 0.01)
    late_s[3100] += 0.019
    nodes = np.arange(0, count + 500, 500)
    late_s += 1e-3 * np.interp(np.arange(count), nodes, rng.standard_normal(nodes.size))
    time_s = np.maximum.accumulate(1.0 + 0.02 * np.arange(count) + late_s)
    packets = replace(
        packets_of(time_s.round(6).tolist(), [200] * count, threshold_s=None),
        rtp_timestamp=160 * np.arange(count),
        clock_hz=8000,
    )
    found = fit_process(
        packets, generator_of=lambda quantity: random_stream(seed, session=0, purpose=quantity)
    )
    assert found.process.kind == "frames"


def test_a_long_last_burst_does_not_raise_the_rate_of_the_process() -> None:
    # 11 bursts of 10 packets every 0.5 s, then one of 1,200 packets that lasts 12 s: 1,310 packets
    # in 17.5 s.
    short = [burst * 0.5 + packet * 0.001 for burst in range(11) for packet in range(10)]
    long = [5.5 + packet * 0.01 for packet in range(1200)]
    packets = packets_of([*short, *long], [1000] * 1310, threshold_s=0.05)
    fit = LawFitter(lambda quantity: np.random.default_rng(0), packets.tick_s)
    found = propose_bursts(packets, fit, threshold_s=0.05)
    assert found is not None
    process = found.process
    assert isinstance(process, BurstProcess)
    rate = process.burst_packets.distribution().mean / process.spacing_s.distribution().mean
    # Without the spacing of the last burst it would be 1310 / 12 / 0.5 = 218 packets/s.
    assert abs(rate - 1310 / 17.5) < 0.02 * 1310 / 17.5
