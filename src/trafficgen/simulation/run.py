"""Run simulations: sessions and competing flows over a path, their outcome and its packets."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen._core import simulate
from trafficgen._core.types import SimulatedAgentDict, SimulatedFlowDict
from trafficgen.capture.memory import COSTS, Budget
from trafficgen.errors import SimulationError, SimulationWarning, warn
from trafficgen.formatting import number, size_text
from trafficgen.generation.timeline import machine_memory_bytes
from trafficgen.process_memory import memory_limit_bytes
from trafficgen.progress import has_listener, report_step
from trafficgen.simulation.links import Links
from trafficgen.simulation.outcome import Outcome
from trafficgen.simulation.path import Path
from trafficgen.simulation.sources import Participant, Schedule
from trafficgen.tables import FLOW_SCHEMA, MEDIA, PACKET_SCHEMA, PHASES, PacketTable
from trafficgen.tables.counts import with_counts
from trafficgen.tables.protocols import documentation_pair
from trafficgen.units import ETHERNET_HEADER_BYTES, FloatArray, s_from_ns

#: Competing flows go on for this long after the last session: its last packets meet them, s.
RUN_ON_S = 1.0
#: A session that does not end by itself is cut off after this time, s.
LONGEST_SESSION_S = 6 * 3600.0
#: The engine's random streams start from 64 bits.
LARGEST_SEED = 2**64 - 1
#: Packets that the engine holds.
_MOST_PACKETS = 50_000_000
#: A session that says nothing of its length lasts longer, s.
_SHORTEST_S = 1.0
#: What a packet takes from the simulation to the file, bytes, measured; also one under way of which
#: sums alone are kept.
_PACKET_BYTES = 200
#: What a session takes before it sends, a character of its parameters in JSON, and half a second of
#: what a group receives, bytes, measured.
_SESSION_BYTES, _CHARACTER_BYTES, _INTERVAL_BYTES = 8000, 12, 24
#: However little memory is allowed, this much is taken: the program and a few thousand sessions.
_LEAST_BYTES = 300_000_000
_NO_ROOM = re.compile(r"no room for more than (?P<packets>\d+) packets, (?P<time_s>[\d.]+) s")
#: What counts as media: the rest is control and bulk.
MEDIA_FLOWS = ("audio", "video", "mixed")


@dataclass(frozen=True)
class Run:
    """A simulation that has ended."""

    config: dict[str, Any]  #: scenario as the engine read it, without schedules, JSON-compatible
    participants: tuple[Participant, ...]  #: sessions and competing flows in the engine's order
    #: Mean capacity of the narrowest link to the client, bit/s; None: no limit.
    path_rate_bps: float | None
    end_s: float  #: when it was to be cut off at the latest, s
    seed: int  #: its seed
    outcome: Outcome  #: what came of it

    @property
    def agents(self) -> list[SimulatedAgentDict]:
        """Logs and samples of the participants, in their order."""
        return self.outcome.agents

    @property
    def flows(self) -> list[SimulatedFlowDict]:
        """All flows."""
        return self.outcome.flows

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """All packets in the order of their sending, each column of shape (packets,)."""
        return self.outcome.columns

    @property
    def time_zero_ns(self) -> int:
        """When the first media packet of a session was sent; the scenario's zero if none was."""
        return self.outcome.first_media_ns or 0

    def count_received_bytes(self) -> dict[str, FloatArray]:
        """Return IP bytes that arrived in each half second, by group or name, equally long.

        Sessions count their media, as of a run with sums.
        """
        series = self.outcome.series
        length = max((one.size for one in series), default=0)
        return {
            name: np.pad(one.astype(np.float64), (0, length - one.size))
            for name, one in zip(_name_series(self.participants), series, strict=False)
        }

    def flows_of(self, agent: int, *, media_only: bool = False) -> list[int]:
        """Return the numbers of a participant's flows."""
        return [
            number
            for number, flow in enumerate(self.flows)
            if flow["agent"] == agent
            and not (media_only and MEDIA[flow["media"]] not in MEDIA_FLOWS)
        ]


def run_path(
    path: Path,
    sessions: Sequence[Participant],
    competitors: Sequence[Participant] = (),
    *,
    seed: int = 0,
    most_packets: int | None = None,
    with_sums: bool = False,
    keep_packets: bool = True,
) -> Run:
    """Run sessions and competing flows over a path that all share, up to the last session's end.

    After ``most_packets`` of all flows it is given up; None: as many as fit. The seed is >= 0.
    Without ``keep_packets`` only sums over each flow are kept, and no series.

    Raises:
        SimulationError: If something cannot be simulated, which the message names, the seed is too
            large, or there are more packets.
        InputFileError: If a trace of the path cannot be used.
        ValueError: If the seed is negative or there is no session.

    Warns:
        SimulationWarning: If a session did not end by itself.
    """
    if seed < 0:
        raise ValueError(f"seed must not be negative, not {seed}")
    if not sessions:
        raise ValueError("there is no session; give one")
    if seed > LARGEST_SEED:
        raise SimulationError(f"seed {seed} is above 2^64 - 1; choose a smaller one")
    # Sessions come first, so that their random numbers do not depend on competing flows.
    taking_part = (*sessions, *competitors)
    links = Links.from_path(path)
    budget = Budget(memory_limit_bytes(), _PACKET_BYTES)
    _check(taking_part, links, budget if keep_packets else None)
    _check_parameters(taking_part, with_sums=with_sums)
    schedules: list[Schedule] = []
    agents = [_describe_agent(one, links, schedules) for one in taking_part]
    numbers = {name: number for number, name in enumerate(_name_series(taking_part))}
    for one, agent in zip(taking_part, agents, strict=True):
        if with_sums and not one.is_upload:
            agent["series"] = numbers[one.group or one.name]
    end_s = max(one.start_s for one in sessions) + LONGEST_SESSION_S
    config = {
        "seed": seed,
        "links": links.configs,
        "agents": agents,
        "run_on_s": RUN_ON_S,
        "end_s": end_s,
        "most_packets": most_packets,
        **({} if keep_packets else {"sums_only": True}),
    }
    if budget.most_packets is not None:
        config["most_packets"] = min(most_packets or budget.most_packets, budget.most_packets)
    try:
        outcome = run_scenario(config, schedules=schedules, with_sums=with_sums)
    except SimulationError as error:
        raise _explain_room(error, sessions, budget, keep_packets=keep_packets) from None
    if s_from_ns(outcome.end_ns) >= end_s:
        warn(
            f"a session had not ended after {LONGEST_SESSION_S / 3600:g} h and was cut off; give it"
            " a duration",
            SimulationWarning,
        )
    return Run(config, taking_part, links.rate_bps, end_s, seed, outcome)


def _name_series(taking_part: Sequence[Participant]) -> list[str]:
    """Return the names of what is counted over time: groups, and participants without one."""
    return list(dict.fromkeys(one.group or one.name for one in taking_part if not one.is_upload))


def check_session_count(sessions: int) -> None:
    """Raise SimulationError if this many sessions on one path do not fit in the memory."""
    _check_memory(sessions * _SESSION_BYTES, f"{sessions:,} sessions that share a path")


def _check_parameters(taking_part: Sequence[Participant], *, with_sums: bool) -> None:
    """Refuse parameters, as often as there are flows of them, and series that have no room."""
    sources = {id(one.source): one.source for one in taking_part}
    characters = {
        number: len(json.dumps(source.parameters, default=str))
        for number, source in sources.items()
    }
    in_all = sum(characters[id(one.source)] for one in taking_part)
    needed_bytes = len(taking_part) * _SESSION_BYTES + in_all * _CHARACTER_BYTES
    what = f"{len(taking_part):,} flows with {in_all:,} characters of parameters"
    if with_sums:
        end_s = max(
            one.start_s + LONGEST_SESSION_S if one.stop_s is None else one.stop_s
            for one in taking_part
            if one.is_session
        )
        series = len(_name_series(taking_part))
        needed_bytes += round(2 * end_s) * series * _INTERVAL_BYTES
        what += f", and {series:,} groups and flows over {end_s:.3g} s,"
    _check_memory(needed_bytes, what)


def _check_memory(needed_bytes: int, what: str) -> None:
    needed_bytes += COSTS.program_bytes
    limit_bytes, machine_bytes = memory_limit_bytes(), machine_memory_bytes()
    if needed_bytes > max(min(limit_bytes or machine_bytes, machine_bytes), _LEAST_BYTES):
        raise SimulationError(
            f"{what} need some {size_text(needed_bytes)} of memory; ask for fewer, or give"
            f" [--memory|memory_bytes] {_size(needed_bytes)} where the machine has it"
        )


def _size(size_bytes: float) -> str:
    return size_text(size_bytes).replace(" ", "")


def _explain_room(
    error: SimulationError, sessions: Sequence[Participant], budget: Budget, *, keep_packets: bool
) -> SimulationError:
    """Return the error with what fits, where the memory that is allowed holds no more packets."""
    found = _NO_ROOM.search(str(error))
    if found is None or budget.memory_bytes is None:
        return error
    packets, fitting_s = int(found["packets"]), float(found["time_s"])
    if not keep_packets:
        return SimulationError(
            f"{packets:,} packets wait on the path after {fitting_s:.0f} s and need all of the"
            f" {size_text(budget.memory_bytes)} of memory that is allowed; give its links smaller"
            " queues, or more [--memory|memory_bytes]"
        )
    stops_s = [math.inf if one.stop_s is None else one.stop_s for one in sessions]
    need = "more [--memory|memory_bytes]"
    if math.isfinite(max(stops_s)):
        whole = budget.need_bytes(packets * max(stops_s) / fitting_s)
        need = f"[--memory|memory_bytes] {_size(whole)}"
    return SimulationError(
        f"the first {packets:,} packets, of {fitting_s:.0f} s, need all of the"
        f" {size_text(budget.memory_bytes)} of memory that is allowed; ask for less than that with"
        f" [--duration|duration_s], or give {need}"
    )


def _describe_agent(one: Participant, links: Links, schedules: list[Schedule]) -> dict[str, object]:
    """Describe a participant for the engine; its schedules join those of the others."""
    forward, reverse = links.route(one.name, via=one.via, is_upload=one.is_upload)
    parameters = dict(one.source.parameters)
    if one.source.schedules:
        parameters["first_schedule"] = len(schedules)
        schedules += one.source.schedules
    return {
        "name": one.name,
        "kind": one.source.kind,
        "parameters": parameters,
        "start_s": one.start_s,
        "stop_s": one.stop_s,
        "awaited": one.is_session,
        "urgent": one.is_session,
        "forward": forward,
        "reverse": reverse,
    }


def run_scenario(
    scenario: Mapping[str, object], *, schedules: Sequence[Schedule] = (), with_sums: bool = False
) -> Outcome:
    """Run a JSON-compatible scenario as the engine reads it: seed, links, agents and its end.

    Parameters of agents refer to the numbers of schedules, those of streams of fitted models.

    Raises:
        SimulationError: If a link, a route or a parameter is not valid; the message names it.
    """
    config = json.dumps(scenario, allow_nan=False)
    found = simulate(config, list(schedules), _reporter(scenario))
    return Outcome.from_engine(found, with_sums=with_sums)


def _reporter(scenario: Mapping[str, object]) -> Callable[[float], None] | None:
    """Return what reports the simulated time, with the last stop if there is one."""
    if not has_listener():
        return None
    agents = scenario["agents"]
    assert isinstance(agents, list)
    stops = [agent.get("stop_s") for agent in agents if agent.get("awaited")]
    end_s = None if None in stops else max(stops, default=None)
    return lambda now_s: report_step(
        "simulating", now_s, None if end_s is None else max(now_s, end_s), unit="simulated s"
    )


def _check(taking_part: Sequence[Participant], links: Links, budget: Budget | None) -> None:
    names = Counter(one.name for one in taking_part)
    twice = next((name for name, count in names.items() if count > 1), None)
    if twice is not None:
        raise SimulationError(f"two flows are named {twice!r}; choose other names")
    end_s = max(one.start_s + _length_s(one) for one in taking_part if one.is_session)
    for one in taking_part:
        packets = _steady_packets(one, end_s)
        if packets > _MOST_PACKETS:
            raise SimulationError(
                f"{one.name}: about {number(packets, digits=3)} packets are more than"
                f" {_MOST_PACKETS:,}; lower its rate or shorten it"
            )
        if budget is not None and not budget.holds(math.ceil(packets)):
            need = budget.need_bytes(packets)
            raise SimulationError(
                f"{one.name}: about {number(packets, digits=3)} packets need {size_text(need)} of"
                f" memory, more than the {size_text(budget.memory_bytes or 0)} allowed; lower its"
                " rate, shorten it, or"
                f" give [--memory|memory_bytes] {_size(need)}"
            )
    endless = (
        one.source.kind == "bulk_tcp" and one.source.parameters.get("bytes") is None
        for one in taking_part
    )
    if links.rate_bps is None and any(endless):
        raise SimulationError("a bulk flow needs a path with a rate; add rate=... to the path")


def _number(one: Participant, name: str) -> float:
    """Return a parameter of a source; 0 where it is missing or no number (refused later)."""
    value = one.source.parameters.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _length_s(one: Participant) -> float:
    """Return how long a session lasts at least, as far as its settings say it, s."""
    stop_s = math.inf if one.stop_s is None else one.stop_s - one.start_s
    length_s = min(_number(one, "duration_s") or math.inf, stop_s)
    return _SHORTEST_S if length_s == math.inf else length_s


def _steady_packets(one: Participant, end_s: float) -> float:
    """Return how many packets a source of one rate sends, competing flows until the given time."""
    stop_s = end_s if one.stop_s is None else min(one.stop_s, end_s)
    length_s = _length_s(one) if one.is_session else stop_s - one.start_s
    if one.source.kind == "ping" and (interval_s := _number(one, "interval_s")) > 0:
        return length_s / interval_s
    if one.source.kind == "cbr" and (packet_bytes := _number(one, "packet_bytes")) > 0:
        return _number(one, "rate_bps") * length_s / (8 * packet_bytes)
    return 0.0


_PLAIN_COLUMNS = ("flow", "to_client", "ip_bytes", "payload_bytes", "retransmission")
_RTP_COLUMNS = ("rtp_sequence", "rtp_timestamp", "rtp_marker")
_TCP_COLUMNS = ("tcp_sequence", "tcp_acknowledgement", "tcp_flags", "tcp_window")


def packet_table(
    run: Run,
    *,
    origin_ns: int,
    notes: dict[str, object],
    pair_of: Callable[[int], tuple[str, str]] = documentation_pair,
) -> PacketTable:
    """Return all packets of a simulation; times count from its first packet, sent at ``origin_ns``.

    The notes are facts about how it was made; ``pair_of`` returns the addresses of a participant's
    server and client.
    """
    first_ns = int(run.columns["time_ns"][0]) if run.outcome.packets else 0
    table = PacketTable(
        packets=_packets(run, first_ns=first_ns),
        flows=pa.Table.from_pylist(_flow_rows(run, pair_of), schema=FLOW_SCHEMA),
        origin_ns=origin_ns,
        notes={**notes, "first_media_ns": run.time_zero_ns - first_ns},
    )
    return replace(table, flows=with_counts(table))


def _packets(run: Run, *, first_ns: int) -> pa.Table:
    columns = run.columns
    lost, level = ~columns["arrived"], columns["scale_level"]
    not_rtp, not_tcp = ~columns["rtp_known"], ~columns["tcp_known"]
    ssrc_of_flow = np.array([one["ssrc"] or 0 for one in run.flows], dtype=np.uint32)
    arrival_ns = np.where(lost, 0, columns["arrival_ns"] - first_ns)
    arrays: dict[str, pa.Array] = {
        **{name: pa.array(columns[name]) for name in _PLAIN_COLUMNS},
        **{name: pa.array(columns[name], mask=not_rtp) for name in _RTP_COLUMNS},
        **{name: pa.array(columns[name], mask=not_tcp) for name in _TCP_COLUMNS},
        "time_ns": pa.array(columns["time_ns"] - first_ns),
        "frame_bytes": pa.array(columns["ip_bytes"] + np.uint32(ETHERNET_HEADER_BYTES)),
        "rtp_ssrc": pa.array(ssrc_of_flow[columns["flow"]], mask=not_rtp),
        "arrival_ns": pa.array(arrival_ns, mask=lost),
        "phase": pa.DictionaryArray.from_arrays(
            columns["phase"].astype(np.int8), pa.array(PHASES, type=pa.string())
        ),
        "scale_level": pa.array(level, mask=level < 0),
    }
    return pa.table([arrays[name] for name in PACKET_SCHEMA.names], schema=PACKET_SCHEMA)


def _flow_rows(run: Run, pair_of: Callable[[int], tuple[str, str]]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    taken: set[tuple[object, ...]] = set()
    counts = [name for name in FLOW_SCHEMA.names if name.endswith(("_to_client", "_to_server"))]
    for row, flow in enumerate(run.flows):
        server, client = pair_of(flow["agent"])
        protocol, port = "tcp" if flow["tcp"] else "udp", flow["client_port"]
        while (protocol, server, client, flow["server_port"], port) in taken:
            port += 1
        taken.add((protocol, server, client, flow["server_port"], port))
        rows.append(
            {
                "flow": row,
                "session": flow["agent"],
                "protocol": protocol,
                "server": server,
                "server_port": flow["server_port"],
                "client": client,
                "client_port": port,
                "media": MEDIA[flow["media"]],
                "ssrc": flow["ssrc"],
                "payload_type": flow["payload_type"],
                "clock_hz": flow["clock_hz"],
                "first_time_ns": 0,
                "last_time_ns": 0,
                **dict.fromkeys(counts, 0),
            }
        )
    return rows
