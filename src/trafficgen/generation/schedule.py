"""Schedules of a fitted model: what sessions send open loop, for a simulation over a path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen.generation.media import media_packets
from trafficgen.generation.open_loop import OpenLoopSessions
from trafficgen.generation.rtp import rtp_headers
from trafficgen.generation.timeline import Timeline
from trafficgen.models import Model, Stream
from trafficgen.randomness import random_stream
from trafficgen.units import BoolArray, IntArray, ns_from_s


@dataclass(frozen=True)
class StreamSchedule:
    """What one stream of a session sends open loop.

    Attributes:
        stream: The stream of the model.
        opening_ns: When the client opens it, ns from the start of the session; None: no opening.
        time_ns: Time of each packet from the start of the session, ns, shape (n,).
        ip_bytes: IP total length, bytes, shape (n,).
        phase: Index into :data:`~trafficgen.tables.PHASES`, shape (n,).
        ends_frame: Whether it is the last packet of its frame or burst, shape (n,).
        rtp_timestamp: RTP timestamp, shape (n,); zeros where it is not RTP.
        ssrc: RTP source; None where it is not RTP.
        first_sequence: RTP sequence number of the first packet.
    """

    stream: Stream
    opening_ns: int | None
    time_ns: IntArray
    ip_bytes: npt.NDArray[np.uint32]
    phase: npt.NDArray[np.uint8]
    ends_frame: BoolArray
    rtp_timestamp: npt.NDArray[np.uint32]
    ssrc: int | None
    first_sequence: int


def session_schedules(
    model: Model, *, sessions: int, duration_s: float | None, seed: int
) -> Callable[[int], tuple[StreamSchedule, ...]]:
    """Return a function that draws the schedules of a session by its number.

    Args:
        model: The model.
        sessions: Number of sessions.
        duration_s: Length of each session, s; None for that of the model.
        seed: Seed, >= 0.

    Raises:
        GenerationError: If the sessions cannot be played, or their packets do not fit in this
            machine's memory.
    """
    drawn = OpenLoopSessions(
        model=model, count=sessions, duration_s=duration_s, seed=seed, arrival_rate_per_s=None
    )
    drawn.check_memory()
    return lambda session: _schedules(
        drawn.player.timeline(drawn.viewing(session)), session=session, seed=seed
    )


def _schedules(timeline: Timeline, *, session: int, seed: int) -> tuple[StreamSchedule, ...]:
    schedules = []
    for played in timeline.streams:
        stream = played.stream
        media = media_packets(played, zero_s=timeline.first_media_s, seed=seed, session=session)
        generator = random_stream(seed, session=session, purpose=f"{stream.name}/headers")
        ssrc, first_sequence, timestamp = None, 0, np.zeros(len(media), dtype=np.uint32)
        if stream.transport.rtp is not None:
            ssrc, headers = rtp_headers(media, stream.transport.rtp, generator=generator)
            first_sequence = int(headers["rtp_sequence"][0])
            timestamp = headers["rtp_timestamp"].astype(np.uint32)
        schedules.append(
            StreamSchedule(
                stream=stream,
                opening_ns=ns_from_s(timeline.opening_s(played)) if timeline.opens else None,
                time_ns=media.time_ns,
                ip_bytes=media.ip_bytes,
                phase=media.phase.astype(np.uint8),
                ends_frame=media.ends_burst(),
                rtp_timestamp=timestamp,
                ssrc=ssrc,
                first_sequence=first_sequence,
            )
        )
    return tuple(schedules)
