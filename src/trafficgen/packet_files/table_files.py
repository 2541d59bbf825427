"""Packet tables as Parquet and CSV files.

Parquet has every column; flow table, signalling and notes are in the metadata. A table is one file,
or a folder of files (a dataset), see :mod:`trafficgen.tables.metadata`. Of CSV there are two files:
``NAME.csv`` has the packets, ``NAME.flows.csv`` flow table and origin.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from trafficgen.outputs import is_stream, whole_files, whole_folder
from trafficgen.progress import report_step
from trafficgen.tables import PACKET_SCHEMA, PacketTable
from trafficgen.tables.metadata import (
    FLOWS_FILE,
    METADATA_FILE,
    METADATA_KEY,
    PART_ROWS,
    is_dataset,
    part_name,
    table_metadata,
)
from trafficgen.tables.stream import PIECE_ROWS, PacketStream

#: Columns with few different values; a dictionary of all others would be filled first and thrown
#: away then.
_FEW_VALUES = (
    "flow",
    "frame_bytes",
    "ip_bytes",
    "payload_bytes",
    "rtp_ssrc",
    "tcp_acknowledgement",
    "tcp_flags",
    "tcp_window",
    "phase",
    "scale_level",
)
#: Numbers that grow from row to row, or from packet to packet of a flow: their differences are
#: stored.
_GROWING = ("time_ns", "rtp_timestamp", "tcp_sequence", "arrival_ns")
#: How packets are kept in Parquet files.
_OPTIONS: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": list(_FEW_VALUES),
    "column_encoding": dict.fromkeys(_GROWING, "DELTA_BINARY_PACKED"),
}


def write_parquet_stream(stream: PacketStream, path: Path) -> None:
    """Write packets as they arrive to a Parquet file (zstd) that reads back as an equal table.

    The columns are those of :data:`~trafficgen.tables.PACKET_SCHEMA`; absent ones are null.
    Everything else is a JSON object in the schema metadata, under the key ``trafficgen``: see
    :func:`trafficgen.tables.metadata.table_metadata`.

    Raises:
        OutputFileError: If the file cannot be written.
    """
    metadata = {
        METADATA_KEY: (
            json.dumps(
                table_metadata(stream.head, arrivals_known="arrival_ns" in stream.columns)
            ).encode()
        )
    }
    schema = PACKET_SCHEMA.with_metadata(metadata)
    packets = 0
    with (
        whole_files([path]) as [part],
        part.open("wb") as file,
        pq.ParquetWriter(file, schema, **_OPTIONS) as writer,
    ):
        for piece in stream.iterate_pieces():
            writer.write_table(_all_columns(piece), row_group_size=PIECE_ROWS)
            packets += len(piece)
            report_step("writing", packets, stream.rows, unit="packets")


def write_dataset_stream(stream: PacketStream, folder: Path, *, part_rows: int = PART_ROWS) -> None:
    """Write packets as they come to a folder of Parquet files (zstd), which reads back equal.

    The folder appears whole or not at all; an earlier dataset there is replaced. ``part_rows`` is a
    multiple of the rows that writers take at once.

    Raises:
        OutputFileError: If the folder cannot be written, or holds something else.
    """
    metadata = table_metadata(stream.head, arrivals_known="arrival_ns" in stream.columns)
    del metadata["flows"]
    done = 0
    with whole_folder(folder, is_earlier=is_dataset) as staging:
        with (staging / FLOWS_FILE).open("wb") as file:  # Arrow opens no names that are not UTF-8
            pq.write_table(stream.head.flows, file, compression="zstd")
        pieces = stream.iterate_pieces(min(PIECE_ROWS, part_rows))
        for place, part in enumerate(_parts(map(_all_columns, pieces), part_rows)):
            with _part_writer(staging / part_name(place)) as writer:
                for piece in part:
                    writer.write_table(piece, row_group_size=PIECE_ROWS)
                    done += piece.num_rows
                    report_step("writing", done, stream.rows, unit="packets")
        if not done:
            with _part_writer(staging / part_name(0)) as writer:
                writer.write_table(PACKET_SCHEMA.empty_table())
        (staging / METADATA_FILE).write_text(json.dumps(metadata) + "\n", encoding="utf-8")


def _parts(pieces: Iterator[pa.Table], part_rows: int) -> Iterator[Iterator[pa.Table]]:
    """Yield the pieces of one part after the other; each part must be read before the next."""
    waiting = next(pieces, None)

    def part() -> Iterator[pa.Table]:
        nonlocal waiting
        rows = 0
        while waiting is not None and rows < part_rows:
            rows += waiting.num_rows
            yield waiting
            waiting = next(pieces, None)

    while waiting is not None:
        yield part()


@contextmanager
def _part_writer(path: Path) -> Iterator[pq.ParquetWriter]:
    with path.open("wb") as file, pq.ParquetWriter(file, PACKET_SCHEMA, **_OPTIONS) as writer:
        yield writer


def _all_columns(piece: PacketTable) -> pa.Table:
    """Return the packets with all columns of the schema, absent ones null."""
    return pa.table([piece.column(name) for name in PACKET_SCHEMA.names], schema=PACKET_SCHEMA)


def csv_losses(head: PacketTable) -> Iterator[str]:
    """Yield what the two files lack of a table's flows, messages and notes."""
    if head.signalling.num_rows:
        yield f"signalling messages ({head.signalling.num_rows})"
    if head.notes:
        yield f"notes on how the table was made: {', '.join(sorted(head.notes))}"
    if not head.flows.num_rows and head.origin_ns:
        yield "the origin of the times, which the flow table holds: there is no flow"


def write_csv_stream(stream: PacketStream, path: Path) -> None:
    """Write packets as they come, to two files, from which packets, flows and origin read back.

    Null is an empty field; an optional column without values is left out. Each row of
    ``NAME.flows.csv`` repeats the origin as ``origin_ns``.

    Raises:
        OutputFileError: If a file cannot be written.
    """
    flows = stream.head.flows
    origin_ns = pa.array([stream.head.origin_ns] * flows.num_rows, type=pa.int64())
    with whole_files(csv_files(path)) as [packets_part, *flows_parts]:
        _write_packets(stream, packets_part)
        for part in flows_parts:
            with part.open("wb") as file:
                csv.write_csv(flows.append_column("origin_ns", origin_ns), file)


def csv_files(path: Path) -> list[Path]:
    """Return the files of packets and of their flow table; a stream gets the packets alone."""
    return [path] if is_stream(path) else [path, path.with_suffix(".flows.csv")]


def _write_packets(stream: PacketStream, path: Path) -> None:
    names = [
        n for n in PACKET_SCHEMA.names if not PACKET_SCHEMA.field(n).nullable or n in stream.columns
    ]
    schema = pa.schema([_text_field(PACKET_SCHEMA.field(name)) for name in names])
    packets = 0
    with path.open("wb") as file, csv.CSVWriter(file, schema) as writer:
        for piece in stream.iterate_pieces():
            writer.write_table(
                pa.table([piece.column(name) for name in names], names=names).cast(schema)
            )
            packets += len(piece)
            report_step("writing", packets, stream.rows, unit="packets")


def _text_field(field: pa.Field) -> pa.Field:
    return field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
