"""Files that are read: those that another file names, and compressed ones.

A file names regular files of its folder, unless other folders are allowed. Text may be compressed
by gzip, zstd or xz, and is opened as what it expands to.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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
_outside_allowed: ContextVar[bool] = ContextVar("trafficgen_outside_allowed", default=False)


def allow_outside_files() -> None:
    """Let files name files of other folders, from here on in this context."""
    _outside_allowed.set(True)


@contextmanager
def with_outside_files(*, allowed: bool) -> Iterator[None]:
    """Let files name files of other folders in the block, where that is allowed."""
    token = _outside_allowed.set(allowed or _outside_allowed.get())
    try:
        yield
    finally:
        _outside_allowed.reset(token)


def find_named_file(name: str, folder: Path, *, most_bytes: int) -> Path:
    """Return the path of a file that another file names.

    A missing one is left to its reader, which reports it.

    Args:
        name: Name in the other file.
        folder: Folder of the other file.
        most_bytes: Largest size.

    Raises:
        ValueError: If it is standard input, in another folder, no regular file or too large: the
            problem and, after a semicolon, the remedy.
    """
    path = folder / name
    if "-" in (name, str(path)):
        raise ValueError("'-' is standard input, which is not taken here; name a regular file")
    place, root = Path(os.path.realpath(path)), os.path.realpath(folder)
    if not (_outside_allowed.get() or place.is_relative_to(root)):
        raise ValueError(
            f"{name!r} is outside of the folder of this file; move it there, or allow that with"
            " [--outside-files]"
        )
    try:
        status = path.stat()
    except OSError:
        return path
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{name!r} is a folder, pipe, socket or device; name a regular file")
    if status.st_size > most_bytes:
        raise ValueError(f"{name!r} is larger than {most_bytes:,} bytes; shorten it")
    return path


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
