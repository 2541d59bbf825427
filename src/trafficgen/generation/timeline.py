"""When the parts of a session come: silence or handshake, then the phases of each stream, stretched as asked."""

from __future__ import annotations

from dataclasses import dataclass

from trafficgen.errors import GenerationError
from trafficgen.models import FittedProvenance, Model, Stream
from trafficgen.processes import PlayableProcess, playable

#: Round-trip time where the model knows none, s.
_DEFAULT_RTT_S = 0.02
_SHORTEST_RTT_S = 1e-4
#: A TCP server's first data follows the client's SYN by SYN, SYN/ACK and request: three one-way delays (RFC 9293).
_HANDSHAKE_RTTS = 1.5


@dataclass(frozen=True)
class PlayedPhase:
    """A phase as it is played.

    Attributes:
        name: Name of the phase.
        start_s: Start after the session's first media packet, s.
        end_s: End after the session's first media packet, s.
        process: What its packets are drawn from.
    """

    name: str
    start_s: float
    end_s: float
    process: PlayableProcess


@dataclass(frozen=True)
class PlayedStream:
    """A stream with its phases as they are played, at least one.

    Attributes:
        stream: The stream of the model.
        phases: Its phases in order of time; the first begins with a packet.
    """

    stream: Stream
    phases: tuple[PlayedPhase, ...]


@dataclass(frozen=True)
class Timeline:
    """Times of one session; every session of a model has the same.

    Attributes:
        first_media_s: First media packet after the session's start, s.
        opens: Whether packets of the client come before the first media packet.
        rtt_s: Round-trip time between client and server, s.
        streams: The streams that are played.
    """

    first_media_s: float
    opens: bool
    rtt_s: float
    streams: tuple[PlayedStream, ...]

    def opening_s(self, played: PlayedStream) -> float:
        """Return when the client opens a stream after the session's start, s.

        Streams that send from the beginning are opened at once, later ones a handshake before their first packet.
        """
        start_s = played.phases[0].start_s
        return 0.0 if start_s == 0 else max(0.0, self.first_media_s + start_s - _HANDSHAKE_RTTS * self.rtt_s)


def session_timeline(model: Model, *, duration_s: float | None) -> Timeline:
    """Return the times of a session.

    Args:
        model: The model.
        duration_s: Length of the session from its first packet to its end, s; None for the model's own. Longer than
            the model, the last playout of each stream is stretched; shorter, the phases are cut.

    Raises:
        GenerationError: If the session would end before its first media packet.
    """
    silence_s = max(0.0, model.startup.silence_s.value)
    rtt_s = _round_trip_time(model)
    over_tcp = any(stream.transport.protocol == "tcp" for stream in model.streams)
    if silence_s > 0:
        rtt_s = min(rtt_s, silence_s / _HANDSHAKE_RTTS)
    first_media_s = silence_s if silence_s > 0 or not over_tcp else _HANDSHAKE_RTTS * rtt_s
    if duration_s is not None and duration_s <= first_media_s:
        raise GenerationError(
            f"a session of {duration_s:g} s would end before its first media packet, which comes after"
            f" {first_media_s:g} s; ask for a longer duration"
        )
    media_s = None if duration_s is None else duration_s - first_media_s
    return Timeline(
        first_media_s=first_media_s,
        opens=silence_s > 0 or over_tcp,
        rtt_s=rtt_s,
        streams=_scheduled(model, media_s=media_s),
    )


def _round_trip_time(model: Model) -> float:
    estimate = model.provenance.conditions.rtt_s if isinstance(model.provenance, FittedProvenance) else None
    return max(_SHORTEST_RTT_S, _DEFAULT_RTT_S if estimate is None else estimate.value)


def _scheduled(model: Model, *, media_s: float | None) -> tuple[PlayedStream, ...]:
    """Return each stream with its phases, the earliest at 0 and the latest ending after ``media_s``."""
    zero_s = min(stream.phases[0].start_s for stream in model.streams)
    end_s = max(stream.phases[-1].end_s for stream in model.streams) - zero_s
    longer_s = 0.0 if media_s is None else max(0.0, media_s - end_s)
    streams = []
    for stream in model.streams:
        phases = []
        stretched = _stretched(stream)
        for number, phase in enumerate(stream.phases):
            start_s = phase.start_s - zero_s + (longer_s if number > stretched else 0.0)
            stop_s = phase.end_s - zero_s + (longer_s if number >= stretched else 0.0)
            if media_s is None or start_s < media_s:
                stop_s = stop_s if media_s is None else min(stop_s, media_s)
                phases.append(PlayedPhase(phase.name, start_s, stop_s, playable(phase.process)))
        if phases:
            streams.append(PlayedStream(stream, tuple(phases)))
    return tuple(streams)


def _stretched(stream: Stream) -> int:
    """Return the place of the phase that grows with the session: the last playout, else the last phase."""
    playouts = [number for number, phase in enumerate(stream.phases) if phase.name == "playout"]
    return playouts[-1] if playouts else len(stream.phases) - 1
