"""Workloads made in memory, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from trafficgen.generation.columns import order_columns, superpose
from trafficgen.progress import report_step
from trafficgen.tables import FLOW_SCHEMA, PacketTable
from trafficgen.units import s_from_ns
from trafficgen.workloads.blocks import Block, Sessions, cut, number_flows
from trafficgen.workloads.merge import MemoryPart, merge_at_once

#: Packets of a block: as many as are put in order within the processor's cache.
_BLOCK_PACKETS = 1 << 16


@dataclass(frozen=True)
class MemoryWorkload:
    """All sessions, in memory.

    Attributes:
        parts: The packets of their blocks.
        flows: Rows of all flows.
        notes: How they were made.
    """

    parts: tuple[MemoryPart, ...]
    flows: pa.Table
    notes: dict[str, object]

    @property
    def packets(self) -> int:
        """Number of packets."""
        return sum(part.rows for part in self.parts)

    @property
    def duration_s(self) -> float:
        """First to last packet, s."""
        first_ns = min((part.first_ns for part in self.parts), default=0)
        return s_from_ns(max((part.last_ns for part in self.parts), default=0) - first_ns)

    @property
    def columns(self) -> frozenset[str]:
        """Columns of the packet table that have values."""
        return frozenset(name for part in self.parts for name in part.table.column_names)

    def packets_in_order(self) -> Iterator[pa.Table]:
        """Yield the packets of all sessions in order of time, then of flow."""
        yield from merge_at_once(self.parts)

    def table(self, *, origin_ns: int) -> PacketTable:
        """Return all packets as one table, whose times count from ``origin_ns``."""
        pieces: list[pa.Table] = []
        done = 0
        for piece in self.packets_in_order():
            pieces.append(piece)
            done += piece.num_rows
            report_step("putting packets in order", done, self.packets, unit="packets")
        packets = order_columns(pa.concat_tables(pieces, promote_options="default"))
        return PacketTable(
            packets=packets.combine_chunks(),
            flows=self.flows,
            origin_ns=origin_ns,
            notes=self.notes,
        )


def make_in_memory(sessions: Sessions, *, workers: int) -> MemoryWorkload:
    """Make all sessions of a workload; ``workers`` threads share the blocks.

    Raises:
        GenerationError: If a session cannot be played.
        ValueError: If there is no worker.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    parts: list[MemoryPart] = []
    flows: list[pa.Table] = [FLOW_SCHEMA.empty_table()]
    blocks, first_flow, done = cut(sessions, packets=_BLOCK_PACKETS), 0, 0
    with ThreadPoolExecutor(workers) as pool:
        run = map if workers == 1 or len(blocks) == 1 else pool.map
        tables = run(partial(_make_block, sessions), blocks)
        for block, (packets, rows) in zip(blocks, tables, strict=True):
            if packets.num_rows:
                parts.append(MemoryPart(packets, first_flow))
            flows.append(number_flows(rows, first_flow))
            first_flow, done = first_flow + rows.num_rows, done + block.count
            report_step("generating", done, sessions.count, unit="sessions")
    return MemoryWorkload(tuple(parts), pa.concat_tables(flows), sessions.notes)


def _make_block(sessions: Sessions, block: Block) -> tuple[pa.Table, pa.Table]:
    """Return the packets of a block in order, and the rows of its flows."""
    tables, rows = sessions.block(block.first, block.count)
    return superpose(tables), pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)
