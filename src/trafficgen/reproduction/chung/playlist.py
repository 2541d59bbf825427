"""The 79 clips of the playlist and the sources that play them, as the catalogue has them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from trafficgen.catalogue import load_entry, parameters_for_engine, with_settings

Transport = Literal["udp", "tcp"]

UDP_ENTRY, TCP_ENTRY = "realplayer8_chung2002", "realplayer8_tcp_chung2002"
_ENTRIES: dict[Transport, str] = {"udp": UDP_ENTRY, "tcp": TCP_ENTRY}


@dataclass(frozen=True)
class Clip:
    """A clip of the playlist and the path to its server.

    Attributes:
        number: Number in the playlist, from 1.
        ladder_kbps: Media payload rates of its levels, ascending.
        length_s: Length, s.
        base_rtt_s: Round-trip time to its server without queues, s.
        path_loss: Share of packets that the path before the bottleneck loses.
        answers_ping: Whether its server answers pings (CCZ-S4).
    """

    number: int
    ladder_kbps: tuple[float, ...]
    length_s: float
    base_rtt_s: float
    path_loss: float
    answers_ping: bool


@cache
def playlist() -> tuple[Clip, ...]:
    """Return the clips in the order of the playlist."""
    return tuple(
        Clip(
            number=row["clip"],
            ladder_kbps=tuple(row["ladder_kbps"]),
            length_s=row["length_s"],
            base_rtt_s=row["base_rtt_s"],
            path_loss=row["path_loss"],
            answers_ping=row["answers_ping"],
        )
        for row in _engine_parameters("udp")[1]["playlist"]
    )


def source(clip: Clip, transport: Transport) -> tuple[str, dict[str, Any]]:
    """Return kind and parameters of the agent that plays a clip; of the playlist it is told this clip's row only.

    Args:
        clip: The clip; its length may differ from the playlist's.
        transport: Transport of the media, which chooses the catalogue entry.
    """
    kind, parameters = _engine_parameters(transport)
    rows = [{**row, "length_s": clip.length_s} for row in parameters["playlist"] if row["clip"] == clip.number]
    return kind, {**parameters, "clip": clip.number, "playlist": rows}


@cache
def _engine_parameters(transport: Transport) -> tuple[str, dict[str, Any]]:
    model = with_settings(load_entry(_ENTRIES[transport]), {"transport": transport})
    return model.mechanism.kind, dict(parameters_for_engine(model))
