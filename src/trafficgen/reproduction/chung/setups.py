"""The test beds of CCZ02 as scenarios: a path, the bottleneck, one or two players, pings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import JsonValue, TypeAdapter

from trafficgen.models.published import load_entry
from trafficgen.randomness import random_stream
from trafficgen.reproduction.testbed import link, player
from trafficgen.units import bps_from_kbps

Transport = Literal["udp", "tcp"]

PING = "ping"
#: Links towards the players and back.
_ROUTE: dict[str, list[int]] = {"forward": [0, 1], "reverse": [2]}
_ENTRIES: dict[Transport, str] = {
    "udp": "realplayer8_chung2002",
    "tcp": "realplayer8_tcp_chung2002",
}
#: Both players are started by hand or script at the same time: each within so many s of the start
#: of the run.
_START_SPREAD_S = 0.5
#: What is under way at the end of a playout arrives, answers to pings included, s.
_RUN_ON_S = 3.0
#: A run is given up after so many times the clip's length, and this long beyond it, s.
_LONGEST_LENGTHS, _LONGEST_EXTRA_S = 4.0, 300.0
_SEEDS = 1 << 53


@dataclass(frozen=True, kw_only=True)
class PlaylistClip:
    """A clip of the playlist, and the path to its server (CCZ-S4, CCZ-W1 to W7).

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
        load_entry(_ENTRIES["udp"]).mechanism.parameters["playlist"].value
    )
    clip = TypeAdapter(PlaylistClip)
    return tuple(
        clip.validate_python({"number": row.pop("clip"), **row}) for row in map(dict, rows)
    )


def drop_tail(rate_kbps: float, queue_bytes: int) -> dict[str, Any]:
    """Return a bottleneck as a plain link."""
    return link("bottleneck", rate_kbps, queue={"bytes": queue_bytes})


def token_bucket(rate_kbps: float, queue_bytes: int = 10_000) -> dict[str, Any]:
    """Return the filter of CCZ-S1 (queue of 10 kB) or CCZ-S2: a bucket of 1600 bytes."""
    bucket = {"rate_bps": bps_from_kbps(rate_kbps), "burst_bytes": 1600}
    return {**drop_tail(rate_kbps, queue_bytes), "capacity": {"token_bucket": bucket}}


def scenario(
    clip: PlaylistClip, transports: Sequence[Transport], bottleneck: dict[str, Any], *, seed: int
) -> dict[str, Any]:
    """Return a run of one clip: its players, and pings of 64 bytes every second (CCZ-S4).

    The path before the bottleneck has half of the clip's round-trip time each way and its random
    loss towards the player. Servers that answer no ping get none.

    Args:
        clip: The clip.
        transports: Transport of each player; agents have their names.
        bottleneck: The narrowest link towards the players.
        seed: Seed of the playlist's run; every clip draws from a stream of its own.
    """
    stream = random_stream(seed, session=clip.number, purpose="chung/playout")
    one_way_s = clip.base_rtt_s / 2
    loss = {"rate": clip.path_loss, "mean_burst_packets": 1.0} if clip.path_loss > 0 else None
    agents = []
    for transport in transports:
        start_s = float(stream.uniform(0, _START_SPREAD_S)) if len(transports) > 1 else 0.0
        agents.append({**player_of_clip(clip, transport), "start_s": start_s})
    if clip.answers_ping:
        agents.append({"name": PING, "kind": "ping", "parameters": {}, "start_s": 0.0, **_ROUTE})
    return {
        "seed": int(stream.integers(_SEEDS)),
        "links": [
            link("path", delay_s=one_way_s, loss=loss),
            bottleneck,
            link("return", delay_s=one_way_s),
        ],
        "agents": agents,
        "run_on_s": _RUN_ON_S,
        "end_s": _LONGEST_LENGTHS * clip.length_s + _LONGEST_EXTRA_S,
    }


def player_of_clip(clip: PlaylistClip, transport: Transport) -> dict[str, Any]:
    """Return the agent that plays a clip, with this clip's row of the playlist only.

    The length of the clip may differ from the playlist's.
    """
    agent = _player(transport)
    rows = [
        {**row, "length_s": clip.length_s}
        for row in agent["parameters"]["playlist"]
        if row["clip"] == clip.number
    ]
    return {**agent, "parameters": {**agent["parameters"], "clip": clip.number, "playlist": rows}}


@cache
def _player(transport: Transport) -> dict[str, Any]:
    return player(_ENTRIES[transport], {"transport": transport}, name=transport, **_ROUTE)
