"""Packets in data frames of pandas, Polars or Arrow, read as CSV and Parquet files are."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from trafficgen.capture.bare_tables import head_of_columns
from trafficgen.capture.table_files import cast_packets, check_table, has_packet_columns
from trafficgen.errors import CaptureWarning, PacketTableError, warn
from trafficgen.options import DataFrame
from trafficgen.tables import PacketTable
from trafficgen.tables.counts import with_counts

_NAME = "data frame"


def read_frame(frame: DataFrame) -> PacketTable:
    """Return the packets of a data frame.

    Its columns are those of a packet table or of a packet list.

    Raises:
        PacketTableError: If it has no time or no size, or holds impossible values.

    Warns:
        CaptureWarning: For each doubt, such as rows that could not be read or columns that are not
            used.
    """
    try:
        table = pa.table(frame)
    except (TypeError, ValueError) as error:  # pyarrow's errors of values are kinds of it
        problem = f"cannot be read ({str(error).splitlines()[0]})"
        remedy = "give columns of numbers and texts"
        if not hasattr(frame, "columns") and hasattr(frame, "to_frame"):
            problem = f"is one column, a {type(frame).__name__}"
            remedy = "give a frame with a time and a size, such as time_s and ip_bytes"
        raise PacketTableError(file=_NAME, problem=problem, remedy=remedy) from error
    if not has_packet_columns(table.column_names):
        return _read_list(table)
    packets = cast_packets(table, _NAME)
    origin_ns = getattr(frame, "attrs", {}).get("origin_ns", 0)
    head = head_of_columns(table, _NAME, table.column_names, origin_ns)
    found = replace(head, packets=packets, notes={"files": [_NAME]})
    return check_table(replace(found, flows=with_counts(found)), _NAME)


def _read_list(table: pa.Table) -> PacketTable:
    from trafficgen.capture.traces.formats.packet_list import read_columns  # noqa: PLC0415 - captures need no readers of traces

    read = read_columns(table, _NAME)
    for text in read.doubts:
        warn(f"{_NAME}: {text}", CaptureWarning)
    return read.table
