"""Packet tables in Parquet and CSV files, piece by piece: for files of any length."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from trafficgen.capture.table_files import (
    cast_packets,
    check_ids,
    columns_of,
    csv_options,
    is_parquet,
    open_parquet,
    read_head,
    refuse_unreadable,
)
from trafficgen.capture.table_limits import refuse_repeated, refuse_span
from trafficgen.errors import PacketTableError
from trafficgen.input_files import is_compressed, open_expanded
from trafficgen.progress import report_step
from trafficgen.tables import PACKET_SCHEMA, PacketTable
from trafficgen.tables.counts import head_of_columns, infer_flows, tcp_flows
from trafficgen.tables.flow import FLOW_COLUMNS_OF_PACKETS, first_of_flows
from trafficgen.tables.metadata import part_paths
from trafficgen.tables.stream import PacketStream, sort_pieces

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_PIECE_ROWS = 1 << 17
_CSV_BLOCK_BYTES = 1 << 23
_SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True)
class TableFile:
    """A packet table in a file, read from its beginning as often as is wanted.

    Attributes:
        path: The file, Parquet or CSV by its ending.
        head: Its flow table, origin, signalling and notes, without packets.
        columns: Those columns of a packet table that have values in it.
    """

    path: Path
    head: PacketTable
    columns: tuple[str, ...]

    def stream(self, flows: Collection[int] | None = None) -> PacketStream:
        """Return its packets, or those of some flows, in order of time.

        The pieces raise ``PacketTableError`` where the file holds impossible values, and
        ``CaptureError`` where packets are too far out of order.
        """
        wanted = None if flows is None else pa.array(list(flows), pa.uint32())

        def pieces() -> Iterator[pa.Table]:
            for packets in self._checked_pieces():
                chosen = (
                    packets
                    if wanted is None
                    else packets.filter(pc.is_in(packets.column("flow"), wanted))
                )
                if chosen.num_rows:
                    yield chosen

        ordered = sort_pieces(pieces(), name=str(self.path))
        return PacketStream(head=self.head, pieces=ordered, columns=frozenset(self.columns))

    def _checked_pieces(self) -> Iterator[pa.Table]:
        at, total = 0, self._rows()
        first_ns, last_ns = math.inf, -math.inf
        for raw in raw_pieces(self.path, self.columns):
            packets = cast_packets(raw, str(self.path), keep_empty=True)
            highest = pc.max(packets.column("flow")).as_py()
            if highest is not None and highest >= self.head.flows.num_rows:
                problem = (
                    f"a packet from {at} on is of flow {highest}, the flow table has"
                    f" {self.head.flows.num_rows} rows"
                )
                remedy = "give every flow a row in the flow table"
                raise PacketTableError(file=str(self.path), problem=problem, remedy=remedy)
            if packets.num_rows:
                span = pc.min_max(packets.column("time_ns")).as_py()
                first_ns, last_ns = min(first_ns, span["min"]), max(last_ns, span["max"])
                refuse_span(int(first_ns), int(last_ns), str(self.path))
            at += packets.num_rows
            report_step("reading", at, total, unit="packets")
            yield packets

    def _rows(self) -> int | None:
        return _parquet_rows(self.path) if _parquet_files(self.path) else None


def open_table_file(path: str | Path) -> TableFile:
    """Return a packet table that is to be read piece by piece.

    Raises:
        PacketTableError: If the file cannot be read, lacks columns, or its flow table does not fit.
    """
    path = Path(path)
    head = read_head(path)
    columns = (
        set().union(*map(_parquet_columns, files))
        if (files := _parquet_files(path)) or path.is_dir()
        else _csv_columns(path)
    )
    if head is None:
        head = _inferred_head(path)
    check_ids(head.flows, str(path))
    return TableFile(path, head, tuple(name for name in PACKET_SCHEMA.names if name in columns))


def packets_in(path: str | Path) -> int:
    """Return how many packets a table has, of a CSV an estimate, or raise PacketTableError."""
    path = Path(path)
    if _parquet_files(path):
        return _parquet_rows(path)
    with refuse_unreadable(path), open_expanded(path) as stream:
        sample = stream.read(_SAMPLE_BYTES)
        lines = sample.count(b"\n")
        if is_compressed(path):  # its length says little
            return lines + sum(
                piece.count(b"\n") for piece in iter(partial(stream.read, _CSV_BLOCK_BYTES), b"")
            )
        return 0 if not lines else round(path.stat().st_size * lines / len(sample))


def _parquet_rows(path: Path) -> int:
    """Return how many rows a Parquet file, or a folder of them, has."""
    rows = 0
    for file_path in _parquet_files(path):
        with open_parquet(file_path) as file:
            rows += int(file.metadata.num_rows)
    return rows


def raw_pieces(path: Path, names: Collection[str] = PACKET_SCHEMA.names) -> Iterator[pa.Table]:
    """Yield the columns of these names as they are in a file, or raise PacketTableError."""
    files = _parquet_files(path)
    for file_path in files:
        with open_parquet(file_path) as file:
            refuse_repeated(file.schema_arrow.names, str(file_path))
            columns = [name for name in file.schema_arrow.names if name in names]
            for batch in file.iter_batches(
                batch_size=_PIECE_ROWS, columns=columns, use_threads=False
            ):
                yield pa.Table.from_batches([batch]).replace_schema_metadata(None)
    if files:
        return
    read = csv.ReadOptions(block_size=_CSV_BLOCK_BYTES, use_threads=False)
    convert = csv_options(PACKET_SCHEMA)
    with (
        refuse_unreadable(path),
        open_expanded(path) as stream,
        csv.open_csv(stream, read_options=read, convert_options=convert) as reader,
    ):
        for batch in reader:
            piece = pa.Table.from_batches([batch])
            refuse_repeated(piece.column_names, str(path))
            yield piece.select([name for name in piece.column_names if name in names])


def _inferred_head(path: Path) -> PacketTable:
    """Return all but the packets of a table without our metadata, by a first reading."""
    highest, packets, tcp, firsts = -1, 0, set[int](), list[pa.Table]()
    names, origin_ns = columns_of(path)
    for piece in raw_pieces(path, ("flow", "tcp_flags", *FLOW_COLUMNS_OF_PACKETS)):
        packets += piece.num_rows
        tcp |= tcp_flows(piece)
        if "flow" in piece.column_names and piece.num_rows:
            highest = max(highest, pc.max(piece.column("flow")).as_py() or 0)
            firsts.append(first_of_flows(piece))
    try:
        flows = infer_flows(highest, packets, tcp)
    except (ValueError, OverflowError) as error:
        raise PacketTableError(
            file=str(path), problem=str(error), remedy="number the flows from 0"
        ) from error
    found = pa.concat_tables(firsts) if firsts else PACKET_SCHEMA.empty_table()
    return head_of_columns(found, str(path), names, origin_ns, flows)


def _parquet_columns(path: Path) -> set[str]:
    """Return the columns of a Parquet file that are not null throughout."""
    with open_parquet(path) as file:
        names, metadata = file.schema_arrow.names, file.metadata
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        parts = [group.column(place) for group in groups for place in range(group.num_columns)]
        used = {part.path_in_schema for part in parts if not _is_null(part)}
    known = {name for name in names if name in PACKET_SCHEMA.names}
    return {name for name in known if name in used or not PACKET_SCHEMA.field(name).nullable}


def _is_null(part: pq.ColumnChunkMetaData) -> bool:
    """Return whether a part of a column is known to have no value."""
    statistics = part.statistics
    return (
        statistics is not None
        and statistics.has_null_count
        and statistics.null_count == part.num_values
    )


def _csv_columns(path: Path) -> set[str]:
    """Return the columns of a CSV that are not null throughout, by a first reading."""
    used: set[str] = set()
    for piece in raw_pieces(path):
        used |= {
            name
            for name in piece.column_names
            if not PACKET_SCHEMA.field(name).nullable
            or piece.column(name).null_count < piece.num_rows
        }
    return used


def _parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files of a packet table; none where it is a CSV."""
    if path.is_dir():
        return part_paths(path)
    return [path] if is_parquet(path) else []
