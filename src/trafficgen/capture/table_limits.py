"""Refuse tables that ask for memory or time out of all proportion to their size."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from trafficgen.capture.parquet_footer import text_columns
from trafficgen.errors import PacketTableError
from trafficgen.tables import FLOW_SCHEMA, PACKET_SCHEMA

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: Rows may take this many times the room of their Parquet file, or this many bytes if that is more.
_MOST_EXPANSION = 256
_ALWAYS_EXPANDED_BYTES = 1 << 30
_CELL_BYTES = 8
#: Texts are names and addresses: a column of them has at most this many bytes in a row, and some
#: that are longer.
_TEXT_BYTES = 64
_ALWAYS_TEXT_BYTES = 1 << 24
_LONGEST_SPAN_NS = int(np.iinfo(np.int64).max)


def refuse_expansion(metadata: pq.FileMetaData, path: str | Path, file: IO[bytes]) -> None:
    """Refuse a Parquet file whose rows need far more memory than the file, as captures are refused.

    Raises:
        PacketTableError: If they do, or if texts do that are to be read.
    """
    name, file_bytes = str(path), Path(path).stat().st_size
    expanded_bytes = metadata.num_rows * metadata.num_columns * _CELL_BYTES
    if expanded_bytes > max(_ALWAYS_EXPANDED_BYTES, _MOST_EXPANSION * file_bytes):
        problem = (
            f"claims {metadata.num_rows:,} rows in {file_bytes:,} bytes: more than"
            f" {_MOST_EXPANSION} times its size"
        )
        raise PacketTableError(
            file=name, problem=problem, remedy="if you trust it, write it as CSV and give that"
        )
    for column, text_bytes in _texts_bytes(metadata, path, file).items():
        if text_bytes > max(_ALWAYS_TEXT_BYTES, _TEXT_BYTES * metadata.num_rows):
            problem = (
                f"column {column!r} has texts of {text_bytes:,} bytes in {metadata.num_rows:,} rows"
            )
            remedy = "they are to be short names and addresses; leave the column out"
            raise PacketTableError(file=name, problem=problem, remedy=remedy)


def _texts_bytes(metadata: pq.FileMetaData, path: str | Path, file: IO[bytes]) -> dict[str, int]:
    """Return how many bytes the columns of texts take that a packet table has, if they are many."""
    found: dict[str, int] = {}
    groups = range(metadata.num_row_groups)
    if sum(metadata.row_group(one).total_byte_size for one in groups) <= _ALWAYS_TEXT_BYTES:
        return found
    try:
        for column, size_bytes in text_columns(file):
            if column in PACKET_SCHEMA.names or column in FLOW_SCHEMA.names:
                found[column] = found.get(column, 0) + size_bytes
    except ValueError as error:
        remedy = "write it anew, or as CSV, and give that"
        raise PacketTableError(file=str(path), problem=str(error), remedy=remedy) from error
    return found


def refuse_repeated(columns: Collection[str], name: str) -> None:
    """Raise PacketTableError if a table has a column of ours twice: none of them is the one."""
    names = list(columns)
    repeated = [column for column in PACKET_SCHEMA.names if names.count(column) > 1]
    if repeated:
        problem = f"column {repeated[0]!r} is there {names.count(repeated[0])} times"
        raise PacketTableError(file=name, problem=problem, remedy="give each column once")


def refuse_span(first_ns: int, last_ns: int, name: str) -> None:
    """Raise PacketTableError if ns between packets have no number of 64 bits."""
    if last_ns - first_ns > _LONGEST_SPAN_NS:
        problem = f"its times span {(last_ns - first_ns) / 1e9:.3g} s, longer than any session"
        raise PacketTableError(file=name, problem=problem, remedy="correct the column 'time_ns'")
