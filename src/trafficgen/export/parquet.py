"""Packet tables as Parquet: every column, with flow table, signalling and notes in the file's metadata."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trafficgen.export.base import ProjectionReport
from trafficgen.output_files import whole_files
from trafficgen.progress import tell
from trafficgen.tables import PACKET_SCHEMA, PacketTable
from trafficgen.tables.metadata import METADATA_KEY, table_metadata

_ROWS_IN_GROUP = 1 << 18


def write_parquet(table: PacketTable, path: str | Path) -> ProjectionReport:
    """Write a packet table to a Parquet file (zstd), from which it reads back equal.

    The columns are those of :data:`~trafficgen.tables.PACKET_SCHEMA`, absent ones null; the schema metadata has under
    ``trafficgen`` a JSON object with all else, see :func:`trafficgen.tables.metadata.table_metadata`.

    Raises:
        OutputFileError: If the file cannot be written.
    """
    path = Path(path)
    metadata = {METADATA_KEY: json.dumps(table_metadata(table)).encode()}
    with (
        whole_files([path]) as [part],
        part.open("wb") as stream,
        pq.ParquetWriter(stream, PACKET_SCHEMA.with_metadata(metadata), compression="zstd") as writer,
    ):
        for start in range(0, len(table), _ROWS_IN_GROUP):
            writer.write_table(_all_columns(table, start), row_group_size=_ROWS_IN_GROUP)
            tell("writing", min(start + _ROWS_IN_GROUP, len(table)), len(table), unit="packets")
    size_bytes = pc.sum(table.column("ip_bytes")).as_py() or 0
    return ProjectionReport(
        target="parquet",
        files=(path.name,),
        packets=len(table),
        packets_changed=0,
        bytes_before=size_bytes,
        bytes_after=size_bytes,
    )


def _all_columns(table: PacketTable, start: int) -> pa.Table:
    batch = PacketTable(packets=table.packets.slice(start, _ROWS_IN_GROUP))
    return pa.table([batch.column(name) for name in PACKET_SCHEMA.names], schema=PACKET_SCHEMA)
