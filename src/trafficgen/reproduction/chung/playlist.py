"""The sources that play the clips of the playlist, as the catalogue has them."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from trafficgen.models.published import (
    PlaylistClip,
    load_entry,
    parameters_for_engine,
    with_settings,
)

Transport = Literal["udp", "tcp"]

UDP_ENTRY, TCP_ENTRY = "realplayer8_chung2002", "realplayer8_tcp_chung2002"
_ENTRIES: dict[Transport, str] = {"udp": UDP_ENTRY, "tcp": TCP_ENTRY}


def source(clip: PlaylistClip, transport: Transport) -> tuple[str, dict[str, Any]]:
    """Return kind and parameters of the agent that plays a clip; of the playlist it is told this
    clip's row only.

    Args:
        clip: The clip; its length may differ from the playlist's.
        transport: Transport of the media, which chooses the catalogue entry.
    """
    kind, parameters = _engine_parameters(transport)
    rows = [
        {**row, "length_s": clip.length_s}
        for row in parameters["playlist"]
        if row["clip"] == clip.number
    ]
    return kind, {**parameters, "clip": clip.number, "playlist": rows}


@cache
def _engine_parameters(transport: Transport) -> tuple[str, dict[str, Any]]:
    model = with_settings(load_entry(_ENTRIES[transport]), {"transport": transport})
    return model.mechanism.kind, dict(parameters_for_engine(model))
