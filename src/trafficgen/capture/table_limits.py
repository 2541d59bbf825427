"""Refuse tables that ask for memory or time out of all proportion to their size."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from trafficgen.errors import PacketTableError
from trafficgen.tables import FLOW_SCHEMA, PACKET_SCHEMA

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_MAGIC, _TAIL_BYTES = b"PAR1", 8
#: A footer of a thousand row groups of thirty columns has 5 MB.
_LONGEST_FOOTER_BYTES = 1 << 24
_BYTE_ARRAY = 6
#: Types of the protocol without a length -> bytes; true and false are in their headers.
_FIXED_BYTES = {1: 0, 2: 0, 3: 1, 7: 8}
_TEXT, _LISTS, _MAP, _STRUCT = 8, (9, 10), 11, 12
#: More levels than a footer has.
_DEEPEST = 32
#: What is kept of FileMetaData: of each row group the columns, and of each column its type, the
#: parts of its name, and its uncompressed bytes, by their numbers in parquet.thrift.
_WANTED: dict[int, Any] = {4: {1: {3: {1: {}, 3: {}, 6: {}}}}}


def text_columns(file: IO[bytes]) -> Iterator[tuple[str, int]]:
    """Yield the name and the uncompressed bytes of each chunk of a column of texts in a file.

    Raises:
        ValueError: If the footer is longer than any, or cannot be read.
    """
    size_bytes = file.seek(0, 2)
    file.seek(max(0, size_bytes - _TAIL_BYTES))
    tail = file.read(_TAIL_BYTES)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > min(size_bytes - _TAIL_BYTES, _LONGEST_FOOTER_BYTES):
        raise ValueError(f"has a footer of {length:,} bytes")
    file.seek(size_bytes - _TAIL_BYTES - length)
    text = file.read(length)
    try:
        footer = _Compact(text).value(_STRUCT, _WANTED)
        for group in footer[4]:
            for column in group[1]:
                if column[3][1] == _BYTE_ARRAY:
                    yield ".".join(part.decode() for part in column[3][3]), column[3][6]
    except (AttributeError, IndexError, KeyError, TypeError, UnicodeDecodeError):
        raise ValueError("has a footer that cannot be read") from None


class _Compact:
    """A text of the protocol, and the place up to which it is read."""

    def __init__(self, text: bytes) -> None:
        self.text, self.at = text, 0

    def value(self, kind: int, wanted: dict[int, Any] | None, depth: int = 0) -> Any:
        """Read a value; ``wanted`` are the fields to keep of a struct, None keeps nothing."""
        if depth > _DEEPEST:
            raise IndexError
        if kind == _STRUCT:
            return self._struct(wanted, depth)
        if kind in _LISTS:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._number()
            return self._items(count, head & 15, wanted, depth)
        if kind == _MAP:
            if count := self._number():
                kinds = self._byte()
                for _ in range(count):
                    self.value(kinds >> 4, None, depth + 1)
                    self.value(kinds & 15, None, depth + 1)
            return None
        if kind == _TEXT or kind in _FIXED_BYTES:
            length = self._number() if kind == _TEXT else _FIXED_BYTES[kind]
            self.at += length
            if self.at > len(self.text):
                raise IndexError
            return self.text[self.at - length : self.at]
        number = self._number()
        return number >> 1 ^ -(number & 1)

    def _struct(self, wanted: dict[int, Any] | None, depth: int) -> dict[int, Any]:
        found, field = dict[int, Any](), 0
        while head := self._byte():
            number = 0 if head >> 4 else self._number()
            field = field + (head >> 4) if head >> 4 else number >> 1 ^ -(number & 1)
            inner = None if wanted is None else wanted.get(field)
            value = self.value(head & 15, inner, depth + 1)
            if inner is not None:
                found[field] = value
        return found

    def _items(self, count: int, kind: int, wanted: dict[int, Any] | None, depth: int) -> list[Any]:
        # Truths take a byte each in lists.
        items = (self.value(3 if kind < 3 else kind, wanted, depth + 1) for _ in range(count))
        if wanted is not None:
            return list(items)
        for _ in items:
            pass
        return []

    def _byte(self) -> int:
        self.at += 1
        return self.text[self.at - 1]

    def _number(self) -> int:
        """Read a number of any length, lowest seven bits first."""
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise IndexError


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
