"""How much a run would give, told before anything is drawn: too much is refused rather than left to fill the memory."""

from __future__ import annotations

import math
import os

from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError
from trafficgen.generation.laws import BurstLaws, RenewalLaws
from trafficgen.generation.timeline import PlayedPhase, Timeline
from trafficgen.models import LONGEST_S

#: Peak of a run with 6 million UDP packets was 90 bytes a packet; a row of the flow table is taken generously.
_BYTES_PER_PACKET = 100
_BYTES_PER_FLOW = 4000
_LARGEST_IP_BYTES = 65_535
_REMEDY = "ask for fewer sessions or a shorter duration, or correct the laws of the model"


def check_extent(timeline: Timeline, *, sessions: int) -> None:
    """Refuse a run that cannot be.

    Args:
        timeline: Times and laws of one session.
        sessions: Number of sessions.

    Raises:
        GenerationError: If a session is longer than times can hold, packets are larger than IP has them, or all packets
            together do not fit in this machine's memory.
    """
    end_s = timeline.first_media_s + max(played.phases[-1].end_s for played in timeline.streams)
    if not end_s <= LONGEST_S:
        raise GenerationError(f"a session of {end_s:g} s is longer than {LONGEST_S:g} s; ask for a shorter duration")
    packets = 0.0
    for played in timeline.streams:
        for phase in played.phases:
            place = f"phase {phase.name!r} of stream {played.stream.name!r}"
            for name, law in _size_laws(phase).items():
                _check_sizes(law, place=f"{name} in {place}")
            packets += _expected_packets(phase, place=place)
    needed_bytes = sessions * (packets * _BYTES_PER_PACKET + len(timeline.streams) * _BYTES_PER_FLOW)
    if needed_bytes > (memory := _memory_bytes()):
        raise GenerationError(
            f"about {sessions * packets:.2g} packets in {sessions} sessions need {needed_bytes / 1e9:.3g} GB of memory,"
            f" this machine has {memory / 1e9:.3g} GB; {_REMEDY}"
        )


def _expected_packets(phase: PlayedPhase, *, place: str) -> float:
    """Return about how many packets a phase has."""
    laws, span_s = phase.laws, phase.end_s - phase.start_s
    name = "gap_s" if isinstance(laws, RenewalLaws) else "spacing_s"
    mean_s = getattr(laws, name).mean
    if not mean_s > 0:
        raise GenerationError(f"{name} in {place} is {mean_s:g} s on average; correct {name} to be above 0")
    each = 1.0 if isinstance(laws, RenewalLaws) else _mean_packets(laws, place)
    return float((span_s / mean_s + 1) * each)


def _mean_packets(laws: BurstLaws, place: str) -> float:
    mean = laws.burst_packets.mean
    if not math.isfinite(mean):
        raise GenerationError(f"burst_packets in {place} has no finite mean; give the law a maximum")
    return max(1.0, mean)


def _size_laws(phase: PlayedPhase) -> dict[str, MixedLaw]:
    laws = phase.laws
    if isinstance(laws, RenewalLaws):
        return {"packet_bytes": laws.packet_bytes}
    return {"packet_bytes": laws.packet_bytes, "last_packet_bytes": laws.last_packet_bytes}


def _check_sizes(law: MixedLaw, *, place: str) -> None:
    """Refuse sizes that no IP packet has; those of a family that runs over the edge are cut to it when drawn."""
    low, _ = law.support
    outside = [value for value in law.values if not 0 <= value <= _LARGEST_IP_BYTES]
    if outside or low > _LARGEST_IP_BYTES:
        value = outside[0] if outside else low
        raise GenerationError(
            f"{place} has the size {value:g} bytes, IP packets have at most {_LARGEST_IP_BYTES}; correct the model"
        )


def _memory_bytes() -> int:
    """Return the memory of this machine, bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
