"""All sessions of a workload as one packet table, where they fit in memory."""

from __future__ import annotations

import pyarrow as pa

from trafficgen.generation.superposition import superposed
from trafficgen.tables import DEFAULT_ORIGIN_NS, FLOW_SCHEMA, PacketTable
from trafficgen.workloads.blocks import Sessions


def whole_table(sessions: Sessions, *, origin_ns: int = DEFAULT_ORIGIN_NS) -> PacketTable:
    """Return the packets of all sessions in order of time, then of flow: what merged blocks are too.

    Args:
        sessions: The sessions.
        origin_ns: Time of the workload's start since 1970-01-01 UTC, ns.

    Raises:
        GenerationError: If a session cannot be played.
        SimulationError: If a session cannot be simulated.
    """
    tables, rows = sessions.block(0, sessions.count)
    return PacketTable(
        packets=superposed(tables),
        flows=pa.Table.from_pylist(rows, schema=FLOW_SCHEMA),
        origin_ns=origin_ns,
        notes=sessions.notes,
    )
