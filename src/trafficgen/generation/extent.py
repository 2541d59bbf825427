"""Extent of a run, estimated before anything is drawn: packets that do not fit are refused."""

from __future__ import annotations

import os
from collections.abc import Callable

from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError
from trafficgen.generation.timeline import PlayedPhase, PlayedStream, Timeline
from trafficgen.models import LONGEST_S, Transport
from trafficgen.processes import LARGEST_IP_BYTES

#: The peak of a run with 6 million UDP packets was 90 bytes a packet.
_BYTES_PER_PACKET = 100
_BYTES_PER_FLOW = 4000
#: Sessions differ: so many of them are sampled for the mean length.
_SAMPLED = 1000
_REMEDY = "ask for fewer sessions or a shorter duration, or correct the laws of the model"


def check_extent(timeline: Timeline) -> None:
    """Refuse a session that cannot be played.

    Raises:
        GenerationError: If it is longer than times can hold, packets are larger than IP allows, or
            its packets alone do not fit in this machine's memory.
    """
    end_s = timeline.first_media_s + max(played.phases[-1].end_s for played in timeline.streams)
    if not end_s <= LONGEST_S:
        raise GenerationError(
            f"a session of {end_s:g} s is longer than {LONGEST_S:g} s; ask for a shorter duration"
        )
    for played in timeline.streams:
        for phase in played.phases:
            for name, law in phase.process.size_laws().items():
                _check_sizes(law, place=f"{name} in {_place(phase, played)}")
    check_memory(expected_packets(timeline), flows=len(timeline.streams), sessions=1)


def expected_packets(timeline: Timeline) -> float:
    """Return about how many packets a session has, TCP acknowledgements included."""
    return sum(
        packets_per_media_packet(played.stream.transport)
        * phase.process.expected_packets(phase.end_s - phase.start_s, place=_place(phase, played))
        for played in timeline.streams
        for phase in played.phases
    )


def packets_per_media_packet(transport: Transport) -> float:
    """Return the packets of a flow per media packet: every second TCP segment is acknowledged."""
    return 1.5 if transport.protocol == "tcp" else 1.0


def sum_expected(sessions: range, expected: Callable[[int], float]) -> float:
    """Return about how many packets sessions have, from an even sample of many.

    Args:
        sessions: Numbers of the sessions.
        expected: Packets of one session.
    """
    sampled = range(sessions.start, sessions.stop, max(1, len(sessions) // _SAMPLED))
    return sum(map(expected, sampled)) * len(sessions) / max(1, len(sampled))


def _place(phase: PlayedPhase, played: PlayedStream) -> str:
    return f"phase {phase.name!r} of stream {played.stream.name!r}"


def check_memory(packets: float, *, flows: int, sessions: int) -> None:
    """Raise GenerationError if packets and flows do not fit in this machine's memory."""
    needed_bytes = packets * _BYTES_PER_PACKET + flows * _BYTES_PER_FLOW
    if needed_bytes > (memory := machine_memory_bytes()):
        raise GenerationError(
            f"about {packets:.2g} packets in {sessions} sessions need {needed_bytes / 1e9:.3g} GB"
            f" of memory, this machine has {memory / 1e9:.3g} GB; {_REMEDY}"
        )


def _check_sizes(law: MixedLaw, *, place: str) -> None:
    """Refuse sizes that no IP packet has; draws of a family beyond the limit are cut to it."""
    low, _ = law.support
    outside = [value for value in law.values if not 0 <= value <= LARGEST_IP_BYTES]
    if outside or low > LARGEST_IP_BYTES:
        value = outside[0] if outside else low
        raise GenerationError(
            f"{place} has the size {value:g} bytes, IP packets have at most {LARGEST_IP_BYTES};"
            " correct the model"
        )


def machine_memory_bytes() -> int:
    """Return the memory of this machine, bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
