"""What is fitted under a slowly varying rate keeps the order of packets."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.models import ModulatedProcess, RateClass
from trafficgen.processes.base import Span, playable
from trafficgen.processes.fitting import LawFitter, PhasePackets
from trafficgen.processes.modulated.fit import propose_modulated
from trafficgen.units import FloatArray, ns_array_from_s, s_from_ns

SPAN_S = 120.0
THRESHOLD_S = 0.02


def generator_of(quantity: str) -> np.random.Generator:
    return np.random.default_rng(sum(quantity.encode()))


def fitted() -> tuple[PhasePackets, ModulatedProcess]:
    """Fit frames of three to seven packets, the last one small, that come faster and slower."""
    generator = np.random.default_rng(3)
    spacing_s = 0.04 * (1 + 0.4 * np.sin(np.arange(2600) / 40))
    start_s = np.cumsum(spacing_s)
    counts = generator.integers(3, 8, start_s.size)
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    time_s = np.repeat(start_s, counts) + place * 5e-4
    last = place == np.repeat(counts, counts) - 1
    sizes = np.where(last, generator.integers(100, 900, last.size), 1200)
    inside = time_s < SPAN_S
    packets = PhasePackets(
        time_ns=ns_array_from_s(time_s[inside]),
        ip_bytes=sizes[inside],
        span_ns=(0, round(SPAN_S * 1e9)),
        tick_s=1e-9,
        threshold_s=THRESHOLD_S,
    )
    found = propose_modulated(packets, LawFitter(generator_of, packets.tick_s))
    assert found is not None
    assert isinstance(found.process, ModulatedProcess)
    return packets, found.process


def size_to_gap(time_s: FloatArray, sizes: FloatArray) -> float:
    return float(np.corrcoef(sizes[:-1], np.log(np.maximum(np.diff(time_s), 1e-6)))[0, 1])


def test_pauses_come_after_the_small_packets_that_end_frames() -> None:
    packets, process = fitted()
    assert all(part.pauses_in_trains for part in process.classes)
    played = playable(process).play(Span(0.0, SPAN_S), generator_of)
    measured = size_to_gap(s_from_ns(packets.time_ns), packets.ip_bytes.astype(np.float64))
    assert measured < -0.9
    found = size_to_gap(played.time_s, played.ip_bytes.astype(np.float64))
    # Gaps are changed a little where they have to fill the bins.
    assert found == pytest.approx(measured, abs=0.2)
    pauses = np.count_nonzero(np.diff(played.time_s) > THRESHOLD_S)
    wanted = np.count_nonzero(packets.gap_s > THRESHOLD_S)
    assert pauses == pytest.approx(wanted, rel=0.05)


def test_models_of_before_have_pauses_anywhere() -> None:
    _, process = fitted()
    classes = tuple(part.model_copy(update={"pauses_in_trains": False}) for part in process.classes)
    before = process.model_copy(update={"classes": classes})
    played = playable(before).play(Span(0.0, SPAN_S), generator_of)
    assert abs(size_to_gap(played.time_s, played.ip_bytes.astype(np.float64))) < 0.1


def test_trains_can_only_have_pauses_that_there_are() -> None:
    _, process = fitted()
    content = process.classes[0].model_dump() | {"idle_s": None, "burst_packets": None}
    with pytest.raises(ValueError, match="pauses_in_trains needs idle_s and trains"):
        RateClass.model_validate(content)
