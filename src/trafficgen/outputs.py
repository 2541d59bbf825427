"""Output that appears whole or not at all: written under a temporary name, synced, then renamed.

- A file that exists is replaced, unless :func:`keep_existing` was called; the new one gets its
  permissions. A read-only file, and a folder in the place of a file, are refused.
- A symbolic link stays, and what it points to is replaced or made.
- A stream (FIFO, device, descriptor such as ``/dev/stdout``) is written as it is. A descriptor that
  leads to a file (``-o /dev/stdout >> log``) gets the whole output at its position: opening the
  file again would empty it.
- What a killed run left under temporary names is removed by the next run of the same output.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from trafficgen.errors import OutputFileError
from trafficgen.interruptions import clean_up_after, defer_signals
from trafficgen.provenance import file_digest
from trafficgen.standard_streams import STANDARD_OUTPUT

_FILE_REMEDY = "choose a folder that exists, is writable and has room"
_FOLDER_AS_FILE = ("cannot be written (it is a folder)", "give the name of a file in it")
_FOLDER_REMEDY = "choose a folder that can be made and written and has room"
#: What file systems say that cannot sync.
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EROFS}
#: Longer names are digests in temporary names, which file systems limit to 255 bytes.
_LONGEST_NAME_BYTES = 230
#: Symbolic links that are followed, as Linux does.
_MOST_LINKS = 40
#: Bytes copied at a time.
_COPIED_BYTES = 1 << 20
_DESCRIPTORS = re.compile(r"/proc/\d+/fd|/dev/fd")
_kept: ContextVar[bool] = ContextVar("trafficgen_outputs_kept", default=False)

#: Names of files of an earlier output, each with its digest; None where no digest is known.
EarlierFiles = Mapping[str, str | None]
#: Returns whether a folder is an earlier output, which may be replaced as a whole.
IsEarlier = Callable[[Path], bool]


def keep_existing() -> None:
    """Refuse to replace outputs that exist, from here on in this context, as commands do."""
    _kept.set(True)


def existing_kept() -> bool:
    """Return whether outputs that exist are kept."""
    return _kept.get()


def exists_already(name: str | Path) -> OutputFileError:
    """Return the error about an output that is kept."""
    return _error(name, "exists already", "give [--force, or |]another name")


def is_stream(path: Path) -> bool:
    """Return whether a path is a FIFO, a device, or a descriptor such as ``/dev/stdout``."""
    try:
        mode = path.stat().st_mode
        return _descriptor(path) is not None if stat.S_ISREG(mode) else not stat.S_ISDIR(mode)
    except OSError:
        return False


def _descriptor(path: Path) -> Path | None:
    """Return the descriptor that a path names or leads to, such as ``/proc/self/fd/1``."""
    for _ in range(_MOST_LINKS):
        if _DESCRIPTORS.fullmatch(os.path.realpath(path.parent)):
            return path
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return None


def _own_descriptor(path: Path) -> int | None:
    """Return the number of the descriptor of this process by which a path leads to a file.

    Or to a socket, which cannot be opened by its name either.
    """
    found = _descriptor(path) if path.is_file() or path.is_socket() else None
    if found is None or not found.name.isdecimal():
        return None
    own = ("/dev/fd", f"/proc/{os.getpid()}/fd")
    return int(found.name) if os.path.realpath(found.parent) in own else None


def check_files(paths: Sequence[Path]) -> None:
    """Refuse, before the work, what the files of an output cannot replace.

    Raises:
        OutputFileError: If there is a folder, a file that is kept or read-only, or no file of that
            name can be made there.
    """
    with _system_errors(", ".join(map(str, paths)), _FILE_REMEDY):
        for target in map(_target, paths):
            if target.part != target.path:
                _check_writable(target.part.parent)


@contextmanager
def whole_files(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Give temporary names for files; rename them at the end, or remove them when anything fails.

    Of several files the first is the output, and the others belong to it: they get their names
    before it, so that it never exists without them.

    Raises:
        OutputFileError: If a file cannot be written, or one that is kept is there.
    """
    with _system_errors(", ".join(map(str, paths)), _FILE_REMEDY):
        targets = [_target(path) for path in paths]
        files = [target for target in targets if target.part != target.path]

        def remove() -> None:
            for target in files:
                with suppress(OSError):
                    target.part.unlink(missing_ok=True)

        with clean_up_after(remove):
            yield [target.part for target in targets]
            for target in files:
                _sync(target.part)
            with defer_signals():
                if len(targets) > 1 and targets[0].mode is not None:
                    targets[0].path.unlink(missing_ok=True)
                for target in reversed(files):
                    target.put_in_place()
            for target in files:
                _remove_leftovers(target.path)
            for folder in {target.path.parent for target in files}:
                _sync(folder)


@dataclass(frozen=True)
class _Target:
    """A file to be.

    Attributes:
        part: The name under which it is written: the same for a stream.
        mode: Permissions of the file that is replaced; None for a new file.
        descriptor: Open file that gets the bytes at its position; None for a file of that name.
    """

    path: Path
    part: Path
    mode: int | None = None
    descriptor: int | None = None

    def put_in_place(self) -> None:
        """Give the file its name, or its bytes to the descriptor."""
        if self.descriptor is not None:
            _copy_to_descriptor(self.part, self.descriptor)
            return
        if self.mode is not None:
            self.part.chmod(self.mode)
        elif existing_kept() and os.path.lexists(self.path):  # it came meanwhile
            raise exists_already(self.path)
        self.part.replace(self.path)


def _target(path: Path) -> _Target:
    """Find out what becomes of an output; raise OSError or OutputFileError if nothing can."""
    number = _own_descriptor(path)
    if number is not None:
        file = Path(os.path.realpath(path))
        if path.is_socket() or not os.access(file.parent, os.W_OK | os.X_OK):
            file = Path(tempfile.gettempdir(), file.name)
        return _Target(file, _temporary(file, "part"), descriptor=number)
    if is_stream(path):
        return _Target(path, path)
    followed = Path(os.path.realpath(path)) if path.is_symlink() else path
    if not followed.name:  # the root, or this folder, which have no name
        raise _error(path, *_FOLDER_AS_FILE)
    part = _temporary(followed, "part")
    try:
        mode = followed.stat().st_mode
    except FileNotFoundError:
        if existing_kept() and path.is_symlink():  # it would be followed to a place unseen
            raise exists_already(path) from None
        return _Target(followed, part)
    if stat.S_ISDIR(mode):
        raise _error(path, *_FOLDER_AS_FILE)
    if existing_kept():
        _remove_leftovers(followed)
        raise exists_already(path)
    if not mode & 0o222:
        raise _error(path, "is read-only", "make it writable (chmod u+w), or give another name")
    return _Target(followed, part, stat.S_IMODE(mode))


def _copy_to_descriptor(part: Path, descriptor: int) -> None:
    """Append a file to what this process has written to a descriptor, and remove it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):  # it is missing or closed
            stream.flush()
    with part.open("rb") as source, os.fdopen(os.dup(descriptor), "wb") as output:
        shutil.copyfileobj(source, output, _COPIED_BYTES)
    part.unlink()


def check_folder(
    folder: Path, *, earlier: Collection[str] = (), is_earlier: IsEarlier | None = None
) -> None:
    """Refuse, before the work, a folder that cannot be written or replaced; see `whole_folder`.

    Raises:
        OutputFileError: If it is so, or an earlier output there is kept.
    """
    with _system_errors(folder, _FOLDER_REMEDY):
        there = _is_there(folder)
        if is_earlier is None:
            above = (path for path in folder.parents if path.exists())
            _check_writable(folder if there else next(above))
            held = any(os.path.lexists(folder / name) for name in earlier)
            if existing_kept() and held:
                raise _error(
                    folder, "has an earlier output in it", "give [--force, or |]another name"
                )
            return
        _check_writable(folder.parent)
        if there and not folder.is_dir():
            raise _error(folder, "is a file, not a folder", "choose another name")
        if there and any(folder.iterdir()):
            if not is_earlier(folder):
                problem = "is a folder with other files in it, which would be lost"
                raise _error(folder, problem, "choose another folder, or empty it")
            if existing_kept():
                raise exists_already(folder)


@contextmanager
def folders_above(path: Path) -> Iterator[None]:
    """Make the folders above a path; those of them that are empty at the end are removed.

    Raises:
        OutputFileError: If they cannot be made, or what is in the block cannot be written.
    """
    made: list[Path] = []

    def remove() -> None:
        for folder in reversed(made):
            with suppress(OSError):  # there is something in it
                folder.rmdir()

    with _system_errors(path, _FOLDER_REMEDY), clean_up_after(remove):
        for folder in reversed([folder for folder in path.parents if not folder.exists()]):
            folder.mkdir(exist_ok=True)
            made.append(folder)
        yield


@contextmanager
def whole_folder(
    folder: Path,
    *,
    earlier: EarlierFiles = MappingProxyType({}),
    list_file: str | None = None,
    is_earlier: IsEarlier | None = None,
) -> Iterator[Path]:
    """Give an empty folder that becomes ``folder`` at the end, or is removed if anything fails.

    Where ``folder`` exists, the new files are moved into it, and files of other names stay; with
    ``is_earlier`` it is replaced as a whole.

    Args:
        folder: Where the files go.
        earlier: Files that an earlier output left there: they are replaced, or removed where they
            are not written again and have not changed since. No other file is overwritten.
        list_file: Name of the file by which ``earlier`` is known. It is moved first: what a run
            that is killed between two files leaves is known by it.
        is_earlier: Whether a folder is an earlier output, which is replaced as a whole.

    Raises:
        OutputFileError: If the folder cannot be made or written, has a file of someone else's by
            one of the names, or an earlier output that is kept.
    """
    whole = is_earlier is not None
    if whole and (folder.is_symlink() or not folder.name):
        folder = Path(os.path.realpath(folder))
    place = folder if whole or not os.path.lexists(folder) else folder / "trafficgen"
    staging, old = _temporary(place, "part"), _temporary(place, "old")

    def remove() -> None:
        _remove_folder(staging)
        if old.exists() and not folder.exists():
            old.replace(folder)
        _remove_folder(old)

    try:
        check_folder(folder, earlier=earlier, is_earlier=is_earlier)
        with folders_above(folder), clean_up_after(remove):
            _remove_leftovers(place)
            staging.mkdir()
            yield staging
            for path in (*staging.iterdir(), staging):
                _sync(path)
            if place != folder:
                _move_files(staging, folder, earlier, list_file)
            else:
                if whole:
                    check_folder(folder, is_earlier=is_earlier)  # someone may have come meanwhile
                with defer_signals():
                    if folder.exists():
                        folder.replace(old)
                    staging.replace(folder)
            _sync(folder)
            _sync(folder.parent)
    except OutputFileError as error:
        if str(staging) not in error.file:
            raise
        raise _error(folder, error.problem, _FOLDER_REMEDY) from error


def _move_files(staging: Path, folder: Path, earlier: EarlierFiles, list_file: str | None) -> None:
    """Move files into a folder, first the one that lists them; earlier ones are replaced."""
    names = sorted(part.name for part in staging.iterdir())
    _refuse_files_of_others(folder, earlier, names)
    with defer_signals():
        for name in list_leftovers(folder, earlier, names):
            (folder / name).unlink(missing_ok=True)
        for name in sorted(names, key=lambda name: name != list_file):
            (staging / name).replace(folder / name)


def list_leftovers(folder: Path, earlier: EarlierFiles, names: Collection[str]) -> list[str]:
    """List the files of an earlier output that the new one does not write, sorted.

    What has changed since, or is a link now, is someone else's.
    """
    found = [(folder / name, earlier[name]) for name in sorted({*earlier} - {*names})]
    return [
        path.name
        for path, digest in found
        if path.is_file() and not path.is_symlink() and digest in (None, file_digest(path))
    ]


def _refuse_files_of_others(folder: Path, earlier: Collection[str], names: Sequence[str]) -> None:
    for target in (folder / name for name in names):
        if target.is_dir():
            raise _error(target, "cannot be written (it is a folder)", "choose another folder")
        if os.path.lexists(target) and target.name not in earlier:
            problem = "would be overwritten, and is not of an earlier export"
            raise _error(target, problem, "choose another folder, or move the file away")


def short_name(path: Path) -> str:
    """Return the name of a file, or a digest where temporary names with it would be too long."""
    name = os.fsencode(path.name)
    return path.name if len(name) <= _LONGEST_NAME_BYTES else hashlib.sha256(name).hexdigest()[:32]


def _temporary(path: Path, ending: str) -> Path:
    return path.with_name(f".{short_name(path)}.{os.getpid()}.{ending}")


def _remove_leftovers(path: Path) -> None:
    """Remove what killed processes left of an output under temporary names."""
    beginning = f".{short_name(path)}."
    for part in path.parent.glob(f"{glob.escape(beginning)}*"):
        found = re.fullmatch(r"(\d+)\.(part|old)", part.name.removeprefix(beginning))
        if found is None or Path(f"/proc/{found[1]}").exists():
            continue
        if part.is_dir():
            _remove_folder(part)
        else:
            part.unlink(missing_ok=True)


def _remove_folder(folder: Path) -> None:
    """Remove a folder with what is in it; an empty one also where no more files can be opened."""
    with suppress(OSError):
        folder.rmdir()
        return
    shutil.rmtree(folder, ignore_errors=True)


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk; what cannot be synced is left."""
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


def _is_there(path: Path) -> bool:
    """Return whether there is something; raise OSError if there can be nothing of that name."""
    try:
        path.stat()
    except FileNotFoundError:
        return path.is_symlink()
    return True


def _check_writable(folder: Path) -> None:
    """Raise OSError if no file can be made in a folder."""
    with tempfile.TemporaryFile(dir=folder):
        pass


def _error(file: str | Path, problem: str, remedy: str) -> OutputFileError:
    return OutputFileError(file=str(file), problem=problem, remedy=remedy)


@contextmanager
def _system_errors(file: str | Path, remedy: str) -> Iterator[None]:
    """Turn what the system says into one line."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError) and str(file) == str(STANDARD_OUTPUT):
            raise  # the reader has what it wanted, as `head` does
        raise _error(file, f"cannot be written ({error.strerror or error})", remedy) from error
