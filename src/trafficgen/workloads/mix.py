"""A mix of sessions of one or several models, numbered in the order of their starts.

Uniform draws come in chunks of sessions, each from a random stream of its own, so that a block of
sessions needs only the chunks it lies in, and what a session draws depends on its number alone.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen.errors import GenerationError
from trafficgen.formatting import format_count
from trafficgen.generation.addresses import AddressPlan
from trafficgen.generation.arrivals import MOST_SESSIONS, arrival_times_ns
from trafficgen.generation.columns import PlacedColumns, order_windows, superpose, to_tables
from trafficgen.generation.model_player import Viewing
from trafficgen.generation.session import FlowRow, SessionPackets
from trafficgen.models import Model
from trafficgen.packet_files.formats import View
from trafficgen.packet_files.writing import select_view
from trafficgen.randomness import random_stream
from trafficgen.tables import FLOW_SCHEMA, PacketTable
from trafficgen.units import FloatArray, IntArray, s_from_ns
from trafficgen.workloads.group_player import EntryPlayer, GroupPlayer
from trafficgen.workloads.plan import PlannedGroup, PlannedWorkload

#: Sessions whose draws come from one random stream.
_CHUNK = 4096


def uniform_draws(seed: int, purpose: str, first: int, count: int) -> FloatArray:
    """Return a draw in [0, 1) for each of ``count`` sessions from the session ``first`` on."""
    chunks = range(first // _CHUNK, (first + count - 1) // _CHUNK + 1)
    drawn = [
        random_stream(seed, session=chunk, purpose=f"workload/{purpose}").random(_CHUNK)
        for chunk in chunks
    ]
    start = first - chunks.start * _CHUNK
    return np.concatenate(drawn)[start : start + count]


#: Most flows of a session of a published model whose addresses are used again; most have five.
_FLOWS_OF_ENTRY = 32
#: Sessions that are sampled for the mean length: this many runs of this many.
_SAMPLED_RUNS, _SAMPLED_EACH = 8, 125


@dataclass(frozen=True, kw_only=True)
class MixedSessions:
    """Sessions of a workload, made in any order, here or in another process.

    Attributes:
        at: Whose packets they are: the receivers see those of the servers at their arrival, without
            lost ones. None: all, at their times of sending. Where arrivals are unknown, next to
            sessions that play open loop, it is all the same.

    Raises:
        ValueError: If the seed is negative.
    """

    workload: PlannedWorkload
    seed: int
    at: View | None = None

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError(f"the seed must not be negative, got {self.seed}")

    def __getstate__(self) -> dict[str, object]:
        """Return what another process needs: the rest is computed there again."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def count(self) -> int:
        """Number of sessions."""
        return int(self.starts_ns.size)

    @property
    def starts_ns(self) -> IntArray:
        """When each session starts, ns from the origin, ascending, shape (count,)."""
        return self._order[0]

    @property
    def groups(self) -> npt.NDArray[np.uint16]:
        """Number of each session's group in the workload, shape (count,)."""
        return self._order[1]

    @property
    def notes(self) -> dict[str, object]:
        """How the sessions are made, for the notes of the packet table."""
        counts = np.bincount(self.groups, minlength=len(self.workload.groups)).tolist()
        groups = [
            {"name": group.name, "model": group.model.name, "sessions": sessions}
            for group, sessions in zip(self.workload.groups, counts, strict=True)
        ]
        return {
            "workload": self.workload.name,
            "seed": self.seed,
            "sessions": self.count,
            "groups": groups,
        }

    @property
    def request(self) -> dict[str, object]:
        """All that their packets depend on, JSON-compatible."""
        durations = hashlib.sha256(
            repr([(group.duration, group.variation) for group in self.workload.groups]).encode()
        )
        return {
            "workload": self.workload.description.model_dump(mode="json"),
            "digests": list(self.workload.digests),
            "sessions": self.workload.sessions,
            "window_s": self.workload.window_s,
            "durations": durations.hexdigest(),
            "seed": self.seed,
            "at": self.at,
        }

    def check(self) -> None:
        """Refuse what cannot be played, before anything is.

        Raises:
            GenerationError: If no session starts, a session would be too short, or ranges of
                addresses are too small or overlap in part.
        """
        _ = self._order, self._players

    def expected_packets(self, sessions: range) -> float:
        """Return about how many packets some of the sessions have, from a sample of many."""
        if len(sessions) > _SAMPLED_RUNS * _SAMPLED_EACH:
            last = sessions.stop - _SAMPLED_EACH
            firsts = np.linspace(sessions.start, last, _SAMPLED_RUNS).astype(int).tolist()
            sampled = sum(
                self.expected_packets(range(first, first + _SAMPLED_EACH)) for first in firsts
            )
            return sampled * len(sessions) / (_SAMPLED_RUNS * _SAMPLED_EACH)
        return sum(
            player.model.expected_packets(viewing)
            for player, viewing in self.viewings(sessions.start, len(sessions))
        )

    def expectations(self, sessions: range) -> FloatArray:
        """Return about how many packets each session has, and its length, s, shape (n, 2)."""
        viewings = self.viewings(sessions.start, len(sessions))
        return np.array([player.model.expectation(viewing) for player, viewing in viewings])

    @property
    def count_text(self) -> str:
        """Number of sessions for people, with those that groups have apart from the others."""
        counts = np.bincount(self.groups, minlength=len(self.workload.groups)).tolist()
        numbered = list(zip(self.workload.groups, counts, strict=True))
        shared = [count for group, count in numbered if group.arrivals is None]
        parts = [f"{count:,} of group {group.name}" for group, count in numbered if group.arrivals]
        text = format_count(self.count, "session")
        return (
            f"{text} ({' and '.join([f'{sum(shared):,}', *parts])})" if shared and parts else text
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What people need to know about how they are made, such as rates that are scaled."""
        workload, found = self.workload, []
        if any(group.arrivals is None for group in workload.groups):
            found = [
                workload.arrivals.explain(sessions=workload.sessions, window_s=workload.window_s)
            ]
        for group in workload.groups:
            if group.arrivals is not None:
                text = group.arrivals.explain(sessions=group.sessions, window_s=workload.window_s)
                found.append(f"group {group.name}: {text}" if text else "")
        return (*filter(None, found), *workload.remarks)

    def describe(self) -> Iterator[dict[str, object]]:
        """Yield what each session plays and when, in order of the starts."""
        for player, viewing in self.viewings(0, self.count):
            model = player.model
            yield {
                "session": viewing.session,
                "start_s": s_from_ns(int(self.starts_ns[viewing.session])),
                "group": player.group.name,
                "model": player.group.model.name,
                "seed": self.seed,
                "duration_s": model.length_s(viewing),
                "media_s": model.media_s(viewing) if isinstance(model, EntryPlayer) else None,
                "clip": viewing.clip,
                "rate_factor": viewing.rate_factor,
            }

    def block(self, first: int, count: int) -> tuple[list[pa.Table], list[FlowRow]]:
        """Return packets and flow rows of ``count`` sessions from ``first`` on, flows from 0."""
        columns: list[PlacedColumns] = []
        tables: list[pa.Table] = []
        flows: list[FlowRow] = []
        for player, viewing in self.viewings(first, count):
            played = self._play(player, viewing, first_flow=len(flows))
            if isinstance(played, SessionPackets):
                columns += played.packets()
                flows += played.rows()
                continue
            packets, rows = played
            flows += rows
            # Next to sessions that play open loop, a packet without arrival would look lost.
            if self._has_fitted and "arrival_ns" in packets.column_names:
                packets = packets.drop_columns(["arrival_ns"])
            tables.append(packets)
        tables = [*to_tables(columns), *tables]
        if self.at is None or self._has_fitted:
            return tables, flows
        sent = PacketTable(
            packets=superpose(tables), flows=pa.Table.from_pylist(flows, schema=FLOW_SCHEMA)
        )
        seen = select_view(sent, self.at)
        return [seen.packets], seen.flows.to_pylist()

    def windows(self, session: int, flows: list[FlowRow]) -> Iterator[pa.Table]:
        """Yield the packets of one session in order, and add its rows to the flows at the end."""
        ((player, viewing),) = self.viewings(session, 1)
        if isinstance(player.model, EntryPlayer):
            tables, rows = self.block(session, 1)
            yield superpose(tables)
            flows += rows
            return
        played = self._play(player, viewing, first_flow=len(flows))
        assert isinstance(played, SessionPackets)
        yield from order_windows((to_tables(parts), end) for parts, end in played.windows())
        flows += played.rows()

    def packets_at_once(self, session: int) -> float:
        """Return about how many packets of a session are in memory while it is made."""
        ((player, viewing),) = self.viewings(session, 1)
        return player.model.packets_at_once(viewing)

    def _play(
        self, player: GroupPlayer, viewing: Viewing, *, first_flow: int
    ) -> SessionPackets | tuple[pa.Table, list[FlowRow]]:
        return player.model.session(
            viewing,
            start_ns=int(self.starts_ns[viewing.session]),
            first_flow=first_flow,
            addresses=player.addresses,
        )

    @cached_property
    def _has_fitted(self) -> bool:
        return any(isinstance(group.model, Model) for group in self.workload.groups)

    @cached_property
    def _order(self) -> tuple[IntArray, npt.NDArray[np.uint16]]:
        """When each session starts, ns, and its group, sessions in order of their starts."""
        processes = list(self._processes())
        starts_ns = np.concatenate([starts for starts, _ in processes])
        groups = np.concatenate([groups for _, groups in processes])
        if not starts_ns.size:
            raise GenerationError(
                f"no session of {self.workload.name} starts; ask for a longer time, more sessions"
                " or higher rates"
            )
        if starts_ns.size > MOST_SESSIONS:
            raise GenerationError(
                f"{starts_ns.size:,} sessions are more than {MOST_SESSIONS:,}; ask for fewer"
            )
        if len(processes) > 1:
            order = np.argsort(starts_ns, kind="stable")
            return starts_ns[order], groups[order]
        return starts_ns, groups

    def _processes(self) -> Iterator[tuple[IntArray, npt.NDArray[np.uint16]]]:
        """Yield starts and groups of the sessions that share arrivals, then of each other group."""
        workload = self.workload
        shares = np.cumsum([group.share for group in workload.groups])
        fewest = 0 if any(group.arrivals is not None for group in workload.groups) else 1
        if any(group.arrivals is None for group in workload.groups):
            starts_ns = arrival_times_ns(
                workload.arrivals,
                seed=self.seed,
                sessions=workload.sessions,
                window_s=workload.window_s,
                fewest=fewest,
            )
            groups = np.zeros(starts_ns.size, dtype=np.uint16)
            if len(workload.groups) > 1 and starts_ns.size:
                draws = uniform_draws(self.seed, "group", 0, starts_ns.size)
                groups = _choose_groups(shares, draws)
            yield starts_ns, groups
        for place, group in enumerate(workload.groups):
            if group.arrivals is not None:
                starts_ns = arrival_times_ns(
                    group.arrivals,
                    seed=self.seed,
                    sessions=group.sessions,
                    window_s=workload.window_s,
                    purpose=f"session arrivals/{group.name}",
                    fewest=fewest,
                )
                yield starts_ns, np.full(starts_ns.size, place, dtype=np.uint16)

    def viewings(self, first: int, count: int) -> Iterator[tuple[GroupPlayer, Viewing]]:
        """Yield the player of each session, and what it plays, in order of the sessions."""
        sessions = np.arange(first, first + count)
        groups = self._order[1][first : first + count]
        purposes = ("clip", "duration", "leaving", "left")
        varied = [
            f"vary {name}"
            for name in ("duration", "rate", "size")
            if any(getattr(group.variation, name) for group in self.workload.groups)
        ]
        uniforms = {
            purpose: uniform_draws(self.seed, purpose, first, count)
            for purpose in (*purposes, *varied)
        }
        found: dict[int, tuple[GroupPlayer, Viewing]] = {}
        for group in np.unique(groups).tolist():
            own = groups == group
            player = self._players[group]
            viewings = player.viewings(
                sessions[own], {name: draws[own] for name, draws in uniforms.items()}
            )
            found |= {viewing.session: (player, viewing) for viewing in viewings}
        for session in sessions.tolist():
            yield found[session]

    @cached_property
    def _players(self) -> tuple[GroupPlayer, ...]:
        return tuple(
            GroupPlayer(group, seed=self.seed, addresses=plan)
            for group, plan in zip(self.workload.groups, self._address_plans(), strict=True)
        )

    def _address_plans(self) -> tuple[AddressPlan | None, ...]:
        """Return a plan for each group; a single fitted model without ranges needs none."""
        groups = self.workload.groups
        has_ranges = bool(groups[0].clients or groups[0].servers)
        if len(groups) == 1 and not has_ranges and self._has_fitted:
            return (None,)
        flows_each = max(map(_flows_of, groups))
        plans = tuple(
            AddressPlan(
                clients=group.clients,
                servers=group.servers,
                flows_each=flows_each,
                sessions=self.count,
            )
            for group in groups
        )
        for group, plan in zip(groups, plans, strict=True):
            for version in {4, 6} & {*group.clients, *group.servers} or {4}:
                plan.check(version)
        for (one, plan), (two, other) in itertools.combinations(zip(groups, plans, strict=True), 2):
            if plan.overlaps(other):
                raise GenerationError(
                    f"groups {one.name!r} and {two.name!r}: their clients and servers overlap in"
                    " part, so that two sessions could have the same addresses and ports; make the"
                    " ranges equal or keep them apart"
                )
        return plans


def _choose_groups(
    shares: npt.NDArray[np.float64], draws: npt.NDArray[np.float64]
) -> npt.NDArray[np.uint16]:
    """Return the group of each session that shares the workload's arrivals."""
    groups = np.searchsorted(shares / shares[-1], draws, side="right")
    return np.minimum(groups, shares.size - 1).astype(np.uint16)


def _flows_of(group: PlannedGroup) -> int:
    if not isinstance(group.model, Model):
        return _FLOWS_OF_ENTRY
    prototypes = () if group.model.population is None else group.model.population.prototypes
    return max(
        len(group.model.streams), *(len(prototype.streams or ()) for prototype in prototypes), 1
    )
