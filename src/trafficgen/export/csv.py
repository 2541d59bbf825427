"""Packet tables as CSV: ``NAME.csv`` has the packets, ``NAME.flows.csv`` the flow table and the origin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from trafficgen.export.base import ProjectionReport, View
from trafficgen.export.view import seen_by
from trafficgen.output_files import whole_files
from trafficgen.progress import tell
from trafficgen.tables import PACKET_SCHEMA, PacketTable

_BATCH_ROWS = 1 << 18


def write_csv(table: PacketTable, path: str | Path, *, view: View = "sender") -> ProjectionReport:
    """Write a packet table to two CSV files, from which packets, flow table and origin read back equal.

    Null is an empty field; an optional column without values is left out. Each row of ``NAME.flows.csv`` repeats the
    origin as ``origin_ns``.

    Raises:
        OutputFileError: If a file cannot be written.
        ValueError: If ``view`` is unknown.
    """
    path = Path(path)
    flows_path = path.with_suffix(".flows.csv")
    table = seen_by(table, view)
    origin_ns = pa.array([table.origin_ns] * table.flows.num_rows, type=pa.int64())
    with whole_files([path, flows_path]) as [packets_part, flows_part]:
        _write_packets(table, packets_part)
        with flows_part.open("wb") as stream:
            csv.write_csv(table.flows.append_column("origin_ns", origin_ns), stream)
    size_bytes = pc.sum(table.column("ip_bytes")).as_py() or 0
    return ProjectionReport(
        target="csv",
        files=(path.name, flows_path.name),
        packets=len(table),
        packets_changed=0,
        bytes_before=size_bytes,
        bytes_after=size_bytes,
        cannot_express=tuple(_cannot_express(table)),
    )


def _write_packets(table: PacketTable, path: Path) -> None:
    names = [n for n in PACKET_SCHEMA.names if not PACKET_SCHEMA.field(n).nullable or table.known(n).any()]
    schema = pa.schema([_text_field(PACKET_SCHEMA.field(name)) for name in names])
    with path.open("wb") as stream, csv.CSVWriter(stream, schema) as writer:
        for start in range(0, len(table), _BATCH_ROWS):
            writer.write_table(table.packets.select(names).slice(start, _BATCH_ROWS).cast(schema))
            tell("writing", min(start + _BATCH_ROWS, len(table)), len(table), unit="packets")


def _text_field(field: pa.Field) -> pa.Field:
    return field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field


def _cannot_express(table: PacketTable) -> Iterator[str]:
    if table.signalling.num_rows:
        yield f"signalling messages ({table.signalling.num_rows})"
    if table.notes:
        yield f"notes on how the table was made: {', '.join(sorted(table.notes))}"
    if not table.flows.num_rows and table.origin_ns:
        yield "the origin of the times, which the flow table carries and there is no flow"
