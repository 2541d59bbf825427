"""Parts of a workload on disk: packets of some sessions in order of time, as an Arrow file.

Arrow's own format is written and read at the speed of the disk; parts are read once, in small batches, and thrown away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

#: Rows of a batch: small enough that hundreds of parts can be open at once, large enough that a batch costs little.
BATCH_ROWS = 1 << 14


@dataclass(frozen=True)
class Part:
    """Packets in order of time, then of flow.

    Attributes:
        path: Its file.
        rows: Number of packets.
        size_bytes: Bytes that its rows take in memory.
        first_ns: Time of the first packet, ns from the workload's origin.
        first_flow: What is added to the numbers in its column ``flow``.
    """

    path: Path
    rows: int
    size_bytes: int
    first_ns: int
    first_flow: int = 0

    @property
    def batch_bytes(self) -> float:
        """Bytes of a batch in memory."""
        return self.size_bytes / max(1, self.rows) * min(self.rows, BATCH_ROWS)


def write_batches(table: pa.Table, path: Path) -> None:
    """Write a table in small batches; the file is not whole before this returns."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=BATCH_ROWS)


def read_part(part: Part) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a part in order."""
    with pa.OSFile(str(part.path), "rb") as file, pa.ipc.open_file(file) as reader:
        for place in range(reader.num_record_batches):
            yield reader.get_batch(place)
