"""Parts of a workload: packets of some sessions in order of time, as an Arrow file or in memory.

Arrow's own format is written and read at the speed of the disk; parts are read once, in small
batches, and thrown away.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from trafficgen.workloads.storage import Storage, no_room

#: Rows of a batch: small enough that hundreds of parts can be open at once, large enough that a
#: batch costs little.
BATCH_ROWS = 1 << 14


class DamagedPartError(Exception):
    """A file that has changed since it was written, by another program or a failing disk."""


@dataclass(frozen=True)
class MemoryPart:
    """A part in memory.

    Attributes:
        table: The packets, at least one, in order of time, then of flow.
        first_flow: Added to the numbers in their column ``flow``.
    """

    table: pa.Table
    first_flow: int = 0

    @property
    def rows(self) -> int:
        """Number of packets."""
        return int(self.table.num_rows)

    @property
    def size_bytes(self) -> int:
        """Bytes that its rows take."""
        return int(self.table.nbytes)

    @property
    def first_ns(self) -> int:
        """Time of the first packet, ns from the workload's origin."""
        return int(self.table.column("time_ns")[0].as_py())

    @property
    def last_ns(self) -> int:
        """Time of the last packet, ns from the workload's origin."""
        return int(self.table.column("time_ns")[-1].as_py())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield its packets in order, a few at a time."""
        yield from self.table.to_batches(max_chunksize=BATCH_ROWS)


@dataclass(frozen=True)
class StoredPart:
    """A part in a file; a remote one is fetched when its first batch is read.

    Attributes:
        name: Its file.
        rows: Number of packets.
        size_bytes: Bytes that its rows take in memory.
        first_ns: Time of the first packet, ns from the workload's origin.
        first_flow: Added to the numbers in its column ``flow``.
        storage: Where its file is.
        scratch: Folder for a copy, which is removed after the last batch.
    """

    name: str
    rows: int
    size_bytes: int
    first_ns: int
    storage: Storage
    scratch: Path
    first_flow: int = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield its packets in order, a few at a time.

        Raises:
            DamagedPartError: If the file has changed since it was written.
        """
        rows = 0
        try:
            with (
                self.storage.fetch(self.name, self.scratch) as path,
                pa.OSFile(os.fsencode(path), "rb") as file,
                pa.ipc.open_file(file) as reader,
            ):
                for place in range(reader.num_record_batches):
                    batch = reader.get_batch(place)
                    rows += batch.num_rows
                    yield batch
        except (OSError, pa.ArrowException) as error:
            if no_room(error):
                raise  # there is no room for the copy: the part itself may be whole
            raise DamagedPartError(self.name) from error
        if rows != self.rows:
            raise DamagedPartError(self.name)


#: Packets in order of time, then of flow, read a few at a time.
Part = MemoryPart | StoredPart


def batch_bytes(part: Part) -> float:
    """Return the bytes of a batch of a part in memory."""
    return part.size_bytes / max(1, part.rows) * min(part.rows, BATCH_ROWS)


def write_batches(table: pa.Table, file: pa.NativeFile) -> None:
    """Write a table in small batches; the file is not whole before this returns."""
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=BATCH_ROWS)
