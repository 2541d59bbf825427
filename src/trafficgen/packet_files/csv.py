"""Packet tables as CSV: ``NAME.csv`` has the packets, ``NAME.flows.csv`` flow table and origin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from trafficgen.outputs import whole_files
from trafficgen.packet_files.report import ProjectionReport, View, bytes_of, report_unchanged
from trafficgen.packet_files.view import select_view
from trafficgen.progress import report_step
from trafficgen.tables import PACKET_SCHEMA, PacketTable
from trafficgen.tables.stream import PacketStream, stream_of


def write_csv(table: PacketTable, path: str | Path, *, view: View = "sender") -> ProjectionReport:
    """Write a packet table to two CSV files, from which packets, flows and origin read back equal.

    Null is an empty field; an optional column without values is left out. Each row of
    ``NAME.flows.csv`` repeats the origin as ``origin_ns``.

    Raises:
        OutputFileError: If a file cannot be written.
        ValueError: If ``view`` is unknown.
    """
    path, table = Path(path), select_view(table, view)
    write_csv_stream(stream_of(table), path)
    return report_unchanged("csv", csv_files(path), len(table), bytes_of(table), csv_losses(table))


def csv_files(path: Path) -> tuple[str, str]:
    """Return the names of both files of a CSV."""
    return path.name, flows_file(path).name


def write_csv_stream(stream: PacketStream, path: Path) -> int:
    """Write packets as they come, to the files of :func:`write_csv`; return their number.

    Raises:
        OutputFileError: If a file cannot be written.
    """
    flows = stream.head.flows
    origin_ns = pa.array([stream.head.origin_ns] * flows.num_rows, type=pa.int64())
    with whole_files([path, flows_file(path)]) as [packets_part, flows_part]:
        packets = _write_packets(stream, packets_part)
        with flows_part.open("wb") as file:
            csv.write_csv(flows.append_column("origin_ns", origin_ns), file)
    return packets


def flows_file(path: Path) -> Path:
    """Return the name of the file with the flow table of a CSV of packets."""
    return path.with_suffix(".flows.csv")


def _write_packets(stream: PacketStream, path: Path) -> int:
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
    return packets


def _text_field(field: pa.Field) -> pa.Field:
    return field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field


def csv_losses(table: PacketTable) -> Iterator[str]:
    """Yield what the two files lack of a table."""
    if table.signalling.num_rows:
        yield f"signalling messages ({table.signalling.num_rows})"
    if table.notes:
        yield f"notes on how the table was made: {', '.join(sorted(table.notes))}"
    if not table.flows.num_rows and table.origin_ns:
        yield "the origin of the times, which the flow table holds: there is no flow"
