"""Sources of a simulation: published models, and fitted ones with schedules and a response."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import JsonValue

from trafficgen.errors import SettingError, SimulationError, SimulationWarning, warn
from trafficgen.formatting import suggest_name
from trafficgen.generation import OpenLoopSessions, StreamSchedule
from trafficgen.models import (
    Model,
    ModelHolder,
    Pacing,
    PublishedModel,
    Transport,
    describe_pacing,
    dump_model,
    smallest_header_bytes,
)
from trafficgen.models.published import (
    competing_tcp,
    entry_digest,
    find_model,
    load_entry,
    parameters_for_engine,
    with_settings,
)
from trafficgen.models.published.mechanisms import check_mechanism
from trafficgen.models.registered_source import set_source
from trafficgen.simulation.applications import Player, UnvisitedRungs, make_player
from trafficgen.simulation.response import response_parameters
from trafficgen.units import BITS_PER_BYTE, IntArray, bps_from_kbps, ns_array_from_s

#: What came at this share of its link's rate was held back by the path, not by its server.
PATH_LIMITED_SHARE = 0.8
_TIMESTAMP_OPTION_BYTES = 12
#: What a packet takes that is drawn first and then sent over a path, bytes, measured.
SCHEDULED_BYTES = 300


def tcp_parameters(transport: Transport) -> dict[str, object]:
    """Return TCP settings that give segments the header size of the model."""
    options = transport.header_bytes - smallest_header_bytes("tcp", ip_version=transport.ip_version)
    return {"timestamps": options >= _TIMESTAMP_OPTION_BYTES}


#: Packets of a stream of a fitted model on a calm path, in order of time, as the engine reads them,
#: each of shape (n,): time from the start of the session, ns; transport payload, bytes; index into
#: :data:`~trafficgen.tables.PHASES`; RTP timestamp, 0 where it is not RTP; whether it is the last
#: packet of its frame or burst.
Schedule = tuple[
    IntArray,
    npt.NDArray[np.uint32],
    npt.NDArray[np.uint8],
    npt.NDArray[np.uint32],
    npt.NDArray[np.bool_],
]


@dataclass(frozen=True)
class Source:
    """A source of the engine."""

    name: str  #: name of the model, or ``tcp``, ``cbr``, ``ping``
    kind: str  #: mechanism of the engine
    parameters: Mapping[str, object]  #: its parameters
    #: Options that were set, for the record.
    settings: Mapping[str, object] = field(default_factory=dict)
    digest: str | None = None  #: digest of the model's file; None: no file
    #: Schedules of the streams of a fitted model; parameters refer to their numbers.
    schedules: tuple[Schedule, ...] = ()
    #: TCP of the bulk flows that it was measured with; None: that of today.
    competing_tcp: Mapping[str, object] | None = None
    #: What of a fitted model is played; None: its packets, or it is not a fitted model.
    plays: str | None = None


@dataclass(frozen=True)
class Participant:
    """A source with its place in a scenario."""

    name: str  #: name in results, unique
    source: Source  #: its source
    start_s: float = 0.0  #: when its first packet leaves, s from the first session's start
    stop_s: float | None = None  #: when it is stopped, s; None: it ends by itself
    is_session: bool = False  #: whether it is a session, not a competing flow
    is_upload: bool = False  #: whether its server is at the clients' end of the path
    via: str | None = None  #: the one link of the path that it passes; None: all
    group: str | None = None  #: name of the group whose bytes over time it is in; None: its own


#: Congestion controls of the engine's TCP.
CONGESTION_CONTROLS = ("cubic", "reno", "bbr", "bbr3")
#: Parameters of sources and of their streams that hold settings of TCP.
_TCP_PARAMETERS = ("tcp", "server_tcp", "client_tcp")


def check_congestion_control(control: str, *, place: str) -> None:
    """Check the name of a congestion control.

    Raises:
        SimulationError: If the engine has none of that name; the message starts with ``place``.
    """
    if control not in CONGESTION_CONTROLS:
        guess = suggest_name(control, CONGESTION_CONTROLS)
        known = f"{', '.join(CONGESTION_CONTROLS[:-1])} or {CONGESTION_CONTROLS[-1]}"
        raise SimulationError(f"{place}: unknown congestion control{guess}; use {known}")


def set_congestion_control(source: Source, control: str) -> Source:
    """Return a source whose own connections go over TCP with another congestion control.

    Raises:
        SimulationError: If there is no such control, or the source opens no connection.
    """
    check_congestion_control(control, place=f"tcp={control}")

    def change(parameters: dict[str, object]) -> bool:
        settings = {name: parameters[name] for name in _TCP_PARAMETERS if name in parameters}
        for name, values in settings.items():
            assert isinstance(values, Mapping)
            parameters[name] = {**values, "congestion_control": control}
        if parameters.pop("quic", None) is not None and "protocol" in parameters:
            parameters |= {"protocol": "tcp", "tcp": {"congestion_control": control}}
            return True
        return bool(settings)

    return _change_connections(
        source,
        change,
        f"tcp={control}: {source.name} opens no TCP connection whose congestion control can be"
        " set; leave tcp out",
    )


def set_quic(source: Source, settings: Mapping[str, object]) -> Source:
    """Return a source whose own connections go over QUIC with these settings of the engine.

    Raises:
        SimulationError: If the source opens no connection that may go over QUIC.
    """

    def change(parameters: dict[str, object]) -> bool:
        known = parameters.get("quic")
        base = known if isinstance(known, Mapping) else {}
        is_stream = parameters.get("protocol") in ("tcp", "quic")
        if is_stream:
            parameters["protocol"] = "quic"
        if is_stream or source.kind == "chunked":
            parameters["quic"] = {**base, **settings}
            return True
        return False

    return _change_connections(
        source, change, f"quic: {source.name} opens no connection for QUIC; leave quic out"
    )


def _change_connections(
    source: Source, change: Callable[[dict[str, object]], bool], refusal: str
) -> Source:
    """Return a source after a change of its parameters and those of its streams."""
    parameters = dict(source.parameters)
    is_changed = change(parameters)
    if isinstance(streams := parameters.get("streams"), list):
        parameters["streams"] = streams = [dict(stream) for stream in streams]
        is_changed |= sum(change(stream) for stream in streams) > 0
    if not is_changed:
        raise SimulationError(refusal)
    return replace(source, parameters=parameters)


#: Headers that the engine puts before a datagram (IPv4 and UDP); IP lengths stay those of the
#: model.
_DATAGRAM_HEADER_BYTES = 28
#: What QUIC takes of a datagram: a short header with its tag, and that of a STREAM frame.
_QUIC_HEADER_BYTES = 36
_QUIC: Mapping[str, object] = {"congestion_control": "cubic"}
_DEFAULT_SERVER_PORT = 5004
_DEFAULT_CLIENT_PORT = 40_000


def sources_of(
    model: Model | PublishedModel | ModelHolder | str | Path,
    settings: Mapping[str, JsonValue],
    *,
    sessions: int = 1,
    first_session: int = 0,
    duration_s: float | None = None,
    seed: int = 0,
    unvisited: UnvisitedRungs = None,
) -> list[Source]:
    """Return sessions of a model as sources of the engine.

    The model may be the name of a catalogue entry, which ``settings`` change, or of a model file.
    Each session of a fitted model draws from the random streams of its number, from
    ``first_session`` on, and lasts for ``duration_s``; None: as long as the model's. One whose
    player or browser is known plays that, with ``settings`` of its catalogue entry and the rungs
    that :func:`make_player` makes of ``unvisited``.

    Raises:
        ModelFileError: If the model cannot be read.
        SettingError: If a setting does not fit it.
        GenerationError: If a fitted model cannot be played like this.
    """
    found = find_model(model)
    if isinstance(found, PublishedModel):
        return [make_published_source(found, settings)] * sessions
    numbers = range(first_session, first_session + sessions)
    players = [
        make_player(
            found, settings, session=number, duration_s=duration_s, seed=seed, unvisited=unvisited
        )
        for number in numbers
    ]
    if all(players):
        make_played = prepare_player_source(found, settings)
        return [make_played(one) for one in players if one]
    found = set_source(found, settings)
    drawn = OpenLoopSessions(model=found, count=sessions, duration_s=duration_s, seed=seed)
    drawn.check_memory(packet_bytes=SCHEDULED_BYTES)
    make_source = prepare_fitted_source(found)
    return [make_source(drawn.schedules(number)) for number in numbers]


def prepare_fitted_source(model: Model) -> Callable[[Sequence[StreamSchedule]], Source]:
    """Return what makes a source of the schedules of a session's streams of a fitted model."""
    response = response_parameters(model)
    digest = _digest(model)
    is_written_whole = _is_path_limited(model)
    pacing, plays = _find_pacing(model), _DOWNLOAD if is_written_whole else None
    if pacing is not None:
        plays = f"the pacing of its server: {describe_pacing(pacing)}"

    def make_source(streams: Sequence[StreamSchedule]) -> Source:
        schedules = tuple(_schedule(stream) for stream in streams)
        if pacing is not None:
            schedules = tuple(_pace(schedule, pacing) for schedule in schedules)
        return Source(
            name=model.name,
            kind="fitted",
            parameters={"streams": _streams(streams), "response": response},
            digest=digest,
            schedules=tuple(map(_write_whole, schedules)) if is_written_whole else schedules,
            plays=plays,
        )

    return make_source


_DOWNLOAD = "its download, as fast as the path takes it"


def _is_path_limited(model: Model) -> bool:
    """Return whether a model is of a download over TCP that took most of its link's rate."""
    application, provenance = model.application, model.provenance
    is_download = application is None or application.kind == "bulk"
    if not is_download or provenance.kind != "fitted" or not provenance.conditions.capacity:
        return False
    if len(model.streams) != 1 or model.streams[0].transport.protocol != "tcp":
        return False
    phases = model.streams[0].phases
    bits = sum(phase.duration_s * phase.rate_bps for phase in phases)
    steps = provenance.conditions.capacity
    ends_s = [*(step.start_s for step in steps[1:]), math.inf]
    end_s = max(phase.start_s + phase.duration_s for phase in phases)
    link_bits = sum(
        bps_from_kbps(step.kbps.value) * max(0.0, min(end, end_s) - step.start_s)
        for step, end in zip(steps, ends_s, strict=True)
        if step.kbps is not None
    )
    return bits > PATH_LIMITED_SHARE * link_bits > 0


def _write_whole(schedule: Schedule) -> Schedule:
    """Return a schedule whose packets all leave at the time of the first: TCP paces them."""
    time_ns, payload_bytes, phase, rtp_timestamp, ends_frame = schedule
    start_ns = np.full_like(time_ns, time_ns[0] if time_ns.size else 0)
    return start_ns, payload_bytes, phase, rtp_timestamp, ends_frame


def _find_pacing(model: Model) -> Pacing | None:
    """Return how the server of a model of one stream over TCP paces its response."""
    is_one = len(model.streams) == 1 and model.streams[0].transport.protocol == "tcp"
    return model.application.pacing if is_one and model.application is not None else None


def _pace(schedule: Schedule, pacing: Pacing) -> Schedule:
    """Return a schedule whose packets leave as the server sends: a burst, then block by block."""
    time_ns, payload_bytes, phase, rtp_timestamp, ends_frame = schedule
    later_bytes = np.maximum(np.cumsum(payload_bytes) - pacing.burst_bytes.value, 0.0)
    block_bytes = pacing.block_bytes.value
    blocks = np.ceil(later_bytes / block_bytes)
    wait_s = block_bytes * BITS_PER_BYTE / bps_from_kbps(pacing.rate_kbps.value)
    start_ns = time_ns[:1] + ns_array_from_s(blocks * wait_s)
    return start_ns, payload_bytes, phase, rtp_timestamp, ends_frame


def _digest(model: Model) -> str:
    return f"sha256:{hashlib.sha256(dump_model(model).encode()).hexdigest()}"


def prepare_player_source(
    model: Model, settings: Mapping[str, JsonValue]
) -> Callable[[Player], Source]:
    """Return what makes an engine's source of players of a fitted model; of equal ones, one.

    Warns:
        SimulationWarning: If something of a player is assumed.
    """
    digest = _digest(model)
    made: dict[str, Source] = {}

    def make_source(player: Player) -> Source:
        key = repr(player)
        if key not in made:
            made[key] = _make_player_source(model, player, settings, digest=digest)
        return made[key]

    return make_source


def _make_player_source(
    model: Model, player: Player, settings: Mapping[str, JsonValue], *, digest: str
) -> Source:
    if player.assumed:
        text = f"{model.name}: the capture does not show all of its player; assumed are"
        warn(f"{text} {'; '.join(player.assumed)}; settings change it", SimulationWarning)
    entry = load_entry(player.entry)
    try:
        source = make_published_source(entry, player.settings)
    except SettingError as error:
        problem = str(error).removeprefix(f"{entry.name}: ")
        place = "its player" if settings else "application"
        raise SettingError(f"{model.name}: {place}: {problem}") from error
    source = replace(
        source, name=model.name, settings=dict(settings), digest=digest, plays=player.plays
    )
    is_udp = any(stream.transport.protocol == "udp" for stream in model.streams)
    return set_quic(source, _QUIC) if is_udp and source.kind != STREAMS else source


#: Mechanism of sources whose client sends media too.
STREAMS = "streams"
#: Parameters of published models that give the length of a session, and of its first silence, s.
LENGTH_KEYS = ("duration_s", "clip_s", "clip_length_s", "length_s", "video_s")
SILENCE_KEYS = ("silence_s", "quiet_s")


def make_published_source(model: PublishedModel, settings: Mapping[str, JsonValue]) -> Source:
    """Return a published model as an engine's source; raise SettingError for a wrong setting."""
    changed = with_settings(model, settings)
    try:
        check_mechanism(changed)
    except ValueError as error:
        raise SettingError(f"{model.name}: {error}") from error
    return Source(
        name=model.name,
        kind=model.mechanism.kind,
        parameters=parameters_for_engine(changed),
        settings=dict(settings),
        digest=entry_digest(model),
        competing_tcp=competing_tcp(model),
    )


def _streams(schedules: Iterable[StreamSchedule]) -> list[dict[str, object]]:
    streams: list[dict[str, object]] = []
    taken: set[int] = set()  # ports; a stream takes a pair, of media and RTCP
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
        elif transport.is_quic:
            stream |= {"protocol": "quic", "quic": _QUIC}
        streams.append(stream)
    return streams


def _schedule(one: StreamSchedule) -> Schedule:
    transport = one.stream.transport
    header_bytes = transport.header_bytes if transport.protocol == "tcp" else _DATAGRAM_HEADER_BYTES
    if transport.is_quic:
        header_bytes += _QUIC_HEADER_BYTES
    payload_bytes = np.maximum(one.ip_bytes, header_bytes + 1) - np.uint32(header_bytes)
    return (
        np.ascontiguousarray(one.time_ns, dtype=np.int64),
        np.ascontiguousarray(payload_bytes, dtype=np.uint32),
        np.ascontiguousarray(one.phase, dtype=np.uint8),
        np.ascontiguousarray(one.rtp_timestamp, dtype=np.uint32),
        np.ascontiguousarray(one.ends_frame, dtype=np.bool_),
    )
