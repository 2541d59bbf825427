"""Timeline of a session: silence or handshake, then the phases of each stream; its packets."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError
from trafficgen.formatting import number, size_text
from trafficgen.models import LONGEST_S, FittedProvenance, Model, Stream
from trafficgen.process_memory import memory_limit_bytes
from trafficgen.processes.base import LARGEST_IP_BYTES, PlayableProcess, playable
from trafficgen.units import ns_from_s

#: Round-trip time of a model without one, s.
_DEFAULT_RTT_S = 0.02
_SHORTEST_RTT_S = 1e-4
#: From the client's SYN to the first data: SYN, SYN/ACK and request (RFC 9293).
_HANDSHAKE_RTTS = 1.5
#: The peak of a run with 6 million UDP packets was 90 bytes a packet.
_BYTES_PER_PACKET = 100
_BYTES_PER_FLOW = 4000
_REMEDY = "ask for fewer sessions or a shorter duration, or correct the laws of the model"


#: Packets of a window: many against what a burst or the memory of a process has, few enough for any
#: machine. Sessions of up to twice as many are played at once.
_WINDOW_PACKETS = 1 << 19
#: More windows are longer ones, which no memory holds: such a session is refused.
_MOST_WINDOWS = 100_000


@dataclass(frozen=True)
class Window:
    """Part of a session that is played at once; a long session has several, one after the other.

    Attributes:
        place: Its number.
        start_s: Start after the session's first media packet, s; of the first one -infinity.
        end_s: End likewise; of the last one infinity.
    """

    place: int = 0
    start_s: float = -math.inf
    end_s: float = math.inf

    def begins(self, start_s: float) -> bool:
        """Return whether what starts at a time does so in this window."""
        return self.start_s <= start_s < self.end_s

    def ends(self, end_s: float) -> bool:
        """Return whether what ends at a time does so in this window."""
        return self.start_s < end_s <= self.end_s


@dataclass(frozen=True)
class PlayedPhase:
    """A phase as it is played.

    Attributes:
        start_s: Start after the session's first media packet, s.
        process: What its packets are drawn from.
        ends_with_packet: Whether its last packet is at its end; else anywhere before.
    """

    name: str
    start_s: float
    end_s: float
    process: PlayableProcess
    ends_with_packet: bool = False


@dataclass(frozen=True)
class PlayedStream:
    """A stream with its phases as they are played, at least one.

    Attributes:
        phases: Its phases in order of time; the first begins with a packet.
    """

    stream: Stream
    phases: tuple[PlayedPhase, ...]

    def with_length(self, media_s: float, *, longer_s: float) -> PlayedStream:
        """Return the stream with its last playout ``longer_s`` longer, cut at ``media_s``, s."""
        phases = []
        playouts = [place for place, phase in enumerate(self.phases) if phase.name == "playout"]
        stretched = playouts[-1] if playouts else len(self.phases) - 1
        for place, phase in enumerate(self.phases):
            start_s = phase.start_s + (longer_s if place > stretched else 0.0)
            stop_s = phase.end_s + (longer_s if place >= stretched else 0.0)
            if start_s < media_s:
                ends = phase.ends_with_packet and stop_s <= media_s
                end_s = min(stop_s, media_s)
                phases.append(replace(phase, start_s=start_s, end_s=end_s, ends_with_packet=ends))
        return replace(self, phases=tuple(phases))

    def end_with_packet(self) -> PlayedStream:
        """Return the stream with its last packet at its end."""
        *before, last = self.phases
        return replace(self, phases=(*before, replace(last, ends_with_packet=True)))


@dataclass(frozen=True)
class Timeline:
    """Times of one session.

    Attributes:
        first_media_s: First media packet after the session's start, s.
        opens: Whether packets of the client come before the first media packet.
        rtt_s: Round-trip time between client and server, s.
    """

    first_media_s: float
    opens: bool
    rtt_s: float
    streams: tuple[PlayedStream, ...]

    @property
    def length_s(self) -> float:
        """From the session's start to the end of its last phase, s."""
        return self.first_media_s + max(played.phases[-1].end_s for played in self.streams)

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """Parts of it that are played one after the other; most sessions are one."""
        return _windows_of(self)

    def opening_ns(self, played: PlayedStream) -> int | None:
        """Return when the client opens a stream after the session's start, ns; None if it does not.

        Streams that send from the beginning are opened at once, later ones a handshake before their
        first packet.
        """
        if not self.opens:
            return None
        start_s = played.phases[0].start_s
        if start_s == 0:
            return 0
        return ns_from_s(max(0.0, self.first_media_s + start_s - _HANDSHAKE_RTTS * self.rtt_s))

    def with_length(self, duration_s: float) -> Timeline:
        """Return a session of another length: its last playout stretched, or its phases cut.

        ``duration_s`` is from the session's start to its end.

        Raises:
            GenerationError: If it would end before its first media packet.
        """
        if duration_s <= self.first_media_s:
            raise GenerationError(
                f"a session of {duration_s:g} s would end before its first media packet, which"
                f" comes after {self.first_media_s:g} s; ask for a longer duration"
            )
        media_s = duration_s - self.first_media_s
        longer_s = max(0.0, media_s - max(played.phases[-1].end_s for played in self.streams))
        streams = [played.with_length(media_s, longer_s=longer_s) for played in self.streams]
        return replace(self, streams=tuple(played for played in streams if played.phases))


def session_timeline(model: Model, *, duration_s: float | None) -> Timeline:
    """Return the times of a session.

    It lasts ``duration_s`` from its first packet; None for that of the model. The last playout of
    each stream is stretched to a longer one, phases are cut to a shorter.

    Raises:
        GenerationError: If the session would end before its first media packet.
    """
    silence_s = max(0.0, model.startup.silence_s.value)
    rtt_s = _round_trip_time(model)
    over_tcp = any(stream.transport.protocol == "tcp" for stream in model.streams)
    if silence_s > 0:
        rtt_s = min(rtt_s, silence_s / _HANDSHAKE_RTTS)
    zero_s = min(stream.phases[0].start_s for stream in model.streams)
    timeline = Timeline(
        first_media_s=silence_s if silence_s > 0 or not over_tcp else _HANDSHAKE_RTTS * rtt_s,
        opens=silence_s > 0 or over_tcp,
        rtt_s=rtt_s,
        streams=tuple(_played(stream, zero_s=zero_s) for stream in model.streams),
    )
    return timeline if duration_s is None else timeline.with_length(duration_s)


def _round_trip_time(model: Model) -> float:
    source = model.provenance
    estimate = source.conditions.rtt_s if isinstance(source, FittedProvenance) else None
    return max(_SHORTEST_RTT_S, _DEFAULT_RTT_S if estimate is None else estimate.value)


def _played(stream: Stream, *, zero_s: float) -> PlayedStream:
    """Return a stream with its phases, times counted from ``zero_s``."""
    phases = [
        PlayedPhase(
            phase.name, phase.start_s - zero_s, phase.end_s - zero_s, playable(phase.process)
        )
        for phase in stream.phases
    ]
    return PlayedStream(stream, tuple(phases))


def _windows_of(timeline: Timeline) -> tuple[Window, ...]:
    """Cut a session into windows with about as many packets each.

    They depend on the session alone, so that its packets do too.
    """
    phases = [phase for played in timeline.streams for phase in played.phases]
    total = expected_packets(timeline)
    count = math.ceil(min(_MOST_WINDOWS, total / _WINDOW_PACKETS))
    if count <= 2 or not all(phase.process.is_divisible for phase in phases):
        return (Window(),)
    edge_s = np.unique([[phase.start_s, phase.end_s] for phase in phases])
    reached = np.zeros(edge_s.size)
    for played in timeline.streams:
        for phase in played.phases:
            span = np.array([phase.start_s, phase.end_s])
            reached += np.interp(edge_s, span, [0.0, _phase_packets(phase, played)])
    inner_s = np.interp(np.arange(1, count) * (reached[-1] / count), reached, edge_s).tolist()
    starts, ends = [-math.inf, *inner_s], [*inner_s, math.inf]
    return tuple(
        Window(place, start_s, end_s)
        for place, (start_s, end_s) in enumerate(zip(starts, ends, strict=True))
    )


def packets_at_once(timeline: Timeline) -> float:
    """Return about how many packets of a session are in memory while it is made."""
    return expected_packets(timeline) / len(timeline.windows)


def check_extent(timeline: Timeline) -> None:
    """Refuse a session that cannot be played.

    Raises:
        GenerationError: If it is longer than times can hold, packets are larger than IP allows, or
            those that are made at once do not fit in this machine's memory.
    """
    end_s = timeline.length_s
    if not end_s <= LONGEST_S:
        raise GenerationError(
            f"a session of {end_s:g} s is longer than {LONGEST_S:g} s; ask for a shorter duration"
        )
    for played in timeline.streams:
        for phase in played.phases:
            for name, law in phase.process.size_laws().items():
                _check_sizes(law, place=f"{name} in {_place(phase, played)}")
    check_memory(packets_at_once(timeline), flows=len(timeline.streams), sessions=1)


def expected_packets(timeline: Timeline) -> float:
    """Return about how many packets a session has, TCP acknowledgements included."""
    return sum(
        _phase_packets(phase, played) for played in timeline.streams for phase in played.phases
    )


def _phase_packets(phase: PlayedPhase, played: PlayedStream) -> float:
    length_s, place = phase.end_s - phase.start_s, _place(phase, played)
    each = played.stream.transport.packets_per_media_packet
    return each * phase.process.expected_packets(length_s, place=place)


def _place(phase: PlayedPhase, played: PlayedStream) -> str:
    return f"phase {phase.name!r} of stream {played.stream.name!r}"


def check_memory(
    packets: float, *, flows: int, sessions: int, packet_bytes: int = _BYTES_PER_PACKET
) -> None:
    """Raise GenerationError if packets and flows do not fit in the memory there is, or allowed."""
    needed_bytes = packets * packet_bytes + flows * _BYTES_PER_FLOW
    limit_bytes, machine_bytes = memory_limit_bytes(), machine_memory_bytes()
    if needed_bytes > min(limit_bytes or machine_bytes, machine_bytes):
        room = f"this machine has {size_text(machine_bytes)}"
        if limit_bytes is not None and needed_bytes < machine_bytes:
            room = f"{size_text(limit_bytes)} is allowed ([--memory|memory_bytes])"
        raise GenerationError(
            f"about {number(packets, digits=2)} packets in {number(sessions)} sessions need"
            f" {size_text(needed_bytes)}"
            f" of memory, {room}; {_REMEDY}"
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
