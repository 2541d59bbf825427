"""Text files that may be compressed (gzip, zstd, xz): open them as what they expand to."""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO, TYPE_CHECKING

from trafficgen.errors import CaptureError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: Endings of compressed files; whether a file is compressed is found by its content.
PACKED_ENDINGS = (".gz", ".zst", ".xz")
_MARKS = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0")
_LONGEST_MARK = max(map(len, _MARKS))
_PIECE_BYTES = 1 << 18


def open_expanded(path: str | Path) -> IO[bytes]:
    """Open a file for reading, decompressed within the bounds that hold for captures.

    Raises:
        CaptureError: From the stream, if it breaks off or expands out of all proportion.
    """
    stream = Path(path).open("rb")  # noqa: SIM115 - it is returned
    if not stream.peek(_LONGEST_MARK).startswith(_MARKS):
        return stream
    stream.close()
    return io.BufferedReader(_ExpandedStream(str(path)), _PIECE_BYTES)


def is_compressed(path: str | Path) -> bool:
    """Return whether a file is compressed."""
    with Path(path).open("rb") as stream:
        return stream.read(_LONGEST_MARK).startswith(_MARKS)


def expand_beginning(beginning: bytes) -> bytes:
    """Return what the first bytes of a file expand to; nothing where that is not known yet."""
    if not beginning.startswith(_MARKS):
        return beginning
    try:
        return _ExpandedStream("-", beginning).read(_PIECE_BYTES) or b""
    except CaptureError:
        return b""


def strip_packed_ending(path: str | Path) -> Path:
    """Return a path without the ending of a compressed file."""
    path = Path(path)
    return path.with_suffix("") if path.suffix.lower() in PACKED_ENDINGS else path


class _ExpandedStream(io.RawIOBase):
    """What a compressed file expands to."""

    def __init__(self, path: str, beginning: bytes | None = None) -> None:
        from trafficgen._core import ExpandedFile  # noqa: PLC0415 - few files are compressed text

        self._file = ExpandedFile(path, beginning=beginning)

    def readable(self) -> bool:
        return True

    def readinto(self, target: WriteableBuffer) -> int:
        view = memoryview(target)
        piece = self._file.read(len(view))
        view[: len(piece)] = piece
        return len(piece)
