"""The playlist of RealPlayer clips, and the path to the server of each (CCZ-S4, CCZ-W1 to W7)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pydantic import JsonValue, TypeAdapter

from trafficgen.models.published.registry import load_entry

#: Entry that has the playlist; the one over TCP extends it.
PLAYLIST_ENTRY = "realplayer8_chung2002"


@dataclass(frozen=True, kw_only=True)
class PlaylistClip:
    """A clip of the playlist.

    Attributes:
        number: Number in the playlist, from 1.
        ladder_kbps: Media payload rates of its levels, ascending.
        length_s: Length, s.
        multiple: Times the level's rate at which the UDP server sends while buffering.
        preselect: Whether the first level follows a measurement.
        tcp_response: How the player steps down over TCP, ``steps`` or ``jump`` (CCZ-M3).
        base_rtt_s: Round-trip time to its server without queues, s.
        path_loss: Share of packets that the path before the bottleneck loses.
        answers_ping: Whether its server answers pings (CCZ-S4).
    """

    number: int
    ladder_kbps: tuple[float, ...]
    length_s: float
    multiple: float
    preselect: bool
    tcp_response: str
    base_rtt_s: float
    path_loss: float
    answers_ping: bool


@cache
def playlist_clips() -> tuple[PlaylistClip, ...]:
    """Return the clips of the playlist in its order."""
    rows = TypeAdapter(list[dict[str, JsonValue]]).validate_python(
        load_entry(PLAYLIST_ENTRY).mechanism.parameters["playlist"].value
    )
    clip = TypeAdapter(PlaylistClip)
    return tuple(
        clip.validate_python({"number": row.pop("clip"), **row}) for row in map(dict, rows)
    )


def playlist_clip(number: int) -> PlaylistClip:
    """Return the clip of this number, from 1.

    Raises:
        ValueError: If the playlist has no such clip.
    """
    for clip in playlist_clips():
        if clip.number == number:
            return clip
    raise ValueError(
        f"clip must be one of the {len(playlist_clips())} of the playlist, not {number}"
    )
