"""Fitted models as sources of a simulation: what they want to send, and how they answer the
path.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np

from trafficgen.generation import StreamSchedule, session_schedules
from trafficgen.models import Model, dump_model
from trafficgen.simulation.fitted import response_parameters, tcp_parameters
from trafficgen.simulation.sources import Schedule, Source

#: Headers that the engine puts before a datagram (IPv4 and UDP); IP lengths stay those of the
#: model.
_DATAGRAM_HEADER_BYTES = 28
_DEFAULT_SERVER_PORT = 5004
_DEFAULT_CLIENT_PORT = 40_000


def fitted_sources(
    model: Model, *, sessions: Iterable[int], count: int, duration_s: float | None, seed: int
) -> Iterator[Source]:
    """Yield the source of each session of a fitted model.

    Args:
        model: The model.
        sessions: Numbers of the sessions; each draws from random streams of its own.
        count: How many they are.
        duration_s: Length of each session, s; None for that of the model.
        seed: Seed, >= 0.

    Raises:
        GenerationError: If the sessions cannot be played as asked.
    """
    schedules_of = session_schedules(model, sessions=count, duration_s=duration_s, seed=seed)
    response = response_parameters(model)
    digest = f"sha256:{hashlib.sha256(dump_model(model).encode()).hexdigest()}"
    for session in sessions:
        streams = schedules_of(session)
        yield Source(
            name=model.name,
            kind="fitted",
            parameters={"streams": _streams(streams), "response": response},
            digest=digest,
            schedules=tuple(_schedule(stream) for stream in streams),
        )


def _streams(schedules: Iterable[StreamSchedule]) -> list[dict[str, object]]:
    streams: list[dict[str, object]] = []
    taken: set[int] = set()
    for one in schedules:
        transport = one.stream.transport
        client_port = transport.client_port or _DEFAULT_CLIENT_PORT
        while client_port in taken:
            client_port = client_port + 2 if client_port < 65_534 else _DEFAULT_CLIENT_PORT
        taken |= {client_port, client_port + 1}
        stream: dict[str, object] = {
            "name": one.stream.name,
            "media": one.stream.media,
            "protocol": transport.protocol,
            "server_port": transport.server_port or _DEFAULT_SERVER_PORT,
            "client_port": client_port,
            "rtp": None,
            "opening_ns": one.opening_ns,
        }
        if transport.rtp is not None:
            stream["rtp"] = {
                "ssrc": one.ssrc,
                "payload_type": transport.rtp.payload_type,
                "clock_hz": transport.rtp.clock_hz,
                "first_sequence": one.first_sequence,
                "marks_frames": transport.rtp.frame_per_burst,
            }
        if transport.protocol == "tcp":
            stream["tcp"] = tcp_parameters(transport)
        streams.append(stream)
    return streams


def _schedule(one: StreamSchedule) -> Schedule:
    transport = one.stream.transport
    header_bytes = transport.header_bytes if transport.protocol == "tcp" else _DATAGRAM_HEADER_BYTES
    return Schedule(
        time_ns=one.time_ns,
        payload_bytes=np.maximum(one.ip_bytes, header_bytes + 1) - np.uint32(header_bytes),
        phase=one.phase,
        rtp_timestamp=one.rtp_timestamp,
        ends_frame=one.ends_frame,
    )
