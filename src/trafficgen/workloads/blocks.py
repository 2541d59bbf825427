"""Blocks of sessions: each is made by itself, by any worker, and leaves a part that is whole or is not there.

A block's number of packets is about the same whatever the number of workers, and the merged packets do not depend on
where the sessions were cut, so that a run can go on with other workers than it began with.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from trafficgen.generation.session import FlowRow
from trafficgen.generation.superposition import superposed
from trafficgen.tables import FLOW_SCHEMA
from trafficgen.units import IntArray
from trafficgen.workloads.parts import Part, write_batches

#: Packets of a block: enough that starting one costs nothing, few enough that several fit in a worker's memory.
BLOCK_PACKETS = 1 << 20
#: Rows of the flow table of a block are held beside its packets.
_MOST_SESSIONS = 1 << 14
#: Sessions of a population differ: this many say how long they are on average.
_SAMPLED = 1000


class Sessions(Protocol):
    """What plays the sessions of a workload; it is handed to other processes."""

    @property
    def count(self) -> int:
        """Number of sessions."""
        ...

    @property
    def starts_ns(self) -> IntArray:
        """When each starts, ns from the origin, shape (count,)."""
        ...

    @property
    def notes(self) -> dict[str, object]:
        """How they are made, JSON-compatible."""
        ...

    def expected_packets(self, sessions: range) -> float:
        """Return about how many packets some of the sessions have."""
        ...

    def block(self, first: int, count: int) -> tuple[list[pa.Table], list[FlowRow]]:
        """Return packets and flow rows of ``count`` sessions from the session ``first`` on, flows numbered from 0."""
        ...


@dataclass(frozen=True)
class Block:
    """Some sessions that are made together.

    Attributes:
        place: Number of the block.
        first: First session.
        count: Number of sessions.
    """

    place: int
    first: int
    count: int

    @property
    def name(self) -> str:
        """Name of its files without their endings."""
        return block_name(self.place)


def block_name(place: int) -> str:
    """Return the name of a block's files without their endings."""
    return f"block-{place:06d}"


@dataclass(frozen=True)
class MadeBlock:
    """A block that is on disk.

    Attributes:
        place: Number of the block.
        rows: Packets.
        size_bytes: Bytes that they take in memory.
        first_ns: Time of the first packet, ns from the origin.
        last_ns: Time of the last packet, ns from the origin.
        flows: Number of flows.
        columns: Optional columns that have values.
    """

    place: int
    rows: int
    size_bytes: int
    first_ns: int
    last_ns: int
    flows: int
    columns: tuple[str, ...]

    def part(self, folder: Path, *, first_flow: int) -> Part:
        """Return its packets."""
        path = folder / f"block-{self.place:06d}.arrow"
        return Part(
            path=path, rows=self.rows, size_bytes=self.size_bytes, first_ns=self.first_ns, first_flow=first_flow
        )

    def flow_table(self, folder: Path, *, first_flow: int) -> pa.Table:
        """Return the rows of its flows, numbered in the workload."""
        with pa.OSFile(str(folder / f"{block_name(self.place)}.flows.arrow"), "rb") as file:
            flows = pa.ipc.open_file(file).read_all()
        numbers = pa.array(range(first_flow, first_flow + flows.num_rows), type=pa.uint32())
        return flows.set_column(0, FLOW_SCHEMA.field("flow"), numbers)


def cut(sessions: Sessions, *, packets: int = BLOCK_PACKETS) -> tuple[Block, ...]:
    """Return blocks of about ``packets`` packets; a session is never cut."""
    mean = max(1.0, sessions.expected_packets(range(min(sessions.count, _SAMPLED))) / min(sessions.count, _SAMPLED))
    size = max(1, min(_MOST_SESSIONS, int(packets / mean)))
    return tuple(
        Block(place, first, min(size, sessions.count - first))
        for place, first in enumerate(range(0, sessions.count, size))
    )


def make_block(sessions: Sessions, block: Block, folder: Path) -> MadeBlock:
    """Make a block and leave it in a folder: packets, flows, and last, under its final name, what says it is whole."""
    tables, rows = sessions.block(block.first, block.count)
    packets = superposed(tables)
    made = MadeBlock(
        place=block.place,
        rows=packets.num_rows,
        size_bytes=packets.nbytes,
        first_ns=packets.column("time_ns")[0].as_py() if packets.num_rows else 0,
        last_ns=packets.column("time_ns")[-1].as_py() if packets.num_rows else 0,
        flows=len(rows),
        columns=tuple(packets.column_names),
    )
    flows = pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)
    with _finished(folder / f"{block.name}.arrow") as path:
        write_batches(packets, path)
    with _finished(folder / f"{block.name}.flows.arrow") as path:
        write_batches(flows, path)
    with _finished(folder / f"{block.name}.json") as path:
        path.write_text(json.dumps(asdict(made)), encoding="utf-8")
    return made


def made_before(blocks: tuple[Block, ...], folder: Path) -> Iterator[MadeBlock]:
    """Yield the blocks that an earlier run has left whole."""
    for block in blocks:
        path = folder / f"{block.name}.json"
        if path.exists():
            values = json.loads(path.read_text(encoding="utf-8"))
            yield MadeBlock(**{**values, "columns": tuple(values["columns"])})


@contextmanager
def _finished(path: Path) -> Iterator[Path]:
    """Give a temporary name; at the end the file is on the disk before it gets its own."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
