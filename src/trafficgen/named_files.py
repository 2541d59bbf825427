"""Files that another file names: regular files of its folder, unless other folders are allowed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

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
