"""The receivers' view of sessions: packets at their arrival, lost ones left out, session by
session.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from trafficgen.generation.session import FlowRow
from trafficgen.generation.superposition import superposed
from trafficgen.packet_files.view import select_view
from trafficgen.tables import FLOW_SCHEMA, PacketTable
from trafficgen.units import IntArray
from trafficgen.workloads.blocks import Sessions


@dataclass(frozen=True)
class ReceivedSessions:
    """Sessions as their receivers see them; those that play open loop, where arrivals are not
    known, as they are.

    Attributes:
        sessions: The sessions, as the senders see them.
    """

    sessions: Sessions

    @property
    def count(self) -> int:
        """Number of sessions."""
        return self.sessions.count

    @property
    def starts_ns(self) -> IntArray:
        """When each starts, ns from the origin, shape (count,)."""
        return self.sessions.starts_ns

    @property
    def notes(self) -> dict[str, object]:
        """How they are made, JSON-compatible."""
        return self.sessions.notes

    @property
    def request(self) -> dict[str, object]:
        """All that their packets depend on, JSON-compatible."""
        return {**self.sessions.request, "at": "receiver"}

    def expected_packets(self, sessions: range) -> float:
        """Return about how many packets some of the sessions have."""
        return self.sessions.expected_packets(sessions)

    def block(self, first: int, count: int) -> tuple[list[pa.Table], list[FlowRow]]:
        """Return packets and flow rows of ``count`` sessions from the session ``first`` on, flows
        numbered from 0.
        """
        tables, rows = self.sessions.block(first, count)
        flows = pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)
        seen = select_view(PacketTable(packets=superposed(tables), flows=flows), "receiver")
        return [seen.packets], seen.flows.to_pylist()
