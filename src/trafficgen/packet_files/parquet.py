"""Packet tables as Parquet: every column; flow table, signalling and notes in the metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trafficgen.outputs import whole_files
from trafficgen.packet_files.report import ProjectionReport, bytes_of, report_unchanged
from trafficgen.progress import report_step
from trafficgen.tables import PACKET_SCHEMA, PacketTable
from trafficgen.tables.metadata import METADATA_KEY, table_metadata
from trafficgen.tables.stream import PIECE_ROWS, PacketStream, stream_of

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
PARQUET_OPTIONS: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": list(_FEW_VALUES),
    "column_encoding": dict.fromkeys(_GROWING, "DELTA_BINARY_PACKED"),
}


def write_parquet(table: PacketTable, path: str | Path) -> ProjectionReport:
    """Write a packet table to a Parquet file (zstd), from which it reads back equal.

    The columns are those of :data:`~trafficgen.tables.PACKET_SCHEMA`, absent ones null; the schema
    metadata has under ``trafficgen`` a JSON object with all else, see
    :func:`trafficgen.tables.metadata.table_metadata`.

    Raises:
        OutputFileError: If the file cannot be written.
    """
    path = Path(path)
    write_parquet_stream(stream_of(table), path)
    return report_unchanged("parquet", (path.name,), len(table), bytes_of(table))


def write_parquet_stream(stream: PacketStream, path: Path) -> int:
    """Write packets as they come; the file is that of :func:`write_parquet`. Return their number.

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
        pq.ParquetWriter(file, schema, **PARQUET_OPTIONS) as writer,
    ):
        for piece in stream.iterate_pieces():
            writer.write_table(all_columns(piece), row_group_size=PIECE_ROWS)
            packets += len(piece)
            report_step("writing", packets, stream.rows, unit="packets")
    return packets


def all_columns(piece: PacketTable) -> pa.Table:
    """Return the packets with all columns of the schema, absent ones null."""
    return pa.table([piece.column(name) for name in PACKET_SCHEMA.names], schema=PACKET_SCHEMA)
