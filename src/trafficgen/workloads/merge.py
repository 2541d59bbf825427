"""Parts of a workload, and their merge in order of time, in bounded memory.

The merge is k-way, by windows of time: each open part has a few rows in memory. All rows before the
earliest of the times up to which every open part is known can go out; they are sorted together,
which for sorted runs costs little more than a merge, and all of it is vectorised.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen._core import time_order
from trafficgen.progress import report_step
from trafficgen.tables import PHASES
from trafficgen.tables.columns import rows_taken, shift_values
from trafficgen.workloads.storage import Folder, Storage, no_room

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
    def first_ns(self) -> int:
        """Time of the first packet, ns from the workload's origin."""
        return int(self.table.column("time_ns")[0].as_py())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield its packets in order, a few at a time."""
        yield from self.table.to_batches(max_chunksize=BATCH_ROWS)


@dataclass(frozen=True)
class StoredPart:
    """A part in a file; a remote one is fetched when its first batch is read.

    Attributes:
        name: Its file.
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
        """Yield its packets in order, a few at a time, or raise DamagedPartError."""
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


def write_batches(tables: Iterable[pa.Table], file: pa.NativeFile) -> None:
    """Write tables of the same columns, at least one, in small batches.

    The file is not whole before this returns.
    """
    with ExitStack() as stack:
        writer: pa.ipc.RecordBatchFileWriter | None = None
        for table in tables:
            if writer is None:
                writer = stack.enter_context(pa.ipc.new_file(file, table.schema))
            writer.write_table(table, max_chunksize=BATCH_ROWS)


#: Fewest parts that are merged at once, whatever the memory: fewer make many passes over the disk.
_FEWEST_OPEN = 8
#: Files that a process may have open by default are 1024 on most systems.
_MOST_OPEN = 500
#: Batches in memory for each open part: two of its own, and both twice while a window is sorted.
_COPIES = 6


def merge_parts(
    parts: Sequence[StoredPart], *, memory_bytes: int, folder: Path
) -> Iterator[pa.Table]:
    """Yield the packets of all parts in order of time, then of flow, in tables of any size.

    Each part has that order, and a flow's packets are in one of them. If ``memory_bytes`` are too
    little for all parts at once, groups of them are merged into larger parts first, in a folder of
    this merge alone.

    Raises:
        DamagedPartError: If a file has changed since it was written.
    """
    parts = [part for part in parts if part.rows]
    most_open = _most_open(parts, memory_bytes)
    passes, total = 0, sum(part.rows for part in parts)
    while len(parts) > most_open:
        merged: list[StoredPart] = []
        for place, group in enumerate(_groups(parts, most_open)):
            done = sum(part.rows for part in merged)
            report_step("putting packets in order", done, total, unit="packets")
            merged.append(_merge_group(group, f"merged-{passes}-{place}.arrow", folder))
        parts, passes = merged, passes + 1
    yield from merge_at_once(parts)


def _most_open(parts: Sequence[StoredPart], memory_bytes: int) -> int:
    batches = [part.size_bytes / part.rows * min(part.rows, BATCH_ROWS) for part in parts]
    largest_bytes = max(batches, default=1.0)
    return max(_FEWEST_OPEN, min(_MOST_OPEN, math.floor(memory_bytes / (_COPIES * largest_bytes))))


def _groups(parts: Sequence[StoredPart], most_open: int) -> Iterator[Sequence[StoredPart]]:
    """Yield groups of parts that are close in time."""
    ordered = sorted(parts, key=lambda part: part.first_ns)
    count = math.ceil(len(ordered) / most_open)
    size = math.ceil(len(ordered) / count)
    for first in range(0, len(ordered), size):
        yield ordered[first : first + size]


def _merge_group(parts: Sequence[StoredPart], name: str, folder: Path) -> StoredPart:
    """Return one part with the packets of several, flows numbered in the workload."""
    if len(parts) == 1:
        return parts[0]
    rows, size_bytes, first_ns = 0, 0, min(part.first_ns for part in parts)
    writer: pa.ipc.RecordBatchFileWriter | None = None
    schema = pa.unify_schemas([next(part.batches()).schema for part in parts])
    with pa.OSFile(os.fsencode(folder / name), "wb") as file:
        for piece in merge_at_once(parts):
            table = _with_columns(piece, schema)
            if writer is None:
                writer = pa.ipc.new_file(file, table.schema)
            writer.write_table(table, max_chunksize=BATCH_ROWS)
            rows, size_bytes = rows + table.num_rows, size_bytes + table.nbytes
        if writer is not None:
            writer.close()
    return StoredPart(name, rows, size_bytes, first_ns, storage=Folder(folder), scratch=folder)


def _with_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return packets with the columns of a schema, empty where they are unknown."""
    columns = []
    for wanted in schema:
        known = wanted.name in table.column_names
        column = table.column(wanted.name) if known else pa.nulls(table.num_rows, wanted.type)
        if pa.types.is_dictionary(wanted.type):  # a file holds one dictionary of phases
            phases = pa.array(PHASES, pa.string())
            places = pc.index_in(column.cast(pa.string()), phases).cast(wanted.type.index_type)
            if isinstance(places, pa.ChunkedArray):
                places = places.combine_chunks()
            column = pa.DictionaryArray.from_arrays(places, phases)
        columns.append(column)
    return pa.table(columns, schema=schema)


@dataclass
class _Cursor:
    """An open part: the rows of it that are in memory."""

    part: Part
    batches: Iterator[pa.RecordBatch] = field(init=False)
    loaded: deque[pa.RecordBatch] = field(init=False, default_factory=deque)
    at_end: bool = False

    def __post_init__(self) -> None:
        self.batches = self.part.batches()
        self.load()

    def refill(self) -> None:
        """Load at least a batch of rows, if there are any: a smaller window costs more."""
        while not self.at_end and sum(batch.num_rows for batch in self.loaded) < BATCH_ROWS:
            self.load()

    def load(self) -> None:
        """Load one more batch, if there is one."""
        batch = next(self.batches, None)
        if batch is None:
            self.at_end = True
        else:
            self.loaded.append(shift_values(batch, flow=self.part.first_flow))

    @property
    def known_until_ns(self) -> float:
        """Time before which all its packets are in memory, ns; infinite at its end."""
        if self.at_end:
            return math.inf
        return float(self.loaded[-1].column("time_ns")[-1].as_py()) if self.loaded else -math.inf

    def take_before(self, time_ns: float) -> Iterator[pa.RecordBatch]:
        """Yield the rows in memory before a time, and release them."""
        while self.loaded:
            batch = self.loaded.popleft()
            count = int(np.searchsorted(batch.column("time_ns").to_numpy(), time_ns, side="left"))
            if count:
                yield batch.slice(0, count)
            if count < batch.num_rows:
                self.loaded.appendleft(batch.slice(count))
                return


def merge_at_once(parts: Sequence[Part]) -> Iterator[pa.Table]:
    """Yield packets of parts in order, opened when their time comes, or raise DamagedPartError."""
    waiting = deque(sorted(parts, key=lambda part: part.first_ns))
    cursors: list[_Cursor] = []
    while waiting or cursors:
        until_ns = min((cursor.known_until_ns for cursor in cursors), default=math.inf)
        if waiting and waiting[0].first_ns <= until_ns:
            cursors.append(_Cursor(waiting.popleft()))
            continue
        batches = [batch for cursor in cursors for batch in cursor.take_before(until_ns)]
        for cursor in cursors:
            if not batches and cursor.known_until_ns <= until_ns:
                cursor.load()  # all its rows are at one time, and more of that time may follow
            cursor.refill()
        cursors = [cursor for cursor in cursors if cursor.loaded or not cursor.at_end]
        if batches:
            yield _sort(batches)


def _sort(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    table = pa.concat_tables(
        [pa.Table.from_batches([batch]) for batch in batches], promote_options="default"
    )
    order = time_order(table.column("time_ns").to_numpy(), table.column("flow").to_numpy())
    return table if order is None else rows_taken(table, order)
