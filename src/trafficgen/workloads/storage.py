"""Where the blocks of a workload wait for the merge: a folder, or a URL that all machines reach.

A file is whole or absent: a folder gets it by a rename, an object store shows an object when all
of it has arrived. Every file system that fsspec opens can be named by its URL.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from trafficgen.errors import OutputFileError, SettingError
from trafficgen.imports import require
from trafficgen.outputs import existing_kept, exists_already
from trafficgen.packet_files.destinations import local_path


@dataclass(frozen=True)
class Folder:
    """Files in a folder of a disk.

    Attributes:
        path: The folder, absolute: workers may run in another directory. Only the run that owns
            it makes it; a late worker must not bring it back.
    """

    path: Path

    @property
    def place(self) -> str:
        """The place as users write it."""
        return str(self.path)

    def begin(self) -> None:
        """Make the folder if it is missing, and remove what killed writers left half-written."""
        self.path.mkdir(parents=True, exist_ok=True)
        for part in self.path.glob(".*.part"):
            part.unlink(missing_ok=True)

    def write(self, name: str, fill: Callable[[pa.NativeFile], None]) -> int:
        """Write a file whole; return its length, bytes."""
        # Not the process id: machines that share the disk may use the same one.
        part = self.path / f".{name}.{uuid.uuid4().hex}.part"
        try:
            with pa.OSFile(os.fsencode(part), "wb") as file:
                fill(file)
            with part.open("rb") as written:
                os.fsync(written.fileno())
                size_bytes = os.fstat(written.fileno()).st_size
            part.replace(self.path / name)
        finally:
            part.unlink(missing_ok=True)
        return size_bytes

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: If it is absent.
        """
        return (self.path / name).read_bytes()

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the content of several files; absent ones are left out."""
        return {
            name: (self.path / name).read_bytes() for name in names if (self.path / name).exists()
        }

    def sizes_bytes(self) -> dict[str, int]:
        """Return names and lengths of all files; empty if the folder is absent."""
        if not self.path.is_dir():
            return {}
        return {path.name: path.stat().st_size for path in self.path.iterdir()}

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        (self.path / name).unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Remove all files and the folder itself."""
        shutil.rmtree(self.path, ignore_errors=True)

    @contextmanager
    def fetch(self, name: str, scratch: Path) -> Iterator[Path]:
        """Give the path of a file; nothing is copied to ``scratch``."""
        yield self.path / name


@dataclass(frozen=True)
class RemoteFolder:
    """Files at a URL.

    Attributes:
        url: The place, such as ``s3://bucket/folder``.
    """

    url: str

    def __getstate__(self) -> dict[str, str]:
        """Return the place alone: a connection stays in its process."""
        return {"url": self.url}

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        return _open_url(self.url)

    @property
    def _files(self) -> Any:
        return self._opened[0]

    def _path(self, name: str) -> str:
        return f"{self._opened[1]}/{name}"

    @property
    def place(self) -> str:
        """The place as users write it."""
        return self.url

    def begin(self) -> None:
        """Make the folder if it is missing; its parent must exist."""
        with suppress(FileExistsError), _one_line_errors(self.url, keep=FileExistsError):
            self._files.mkdir(self._opened[1], create_parents=False)

    def write(self, name: str, fill: Callable[[pa.NativeFile], None]) -> int:
        """Fill a file in memory and send it; return its length, bytes."""
        sink = pa.BufferOutputStream()
        fill(sink)
        content = sink.getvalue()
        with _one_line_errors(self.url):
            self._files.pipe_file(self._path(name), content.to_pybytes())
        return int(content.size)

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: If it is absent.
        """
        with _one_line_errors(self.url, keep=FileNotFoundError):
            return bytes(self._files.cat_file(self._path(name)))

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the content of several files, fetched at once; absent ones are left out."""
        wanted = {self._path(name): name for name in names}
        with _one_line_errors(self.url):
            found = self._files.cat(list(wanted), on_error="omit") if wanted else {}
        return {wanted[path]: bytes(content) for path, content in found.items()}

    def sizes_bytes(self) -> dict[str, int]:
        """Return names and lengths of all files; empty if the folder is absent."""
        try:
            with _one_line_errors(self.url, keep=FileNotFoundError):
                found = self._files.ls(self._opened[1], detail=True)
        except FileNotFoundError:
            return {}
        return {entry["name"].rpartition("/")[2]: int(entry["size"] or 0) for entry in found}

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        with suppress(FileNotFoundError), _one_line_errors(self.url, keep=FileNotFoundError):
            self._files.rm_file(self._path(name))

    def remove_all(self) -> None:
        """Remove all files and the folder itself."""
        with suppress(FileNotFoundError), _one_line_errors(self.url, keep=FileNotFoundError):
            self._files.rm(self._opened[1], recursive=True)

    @contextmanager
    def fetch(self, name: str, scratch: Path) -> Iterator[Path]:
        """Give the path of a copy in ``scratch``, which is removed afterwards."""
        path = scratch / f"{name}.{uuid.uuid4().hex}"
        try:
            with _one_line_errors(self.url, keep=FileNotFoundError):
                self._files.get_file(self._path(name), str(path))
            yield path
        finally:
            path.unlink(missing_ok=True)


#: Named files in one place; it is sent to other processes and machines.
Storage = Folder | RemoteFolder


def storage_at(place: str) -> Storage:
    """Return the storage at a path or URL, such as ``file:///folder`` or ``s3://bucket/folder``.

    Raises:
        SettingError: If the URL is not understood, or the package that opens it is missing.
    """
    path = local_path(place)
    if path is not None:
        return Folder(path.absolute())
    _open_url(place)
    return RemoteFolder(place.rstrip("/"))


def no_room(error: BaseException) -> bool:
    """Return whether a disk of this machine is full, or a limit on files is reached."""
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def _open_url(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URL and the path in it."""
    url_to_fs = require("cluster", "fsspec").url_to_fs
    try:
        with _one_line_errors(url, keep=ValueError):
            # Other machines write there too: a cached listing would soon be wrong.
            files, path = url_to_fs(url, use_listings_cache=False)
    except ImportError as error:  # its message says which package to install
        raise SettingError(f"{url}: {error}") from None
    except ValueError as error:
        raise SettingError(f"{url}: {error}; use file://, s3://, a like URL, or a folder") from None
    return files, path.rstrip("/")


@contextmanager
def _one_line_errors(place: str, *, keep: type[Exception] = ImportError) -> Iterator[None]:
    """Report any error of a file system in one line; ``keep`` is the one that the caller handles.

    The packages behind fsspec raise exceptions of their own, some of which are not ``OSError``.
    """
    try:
        yield
    except (OutputFileError, ImportError, keep):
        raise
    except Exception as error:
        if no_room(error):
            raise
        lines = str(error).strip().splitlines()
        raise OutputFileError(
            file=place,
            problem=f"cannot be reached ({lines[0] if lines else type(error).__name__})",
            remedy="check the address, and the credentials that this machine has for it",
        ) from error


_OUTBOX = "out"


def check_deliverable(out: str | Path) -> None:
    """Refuse an output that could not be sent to its URL, before any work is done for it.

    Raises:
        OutputFileError: If its bucket is missing or cannot be reached, or an object to keep exists.
        SettingError: If its URL is not understood, or the package that opens it is missing.
    """
    if local_path(out) is not None:
        return
    files, path = _open_url(str(out))
    top = next((part for part in path.split("/")[:-1] if part), None)
    with _one_line_errors(str(out)):
        if top is not None and not files.exists(f"/{top}" if path.startswith("/") else top):
            problem, remedy = f"{top!r} does not exist", "make it first, or name another"
            raise OutputFileError(file=str(out), problem=problem, remedy=remedy)
        if existing_kept() and files.exists(path):
            raise exists_already(out)


@contextmanager
def deliver(out: str | Path, scratch: Path | None = None) -> Iterator[Path]:
    """Give the path to write an output to; an output with a URL is sent when the block ends.

    Of several files the one that ``out`` names is sent last. ``scratch`` is the folder for an
    output with a URL; None for a temporary one.

    Raises:
        OutputFileError: If it cannot be sent.
    """
    path = local_path(out)
    if path is not None:
        yield path
    elif scratch is None:
        with (
            tempfile.TemporaryDirectory(prefix="trafficgen-") as folder,
            deliver(out, Path(folder)) as part,
        ):
            yield part
    else:
        parent, _, name = str(out).rpartition("/")
        outbox = scratch / _OUTBOX
        outbox.mkdir()
        yield outbox / name
        check_deliverable(out)  # another program may have written it meanwhile
        for written in sorted(outbox.iterdir(), key=lambda written: written.name == name):
            files, target = _open_url(f"{parent}/{written.name}")
            with _one_line_errors(str(out)):  # an earlier object stays until all has arrived
                files.put_file(str(written), target)
