"""Open-loop generation: a model plays as it was fitted, without a path."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen.errors import GenerationError
from trafficgen.generation.arrivals import session_starts
from trafficgen.generation.columns import (
    PlacedColumns,
    order_columns,
    order_windows,
    superpose,
    to_tables,
)
from trafficgen.generation.model_player import ModelPlayer, Viewing
from trafficgen.generation.session import FlowRow, SessionPackets, StreamSchedule, stream_schedules
from trafficgen.generation.timeline import check_memory
from trafficgen.models import Model
from trafficgen.tables import DEFAULT_ORIGIN_NS, FLOW_SCHEMA, PacketTable
from trafficgen.units import FloatArray, IntArray

#: Sessions differ: this many of them are sampled for the mean length.
_SAMPLED = 1000


@dataclass(frozen=True, kw_only=True)
class OpenLoopSessions:
    """Sessions of a model that play open loop, made in any order, here or in another process.

    Where the model has a population, sessions differ: each draws its length, rate, buffering and
    silence first. Each quantity of a session has a random stream of its own, derived from the seed,
    the session and the quantity, so that any part of the packets depends on the seed alone. Times
    are those at which each end sends.

    Attributes:
        duration_s: Length of each from its first packet, s; None for that of the model. A longer
            one stretches the last playout of each stream, a shorter one cuts.
        arrival_rate_per_s: Mean number of sessions starting in a second (Poisson); None: all
            together.

    Raises:
        GenerationError: If there is no session.
        ValueError: If the seed is negative or the rate not positive.
    """

    model: Model
    count: int = 1
    duration_s: float | None = None
    seed: int = 0
    arrival_rate_per_s: float | None = None
    #: Sessions of several groups have notes of their counts; those of one model have none.
    count_text: ClassVar[str] = ""
    remarks: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.count < 1:
            raise GenerationError(f"{self.count} sessions cannot be generated; ask for at least 1")
        if self.seed < 0:
            raise ValueError(f"the seed must not be negative, got {self.seed}")
        rate = self.arrival_rate_per_s
        if rate is not None and not (rate > 0 and math.isfinite(rate)):
            raise ValueError(f"arrival_rate_per_s must be positive and finite, got {rate}")

    def __getstate__(self) -> dict[str, object]:
        """Return what another process needs: the rest is computed there again."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def notes(self) -> dict[str, object]:
        """How they are made, for the notes of their table."""
        return {"model": self.model.name, "seed": self.seed, "sessions": self.count}

    @property
    def request(self) -> dict[str, object]:
        """All that their packets depend on, JSON-compatible."""
        model = hashlib.sha256(self.model.model_dump_json().encode()).hexdigest()
        return {part.name: getattr(self, part.name) for part in fields(self)} | {"model": model}

    @cached_property
    def starts_ns(self) -> IntArray:
        """When each session starts, ns from the origin, shape (count,)."""
        return session_starts(
            self.count, arrival_rate_per_s=self.arrival_rate_per_s, seed=self.seed
        )

    @property
    def groups(self) -> npt.NDArray[np.uint16]:
        """Group of each session: all are of one, shape (count,)."""
        return np.zeros(self.count, dtype=np.uint16)

    @cached_property
    def player(self) -> ModelPlayer:
        """The model, ready to play."""
        return ModelPlayer(self.model, seed=self.seed)

    def viewing(self, session: int) -> Viewing:
        """Return what a session plays: the whole model, for the length of all sessions."""
        return Viewing(session=session, length_s=self.duration_s)

    def check_memory(self, **costs: int) -> None:
        """Raise GenerationError if all packets do not fit in the memory at once."""
        flows = self.count * len(self.model.streams)
        packets = self.expected_packets(range(self.count))
        check_memory(packets, flows=flows, sessions=self.count, **costs)

    def expected_packets(self, sessions: range) -> float:
        """Return about how many packets some of the sessions have."""
        sampled = sessions[:: max(1, len(sessions) // _SAMPLED)]
        packets = sum(self.player.expected_packets(self.viewing(session)) for session in sampled)
        return packets * len(sessions) / max(1, len(sampled))

    def expectations(self, sessions: range) -> FloatArray:
        """Return about how many packets each session has, and its length, s, shape (n, 2)."""
        return np.array([self.player.expectation(self.viewing(session)) for session in sessions])

    def block(self, first: int, count: int) -> tuple[list[pa.Table], list[FlowRow]]:
        """Return packets and flow rows of ``count`` sessions from ``first`` on, flows from 0."""
        packets: list[PlacedColumns] = []
        flows: list[FlowRow] = []
        for session in range(first, first + count):
            played = self._play(session, first_flow=len(flows))
            packets += played.packets()
            flows += played.rows()
        return to_tables(packets), flows

    def windows(self, session: int, flows: list[FlowRow]) -> Iterator[pa.Table]:
        """Yield the packets of one session in order, and add its rows to the flows at the end."""
        played = self._play(session, first_flow=len(flows))
        yield from order_windows((to_tables(parts), end) for parts, end in played.windows())
        flows += played.rows()

    def packets_at_once(self, session: int) -> float:
        """Return about how many packets of a session are in memory while it is made."""
        return self.player.packets_at_once(self.viewing(session))

    def _play(self, session: int, *, first_flow: int) -> SessionPackets:
        return self.player.session(
            self.viewing(session), start_ns=int(self.starts_ns[session]), first_flow=first_flow
        )

    def schedules(self, session: int) -> tuple[StreamSchedule, ...]:
        """Draw what the streams of a session send."""
        timeline = self.player.timeline(self.viewing(session))
        return stream_schedules(timeline, session=session, seed=self.seed)

    def make_table(self) -> PacketTable:
        """Return the packets of all sessions as one table, from the default origin on.

        Raises:
            GenerationError: If the model cannot be played for this time, or the packets do not fit
                in this machine's memory.
        """
        self.check_memory()
        packets, flows = self.block(0, self.count)
        return PacketTable(
            packets=order_columns(superpose(packets)),
            flows=pa.Table.from_pylist(flows, schema=FLOW_SCHEMA),
            origin_ns=DEFAULT_ORIGIN_NS,
            notes=self.notes,
        )
