"""The test beds of CCZ02 as scenarios, and what is measured of a simulated playout.

A path, the bottleneck, one or two players, and pings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from pydantic import JsonValue, TypeAdapter

from trafficgen.flows.measures import (
    MEASURE_BIN_S,
    DataRates,
    adaptation_time_s,
    count_rate_changes,
    measure_data_rates,
    successive_ratios,
    time_to_share_of_peak_s,
)
from trafficgen.models.published import load_entry
from trafficgen.models.published_model import PublishedModel
from trafficgen.randomness import random_stream
from trafficgen.reproduction.testbed import EventLog, entry_of, link, player
from trafficgen.simulation.outcome import Outcome
from trafficgen.tables import MEDIA
from trafficgen.units import (
    FloatArray,
    IntArray,
    bps_from_kbps,
    kbps_from_bytes,
    ns_from_s,
    s_from_ns,
)

Transport = Literal["udp", "tcp"]

PING = "ping"
#: Links towards the players and back.
_ROUTE: dict[str, list[int]] = {"forward": [0, 1], "reverse": [2]}
_ENTRIES: dict[Transport, str] = {
    "udp": "realplayer8_chung2002",
    "tcp": "realplayer8_tcp_chung2002",
}
#: Both players are started by hand or script at the same time: each within this many s of the start
#: of the run.
_START_SPREAD_S = 0.5
#: What is under way at the end of a playout arrives, answers to pings included, s.
_RUN_ON_S = 3.0
#: A run is given up after this many times the clip's length, and this long beyond it, s.
_LONGEST_LENGTHS, _LONGEST_EXTRA_S = 4.0, 300.0
_SEEDS = 1 << 53
#: Agents of the entries that they were made of.
_players: dict[Transport, tuple[PublishedModel, dict[str, Any]]] = {}
_MEDIA_CODES = tuple(MEDIA.index(name) for name in ("audio", "video", "mixed"))
_BIN_NS = ns_from_s(MEASURE_BIN_S)
#: Code of the buffering phase in the log, in the order of the packet table's dictionary.
_BUFFERING = 2
_LARGEST_IP_BYTES = 1500
#: A player whose end comes this long after its last media packet has left without them (CCZ-S1:
#: after a minute).
_LEAVES_AFTER_S = 50.0


@dataclass(frozen=True, kw_only=True)
class PlaylistClip:
    """A clip of the playlist, and the path to its server (CCZ-S4, CCZ-W1 to W7).

    Attributes:
        number: Number in the playlist, from 1.
        ladder_kbps: Media payload rates of its levels, ascending.
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


def deal_paths(clips: Sequence[PlaylistClip], seed: int) -> list[PlaylistClip]:
    """Return the clips in their order, their paths (round-trip time and loss) dealt anew.

    The papers show the distributions of both, not which clip lies behind which path: what comes
    of one deal alone, such as a correlation with the loss, is not a finding. They show them for the
    servers that answer pings, whose paths therefore go to the clips of such servers.
    """
    stream = random_stream(seed, session=0, purpose="chung/paths")
    dealt = list(clips)
    for answers in (True, False):
        places = [at for at, clip in enumerate(clips) if clip.answers_ping == answers]
        for at, origin in zip(places, stream.permutation(places), strict=True):
            path = clips[origin]
            dealt[at] = replace(clips[at], base_rtt_s=path.base_rtt_s, path_loss=path.path_loss)
    return dealt


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
    loss towards the player. Servers that answer no ping get none. Agents have the names of their
    transports. Every clip draws from a stream of its own of the seed of the playlist's run.
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


def _player(transport: Transport) -> dict[str, Any]:
    entry = entry_of(_ENTRIES[transport])
    if transport not in _players or _players[transport][0] is not entry:
        agent = player(entry.name, {"transport": transport}, name=transport, **_ROUTE)
        _players[transport] = entry, agent
    return _players[transport][1]


@dataclass(frozen=True, kw_only=True)
class Playout:
    """One stream of a run; times in s from its first media packet at the player.

    Attributes:
        mean_kbps: IP bytes of its media over its playout: from the run's first media packet until
            the player has played the clip or left. Servers send ahead, but the end-hosts hear from
            them to the end.
        span_s: First to last media packet.
        rates: Rates of CCZ-B1; None for a playout shorter than 110 s.
        rise_s: When the rate in 0.5 s first reached 90% of its largest.
        accelerated_s: How long the server sent at the higher rate; NaN where it did not end.
        stalls_s: How long playback halted, each time.
        has_left: Whether the player left for want of media.
        encodings: Since when the player has got each encoding, the first one included, and its
            media payload rate, kbit/s.
        written: Since when the server has written each encoding, likewise; empty if it is not
            logged.
        ratios: Ratios of successive 0.5 s rates (CCZ-V1), shape (n,).
        sizes: Media packets by IP total length, shape (1501,).
    """

    clip: PlaylistClip
    mean_kbps: float
    span_s: float
    rates: DataRates | None
    rise_s: float
    accelerated_s: float
    stalls_s: tuple[float, ...]
    has_left: bool
    encodings: tuple[tuple[float, float], ...]
    written: tuple[tuple[float, float], ...] = ()
    ratios: FloatArray = field(compare=False)
    sizes: IntArray = field(compare=False)

    @cached_property
    def encoding_time_s(self) -> FloatArray:
        """Times of the encodings, shape (n,)."""
        return np.array([time_s for time_s, _ in self.encodings])

    @cached_property
    def encoding_kbps(self) -> FloatArray:
        """Rates of the encodings, shape (n,)."""
        return np.array([rate_kbps for _, rate_kbps in self.encodings])

    @property
    def ratio(self) -> float:
        """Buffering over steady rate (CCZ-B1), NaN: no steady rate."""
        found = self.rates.ratio if self.rates else None
        return math.nan if found is None else found

    @property
    def changes(self) -> int:
        """Number of scale changes (CCZ-M1)."""
        return count_rate_changes(self.encoding_kbps)

    @property
    def ups_s(self) -> FloatArray:
        """Times of changes to a higher level, shape (n,)."""
        return self.encoding_time_s[1:][np.diff(self.encoding_kbps) > 0]

    @property
    def downs_s(self) -> FloatArray:
        """Times of changes to a lower level, shape (n,)."""
        return self.encoding_time_s[1:][np.diff(self.encoding_kbps) < 0]

    def find_adaptation_s(self, limit_kbps: float) -> float:
        """Return when the encoded rate first fits a limit; infinity: never (CCZ-M2)."""
        rates_bps = np.array([bps_from_kbps(rate_kbps) for _, rate_kbps in self.encodings])
        return adaptation_time_s(
            self.encoding_time_s, rates_bps, limit_bps=bps_from_kbps(limit_kbps)
        )


@dataclass(frozen=True)
class Pings:
    """Pings of a run up to the last media packet (CCZ-S4); NaN if the server answers none.

    Attributes:
        loss: Share that was not answered.
    """

    rtt_s: float = math.nan
    loss: float = math.nan


class Session:
    """A simulated run as the measures read it."""

    def __init__(self, outcome: Outcome) -> None:
        """Take the engine's outcome."""
        self._outcome = outcome
        names = [agent["name"] for agent in outcome.agents]
        self._logs = {name: EventLog(outcome, number) for number, name in enumerate(names)}
        self._flows: dict[str, list[int]] = {name: [] for name in names}
        self._media_flows: dict[str, list[int]] = {name: [] for name in names}
        for number, flow in enumerate(outcome.flows):
            self._flows[names[flow["agent"]]].append(number)
            if flow["media"] in _MEDIA_CODES:
                self._media_flows[names[flow["agent"]]].append(number)
        self._totals = {
            name: outcome.totals(flows, media_only=True)
            for name, flows in self._media_flows.items()
        }
        arrivals_ns = [
            (one["first_arrived_ns"], one["last_arrived_ns"]) for one in self._totals.values()
        ]
        #: When the first and the last media packet of any player came.
        self._first_ns = min((first for first, _ in arrivals_ns if first is not None), default=None)
        self._last_ns = max(
            (last for _, last in arrivals_ns if last is not None), default=outcome.end_ns
        )

    def playout(self, clip: PlaylistClip, agent: str) -> Playout:
        """Return what came of a player."""
        flows, log, totals = self._media_flows[agent], self._logs[agent], self._totals[agent]
        first_ns, last_ns = totals["first_arrived_ns"], totals["last_arrived_ns"]
        if first_ns is None or last_ns is None:
            first_ns = last_ns = self._outcome.end_ns
        binned, _ = self._outcome.bin_packets(
            flows,
            by="arrived",
            origin_ns=first_ns,
            interval_ns=_BIN_NS,
            bins=(last_ns - first_ns) // _BIN_NS + 1,
            media_only=True,
        )
        size_bytes, span_s = binned.astype(np.int64), s_from_ns(last_ns - first_ns)
        whole_bins = size_bytes[:-1]  # the last bin is cut off by the end
        stalls_s = tuple(_stalls_s(log))
        left_ns = _left_ns(log, last_ns)
        end_ns = _playout_end_ns(log, clip.length_s + sum(stalls_s), last_ns)
        begin_ns = last_ns if self._first_ns is None else self._first_ns
        playing_s = s_from_ns((end_ns if left_ns is None else left_ns) - begin_ns)
        return Playout(
            clip=clip,
            mean_kbps=kbps_from_bytes(totals["arrived_bytes"], playing_s) if playing_s > 0 else 0.0,
            span_s=span_s,
            rates=measure_data_rates(size_bytes, span_s=span_s),
            rise_s=time_to_share_of_peak_s(whole_bins),
            accelerated_s=_accelerated_s(log),
            stalls_s=stalls_s,
            has_left=left_ns is not None,
            encodings=_rates(log, "encoding", first_ns),
            written=_rates(log, "server_level_bps", first_ns),
            ratios=successive_ratios(whole_bins),
            sizes=self._sizes(flows),
        )

    def pings(self, agent: str) -> Pings:
        """Return round-trip time and loss of the pings sent until the last media packet came."""
        if agent not in self._logs:
            return Pings()
        sent = self._outcome.totals(self._flows[agent], end_ns=self._last_ns, to_client=False)
        rtts_s = [
            event.value
            for event in self._logs[agent].select("rtt_s")
            if event.value and event.time_ns - ns_from_s(event.value) < self._last_ns
        ]
        if not sent["sent_packets"] or not rtts_s:
            return Pings()
        loss = max(0.0, 1 - len(rtts_s) / sent["sent_packets"])
        return Pings(rtt_s=float(np.mean(rtts_s)), loss=loss)

    def _sizes(self, flows: list[int]) -> IntArray:
        columns = self._outcome.columns
        counted = self._outcome.select_packets(flows, media_only=True) & columns["arrived"]
        return np.bincount(columns["ip_bytes"][counted], minlength=_LARGEST_IP_BYTES + 1)


def _left_ns(log: EventLog, last_ns: int) -> int | None:
    """Return when the player left for want of media; None: it did not."""
    ends_ns = [event.time_ns for event in log.select("end")]
    return ends_ns[-1] if ends_ns and ends_ns[-1] - last_ns > ns_from_s(_LEAVES_AFTER_S) else None


def _playout_end_ns(log: EventLog, playing_s: float, last_ns: int) -> int:
    """Return when a clip had been played to its end."""
    starts = log.select("playback_start")
    return max(last_ns, starts[0].time_ns + ns_from_s(playing_s)) if starts else last_ns


def _accelerated_s(log: EventLog) -> float:
    for start, end in pairwise(log.select("phase")):
        if start.level == _BUFFERING:
            return s_from_ns(end.time_ns - start.time_ns)
    return math.nan


def _stalls_s(log: EventLog) -> Iterator[float]:
    """Yield the length of each stall that ended."""
    for start, end in zip(log.select("stall_start"), log.select("stall_end"), strict=False):
        yield s_from_ns(end.time_ns - start.time_ns)


def _rates(log: EventLog, kind: str, zero_ns: int) -> tuple[tuple[float, float], ...]:
    """Return since when each logged rate held, s, and the rates, kbit/s."""
    return tuple(
        (s_from_ns(event.time_ns - zero_ns), event.value / 1000)
        for event in log.select(kind)
        if event.value is not None
    )


@dataclass(frozen=True)
class Pair:
    """One run of a clip: both playouts and the pings."""

    clip: PlaylistClip
    rate_kbps: int
    udp: Playout
    tcp: Playout
    pings: Pings
