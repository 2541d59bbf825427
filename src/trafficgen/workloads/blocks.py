"""Blocks of sessions: each is made by itself, by any worker, and leaves files that are whole or are
not there.

A block's number of packets is about the same whatever the number of workers, and the merged packets
do not depend on where the sessions were cut, so that a run can go on with other workers than it
began with.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from trafficgen.errors import OutputFileError
from trafficgen.generation.session import FlowRow
from trafficgen.generation.superposition import superposed
from trafficgen.tables import FLOW_SCHEMA
from trafficgen.units import IntArray
from trafficgen.workloads.parts import DamagedPartError, StoredPart, write_batches
from trafficgen.workloads.storage import Storage

#: Packets of a block: enough that starting one costs nothing, few enough that several fit in a
#: worker's memory.
BLOCK_PACKETS = 1 << 20
#: Name of the file that says which run the blocks are made for.
RUN = "run.json"
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

    @property
    def request(self) -> dict[str, object]:
        """All that their packets depend on, JSON-compatible."""
        ...

    def expected_packets(self, sessions: range) -> float:
        """Return about how many packets some of the sessions have."""
        ...

    def block(self, first: int, count: int) -> tuple[list[pa.Table], list[FlowRow]]:
        """Return packets and flow rows of ``count`` sessions from the session ``first`` on, flows
        numbered from 0.
        """
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
    """A block that is in its place.

    Attributes:
        place: Number of the block.
        rows: Packets.
        size_bytes: Bytes that they take in memory.
        first_ns: Time of the first packet, ns from the origin.
        last_ns: Time of the last packet, ns from the origin.
        flows: Number of flows.
        columns: Optional columns that have values.
        packets_file_bytes: Length of the file of its packets.
        flows_file_bytes: Length of the file of its flows.
    """

    place: int
    rows: int
    size_bytes: int
    first_ns: int
    last_ns: int
    flows: int
    columns: tuple[str, ...]
    packets_file_bytes: int
    flows_file_bytes: int

    @property
    def name(self) -> str:
        """Name of its files without their endings."""
        return block_name(self.place)

    def part(self, storage: Storage, *, scratch: Path, first_flow: int) -> StoredPart:
        """Return its packets; ``scratch`` is a folder for a copy where they are afar."""
        return StoredPart(
            name=_packets_file(self.name),
            rows=self.rows,
            size_bytes=self.size_bytes,
            first_ns=self.first_ns,
            first_flow=first_flow,
            storage=storage,
            scratch=scratch,
        )

    def flow_table(self, storage: Storage, *, first_flow: int) -> pa.Table:
        """Return the rows of its flows, numbered in the workload.

        Raises:
            DamagedPartError: If their file is not what was written.
        """
        name = _flows_file(self.name)
        try:
            flows = pa.ipc.open_file(pa.BufferReader(storage.read(name))).read_all()
            flows.validate(full=True)
        except (OSError, pa.ArrowException) as error:
            raise DamagedPartError(name) from error
        if flows.num_rows != self.flows:
            raise DamagedPartError(name)
        return flows_numbered(flows, first_flow)


def flows_numbered(flows: pa.Table, first_flow: int) -> pa.Table:
    """Return the rows of flows with numbers in a row from ``first_flow`` on."""
    numbers = pa.array(range(first_flow, first_flow + flows.num_rows), type=pa.uint32())
    return flows.set_column(0, FLOW_SCHEMA.field("flow"), numbers)


def cut(sessions: Sessions, *, packets: int = BLOCK_PACKETS) -> tuple[Block, ...]:
    """Return blocks of about ``packets`` packets; a session is never cut."""
    mean = max(
        1.0,
        sessions.expected_packets(range(min(sessions.count, _SAMPLED)))
        / min(sessions.count, _SAMPLED),
    )
    size = max(1, min(_MOST_SESSIONS, int(packets / mean)))
    return tuple(
        Block(place, first, min(size, sessions.count - first))
        for place, first in enumerate(range(0, sessions.count, size))
    )


def make_block(sessions: Sessions, block: Block, storage: Storage, *, run: str) -> MadeBlock:
    """Make a block and put it into its place: packets, flows, and last what says that it is whole.

    Args:
        sessions: What plays the sessions.
        block: Which of them.
        storage: The place.
        run: The run that it is made for.

    Raises:
        OutputFileError: If the place is not that of the run, seen from here.
    """
    check_wanted(storage, run)
    tables, rows = sessions.block(block.first, block.count)
    packets = superposed(tables)
    check_wanted(storage, run)
    flows = pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)
    made = MadeBlock(
        place=block.place,
        rows=packets.num_rows,
        size_bytes=packets.nbytes,
        first_ns=packets.column("time_ns")[0].as_py() if packets.num_rows else 0,
        last_ns=packets.column("time_ns")[-1].as_py() if packets.num_rows else 0,
        flows=len(rows),
        columns=tuple(packets.column_names),
        packets_file_bytes=storage.write(
            _packets_file(block.name), lambda file: write_batches(packets, file)
        ),
        flows_file_bytes=storage.write(
            _flows_file(block.name), lambda file: write_batches(flows, file)
        ),
    )
    _check_still_wanted(storage, run, block)
    said = json.dumps(asdict(made)).encode()
    storage.write(_whole_file(block.name), lambda file: file.write(said))
    return made


def _check_still_wanted(storage: Storage, run: str, block: Block) -> None:
    """Refuse to finish a block when its run has ended meanwhile; where it was the last one, leave
    nothing behind.
    """
    try:
        check_wanted(storage, run)
    except OutputFileError:
        if RUN not in storage.read_all([RUN]):
            storage.remove(_packets_file(block.name))
            storage.remove(_flows_file(block.name))
        raise


def check_wanted(storage: Storage, run: str) -> None:
    """Refuse to work for a run that is over, or in a place that is not the one that the run means.

    Raises:
        OutputFileError: If another run has begun there, or nothing of any run is seen from this
            machine.
    """
    try:
        now = storage.read(RUN).decode()
    except FileNotFoundError:
        raise OutputFileError(
            file=storage.place,
            problem=f"is not there, seen from {platform.node() or 'a worker'}",
            remedy="name a place that all workers reach with --storage",
        ) from None
    if now != run:
        raise OutputFileError(
            file=storage.place,
            problem="another run of the same workload has begun there",
            remedy="let that one finish, or give this one another --storage",
        )


def made_before(blocks: tuple[Block, ...], storage: Storage) -> Iterator[MadeBlock]:
    """Yield the blocks that an earlier run has left whole."""
    sizes = storage.sizes_bytes()
    names = {_whole_file(block.name): block for block in blocks}
    for name, said in storage.read_all([name for name in names if name in sizes]).items():
        made = _said_whole(said, sizes)
        if made is not None and made.place == names[name].place:
            yield made


def forget(made: MadeBlock, storage: Storage) -> None:
    """Have a block made again by the next run."""
    storage.remove(_whole_file(made.name))


def count_whole(storage: Storage) -> int:
    """Return how many blocks are whole in a place."""
    return sum(
        name.startswith("block-") and name.endswith(".json") for name in storage.sizes_bytes()
    )


def _said_whole(said: bytes, sizes_bytes: Mapping[str, int]) -> MadeBlock | None:
    """Return a block whose files have the lengths that they were written with."""
    try:
        values = json.loads(said)
        made = MadeBlock(**{**values, "columns": tuple(values["columns"])})
    except (ValueError, TypeError, KeyError):
        return None  # damaged, or written by another version
    lengths = sizes_bytes.get(_packets_file(made.name)), sizes_bytes.get(_flows_file(made.name))
    return made if lengths == (made.packets_file_bytes, made.flows_file_bytes) else None


def _packets_file(name: str) -> str:
    return f"{name}.arrow"


def _flows_file(name: str) -> str:
    return f"{name}.flows.arrow"


def _whole_file(name: str) -> str:
    return f"{name}.json"
