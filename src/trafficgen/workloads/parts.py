"""Parts of a workload: packets of some sessions in order of time, as an Arrow file.

Arrow's own format is written and read at the speed of the disk; parts are read once, in small batches, and thrown away.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from trafficgen.workloads.storage import Storage, no_room

#: Rows of a batch: small enough that hundreds of parts can be open at once, large enough that a batch costs little.
BATCH_ROWS = 1 << 14


class DamagedPartError(Exception):
    """A file that is not what was written: something else than this program has changed it, or the disk is failing."""


@dataclass(frozen=True)
class Part:
    """Packets in order of time, then of flow.

    Attributes:
        name: Its file.
        rows: Number of packets.
        size_bytes: Bytes that its rows take in memory.
        first_ns: Time of the first packet, ns from the workload's origin.
        first_flow: What is added to the numbers in its column ``flow``.
        storage: Where its file is.
    """

    name: str
    rows: int
    size_bytes: int
    first_ns: int
    storage: Storage
    first_flow: int = 0

    @property
    def batch_bytes(self) -> float:
        """Bytes of a batch in memory."""
        return self.size_bytes / max(1, self.rows) * min(self.rows, BATCH_ROWS)


def write_batches(table: pa.Table, file: pa.NativeFile) -> None:
    """Write a table in small batches; the file is not whole before this returns."""
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=BATCH_ROWS)


def read_part(part: Part, scratch: Path) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a part in order; one from afar is fetched when its first batch is asked for.

    Args:
        part: The part.
        scratch: Folder for a copy, which is removed after the last batch.

    Raises:
        DamagedPartError: If the file is not what was written.
    """
    rows = 0
    try:
        with (
            part.storage.fetched(part.name, scratch) as path,
            pa.OSFile(os.fsencode(path), "rb") as file,
            pa.ipc.open_file(file) as reader,
        ):
            for place in range(reader.num_record_batches):
                batch = reader.get_batch(place)
                rows += batch.num_rows
                yield batch
    except (OSError, pa.ArrowException) as error:
        if no_room(error):
            raise  # for the copy: the part itself may well be whole
        raise DamagedPartError(part.name) from error
    if rows != part.rows:
        raise DamagedPartError(part.name)
