"""Output that appears whole or not at all: written under a temporary name, synced to the disk, then
renamed.

What may stand in the place of an output, and what becomes of it:

- A file is replaced, unless :func:`keep_existing` was called, and the new one gets its permissions.
  Other names of it (hard links) keep the old content. One that nobody may write (``chmod a-w``) is
  refused: someone protects it.
- A symbolic link stays, and what it points to is replaced, or made where there is nothing; one that
  leads to itself is refused.
- A FIFO, a device, a descriptor (``/dev/stdout``, ``/dev/fd/3``) has no whole that could appear: it
  is written as it is, never refused and not synced. A descriptor that leads to a file (``>> log``)
  gets the whole where it stands, as
  from any other command: to open the file anew would empty it.
- A folder in the place of a file is refused.

Names may be of any bytes and as long as the file system takes: a temporary name that would be
longer is a digest.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from trafficgen.errors import OutputFileError
from trafficgen.interruptions import cleaned_up, held_back
from trafficgen.temporary_names import (
    abandoned,
    check_writable,
    part_of,
    remove_abandoned,
    sync,
    told,
)

_REMEDY = "choose a folder that exists, is writable and has room"
#: What file systems say that cannot give a file two names.
_NO_LINKS = {
    errno.EPERM,
    errno.ENOTSUP,
    errno.ENOSYS,
    errno.EMLINK,
    errno.EXDEV,
    errno.EINVAL,
    errno.EACCES,
}
#: Symbolic links that lead to one another, after which systems give up.
_MOST_LINKS = 40
_kept: ContextVar[bool] = ContextVar("trafficgen_outputs_kept", default=False)


def keep_existing() -> None:
    """Refuse to replace outputs that exist, from here on in this context (:mod:`contextvars`), as
    commands do.

    Without it they are replaced, as by ``open(..., "w")``: functions that are called anew in a
    notebook go on working.
    """
    _kept.set(True)


def existing_kept() -> bool:
    """Return whether outputs that exist are kept."""
    return _kept.get()


def exists_already(name: str | Path) -> OutputFileError:
    """Return the error about an output that is kept."""
    return OutputFileError(
        file=str(name), problem="exists already", remedy="give --force, or another name"
    )


def check_files(paths: Sequence[Path]) -> None:
    """Refuse what files of an output cannot be put in the place of; asked before the work, it
    spares it.

    Raises:
        OutputFileError: If there is a folder, a link that leads to itself, a file that is kept or
            read-only, or no file of that name can be made there.
    """
    with told(", ".join(str(path) for path in paths), _REMEDY):
        for target in _targets(paths):
            if target.part != target.path:
                check_writable(target.part.parent)


@contextmanager
def whole_files(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Give temporary names beside ``paths``; rename them at the end, or remove them when anything
    fails.

    Of several files the first is the output, and the others belong to it: they get their names
    before it, so that it never stands there without them.

    Raises:
        OutputFileError: If a file cannot be written, or one that is kept is there.
    """
    with told(", ".join(str(path) for path in paths), _REMEDY):
        targets = _targets(paths)
        parts = [target.part for target in targets if target.part != target.path]

        def remove() -> None:
            for part in parts:
                with suppress(OSError):
                    part.unlink(missing_ok=True)

        with cleaned_up(remove):
            yield [target.part for target in targets]
            for part in parts:
                sync(part)
            with held_back():
                if len(targets) > 1:
                    targets[0].make_way()
                for target in reversed(targets):
                    target.put_in_place()
            for target in targets:
                remove_abandoned(target.path)
            for folder in {part.parent for part in parts}:
                sync(folder)


@dataclass(frozen=True)
class _Target:
    """A file to be.

    Attributes:
        path: Its name, links followed.
        part: The name under which it is written: the same for what is written as it is.
        mode: Permissions of the file that is replaced; None where there is none.
        may_replace: Whether a file that comes there meanwhile may be replaced.
        descriptor: Number of the descriptor that gets what was written; None for a file that gets
            its name.
    """

    path: Path
    part: Path
    mode: int | None = None
    may_replace: bool = True
    descriptor: int | None = None

    def make_way(self) -> None:
        """Remove an output that is replaced before its companions are: those of another must not
        stand beside it.
        """
        if self.mode is not None:
            self.path.unlink(missing_ok=True)

    def put_in_place(self) -> None:
        """Give the file its name."""
        if self.part == self.path:
            return
        if self.descriptor is not None:
            _passed_on(self.part, self.descriptor)
            return
        if self.mode is not None:
            self.part.chmod(self.mode)
        if not self.may_replace:
            try:
                os.link(
                    self.part, self.path
                )  # unlike a rename it replaces nothing, whoever came meanwhile
            except FileExistsError:
                raise exists_already(self.path) from None
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                if os.path.lexists(self.path):
                    raise exists_already(self.path) from None
            else:
                self.part.unlink()
                return
        self.part.replace(self.path)


def _targets(paths: Sequence[Path]) -> list[_Target]:
    """Return what is to become of an output and of the files that belong to it.

    What stands beside an output that is not there, but is being renamed by a process that is gone,
    is of that process.
    """
    first = _target(paths[0])
    interrupted = first.mode is None and bool(abandoned(first.path))
    return [first, *(_target(path, ours=interrupted) for path in paths[1:])]


def _target(path: Path, *, ours: bool = False) -> _Target:
    """Return what is to become of an output; ``ours`` says that what is there was left by a run
    that was killed.

    Raises:
        OutputFileError: If it cannot be put there.
        OSError: If the system refuses the name.
    """
    number = _own_descriptor(path)
    if number is not None:
        return _Target(path, _part_of_descriptor(path), descriptor=number)
    if path.is_symlink():
        if is_stream(path):
            return _Target(path, path)
        followed = Path(os.path.realpath(path))
        if followed.is_symlink():
            raise OutputFileError(
                file=str(path), problem="is a link that leads to itself", remedy="remove it"
            )
    else:
        followed = path
    part = part_of(followed)
    try:
        mode = followed.stat().st_mode
    except FileNotFoundError:
        return _Target(followed, part, may_replace=not existing_kept())
    if stat.S_ISDIR(mode):
        problem, remedy = "cannot be written (it is a folder)", "give the name of a file in it"
        raise OutputFileError(file=str(path), problem=problem, remedy=remedy)
    if not stat.S_ISREG(mode) or is_stream(path):
        return _Target(path, path)
    if existing_kept() and not ours:
        remove_abandoned(followed)
        raise exists_already(path)
    if not mode & 0o222:
        problem, remedy = "is read-only", "make it writable (chmod u+w), or give another name"
        raise OutputFileError(file=str(path), problem=problem, remedy=remedy)
    return _Target(followed, part, stat.S_IMODE(mode))


def is_stream(path: Path) -> bool:
    """Return whether a path is a FIFO, a device, or a descriptor such as ``/dev/stdout``, whatever
    that leads to.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    if not stat.S_ISREG(mode):
        return not stat.S_ISDIR(mode)
    return _descriptor(path) is not None


def _descriptor(path: Path) -> Path | None:
    """Return the descriptor that a path is or leads to, such as ``/proc/self/fd/1``; None where it
    is none.
    """
    for _ in range(_MOST_LINKS):
        place = os.path.realpath(path.parent)
        if re.fullmatch(r"/proc/\d+(/task/\d+)?/fd|/dev/fd", place):
            return Path(place, path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _own_descriptor(path: Path) -> int | None:
    """Return the number of the descriptor of this process that leads to a file by that path; None
    where none does.
    """
    found = _descriptor(path) if path.is_file() else None
    if found is None or not found.name.isdecimal():
        return None
    return int(found.name) if str(found.parent) in ("/dev/fd", f"/proc/{os.getpid()}/fd") else None


def _part_of_descriptor(path: Path) -> Path:
    """Return a temporary name beside the file that a descriptor leads to, or where temporary files
    go.
    """
    beside = part_of(Path(os.path.realpath(path)))
    return (
        beside
        if os.access(beside.parent, os.W_OK | os.X_OK)
        else Path(tempfile.gettempdir(), beside.name)
    )


def _passed_on(part: Path, descriptor: int) -> None:
    """Write a file to a descriptor, after what was printed, and remove it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):  # there is none, or it is closed
            stream.flush()
    with part.open("rb") as written, os.fdopen(os.dup(descriptor), "wb") as there:
        shutil.copyfileobj(written, there, 1 << 20)
    part.unlink()
