"""The sizes of columns in a Parquet footer, read without pyarrow.

pyarrow ends the process where it describes a column whose footer contradicts itself (level
histograms of the wrong size, pyarrow 26.0.1); here nothing else of the footer is looked at. It is a
struct of Thrift's compact protocol (github.com/apache/parquet-format, parquet.thrift).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

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
