"""Packet tables as CSV: ``NAME.csv`` has the packets, ``NAME.flows.csv`` flow table and origin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from trafficgen.outputs import is_stream, whole_files
from trafficgen.progress import report_step
from trafficgen.tables import PACKET_SCHEMA, PacketTable
from trafficgen.tables.stream import PacketStream


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
