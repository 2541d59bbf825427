"""Temporary names beside outputs: made, found again when the process that made them is gone, and
removed.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trafficgen.errors import OutputFileError

#: What file systems say that cannot sync.
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EROFS}
#: Longest name where the file system does not say it, and what a temporary name adds to that of the
#: output, bytes.
_LONGEST_NAME_BYTES, _ADDED_BYTES = 255, 24
_DIGEST_DIGITS = 32


def part_of(path: Path) -> Path:
    """Return the temporary name beside an output under which this process writes it."""
    return path.with_name(f".{short_name(path)}.{os.getpid()}.part")


def short_name(path: Path) -> str:
    """Return the name of a file, or a digest of it where temporary names with it would be too
    long.
    """
    try:
        longest = os.pathconf(path.parent, "PC_NAME_MAX")
    except (OSError, ValueError):
        longest = _LONGEST_NAME_BYTES
    name = os.fsencode(path.name)
    return (
        path.name
        if len(name) + _ADDED_BYTES <= longest
        else hashlib.sha256(name).hexdigest()[:_DIGEST_DIGITS]
    )


def remove_abandoned(path: Path) -> None:
    """Remove what processes that were killed have left of an output, under their temporary names.

    A part of a process that runs stays; one of another machine that shares the disk may have the
    number of none here, so that two machines should not write the same output at once. An output
    that was set aside to be replaced comes back where nothing has taken its place.
    """
    for part in abandoned(path):
        if part.suffix == ".old" and not os.path.lexists(path):
            with suppress(OSError):
                part.replace(path)
        else:
            _remove(part)


def remove_stale(folder: Path, beginning: str) -> None:
    """Remove what processes that are gone have left in a folder under temporary names that begin
    so.
    """
    for part in stale(folder, beginning):
        _remove(part)


def _remove(part: Path) -> None:
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
    else:
        part.unlink(missing_ok=True)


def abandoned(path: Path) -> list[Path]:
    """Return what processes that are gone have left of an output."""
    return stale(path.parent, f".{short_name(path)}.")


def stale(folder: Path, beginning: str) -> list[Path]:
    """Return what processes that are gone have left in a folder under temporary names that begin
    so.
    """
    found = []
    for part in folder.glob(f"{glob.escape(beginning)}*"):
        number, _, ending = part.name.removeprefix(beginning).partition(".")
        temporary = ending in ("part", "old", "moving") and number.isdecimal()
        if temporary and int(number) != os.getpid() and not _runs(int(number)):
            found.append(part)
    return sorted(found)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def sync(path: Path) -> None:
    """Have what was written to a file, or the names in a folder, on the disk; what cannot be synced
    is left.

    Raises:
        OSError: If the disk has no room after all, or fails.
    """
    try:
        number = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder that may be written but not read
        return
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(number)


@contextmanager
def told(file: str | Path, remedy: str) -> Iterator[None]:
    """Turn what the system says into one line."""
    try:
        yield
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise OutputFileError(file=str(file), problem=problem, remedy=remedy) from error


def check_writable(folder: Path) -> None:
    """Refuse a folder that no file can be made in, or that cannot be made itself.

    Raises:
        OSError: If it is so.
    """
    if not folder.is_dir():
        folder.stat()  # says why it is not there
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(folder, os.W_OK | os.X_OK):
        number = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
        raise OSError(number, os.strerror(number))
