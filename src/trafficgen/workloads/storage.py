"""Where the blocks of a workload wait for the merge: a folder, or a bucket that all machines reach.

Files in it are whole or not there: a folder gets them by a rename, a bucket shows an object once
all of it has come.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from trafficgen.errors import OutputFileError, SettingError

#: Object stores, and what their libraries are called; each shows an object only when all of it has
#: come.
_OBJECT_STORES = {"s3": "s3fs", "gs": "gcsfs"}
_EXTRA = "pip install 'trafficgen-streaming[cluster]'"


class Storage(Protocol):
    """Named files in one place; it is handed to other processes and machines."""

    @property
    def place(self) -> str:
        """The place as people write it."""
        ...

    def begin(self) -> None:
        """Make the place where there is none yet, and remove what killed writers have left
        half-written there.
        """
        ...

    def write(self, name: str, fill: Callable[[pa.NativeFile], None]) -> int:
        """Have a file filled and put it in its place whole; return its length, bytes."""
        ...

    def read(self, name: str) -> bytes:
        """Return what is in a file.

        Raises:
            FileNotFoundError: If it is not there.
        """
        ...

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return what is in several files; those that are not there are left out."""
        ...

    def sizes_bytes(self) -> dict[str, int]:
        """Return names and lengths of all files; empty where there is no such place."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        ...

    def remove_all(self) -> None:
        """Remove all files and the place itself."""
        ...

    @contextmanager
    def fetched(self, name: str, scratch: Path) -> Iterator[Path]:
        """Give the path of a file on this machine, which may be a copy in ``scratch`` that is
        removed afterwards.

        Raises:
            FileNotFoundError: If it is not there.
        """
        ...


@dataclass(frozen=True)
class Folder:
    """Files in a folder of a disk.

    Attributes:
        path: The folder, absolute, since workers may stand elsewhere. Only the run that it belongs
            to makes it: who works on for one that is over must not bring it back.
    """

    path: Path

    @property
    def place(self) -> str:
        """The place as people write it."""
        return str(self.path)

    def begin(self) -> None:
        """Make the folder where there is none yet, and remove what killed writers have left
        half-written there.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        for part in self.path.glob(".*.part"):
            part.unlink(missing_ok=True)

    def write(self, name: str, fill: Callable[[pa.NativeFile], None]) -> int:
        """Have a file filled and put it in its place whole; return its length, bytes."""
        # Numbers of processes would not do: machines that share the disk may have the same.
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
        """Return what is in a file."""
        return (self.path / name).read_bytes()

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return what is in several files; those that are not there are left out."""
        return {
            name: (self.path / name).read_bytes() for name in names if (self.path / name).exists()
        }

    def sizes_bytes(self) -> dict[str, int]:
        """Return names and lengths of all files; empty where there is no such folder."""
        if not self.path.is_dir():
            return {}
        return {path.name: path.stat().st_size for path in self.path.iterdir()}

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Remove all files and the folder itself."""
        shutil.rmtree(self.path, ignore_errors=True)

    @contextmanager
    def fetched(self, name: str, scratch: Path) -> Iterator[Path]:
        """Give the path of a file; nothing is copied."""
        yield self.path / name


@dataclass(frozen=True)
class Bucket:
    """Files in an object store.

    Attributes:
        url: The place, such as ``s3://bucket/folder``.
    """

    url: str

    def __getstate__(self) -> dict[str, str]:
        """Return the place alone: a connection stays in the process that has it."""
        return {"url": self.url}

    @cached_property
    def _files(self) -> Any:
        return _file_system(self.url)

    def _path(self, name: str) -> str:
        return f"{self.url}/{name}"

    @property
    def place(self) -> str:
        """The place as people write it."""
        return self.url

    def begin(self) -> None:
        """Do nothing: a store has no folders, and what has not come whole is not there."""

    def write(self, name: str, fill: Callable[[pa.NativeFile], None]) -> int:
        """Have a file filled in memory and sent; return its length, bytes."""
        sink = pa.BufferOutputStream()
        fill(sink)
        content = sink.getvalue()
        with _told(self._path(name)):
            self._files.pipe_file(self._path(name), content.to_pybytes())
        return int(content.size)

    def read(self, name: str) -> bytes:
        """Return what is in a file."""
        with _told(self._path(name), missing=True):
            return bytes(self._files.cat_file(self._path(name)))

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return what is in several files, fetched side by side; those that are not there are left
        out.
        """
        wanted = {self._files._strip_protocol(self._path(name)): name for name in names}
        with _told(self.url):
            found = self._files.cat(list(wanted), on_error="omit") if wanted else {}
        return {wanted[path]: bytes(content) for path, content in found.items()}

    def sizes_bytes(self) -> dict[str, int]:
        """Return names and lengths of all files; empty where there is no such place."""
        try:
            with _told(self.url, missing=True):
                found = self._files.ls(self.url, detail=True)
        except FileNotFoundError:
            return {}
        return {entry["name"].rpartition("/")[2]: int(entry["size"] or 0) for entry in found}

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError), _told(self._path(name), missing=True):
            self._files.rm_file(self._path(name))

    def remove_all(self) -> None:
        """Remove all files."""
        with suppress(FileNotFoundError), _told(self.url, missing=True):
            self._files.rm(self.url, recursive=True)

    @contextmanager
    def fetched(self, name: str, scratch: Path) -> Iterator[Path]:
        """Give the path of a copy, which is removed afterwards."""
        path = scratch / f"{name}.{uuid.uuid4().hex}"
        try:
            with _told(self._path(name), missing=True):
                self._files.get_file(self._path(name), str(path))
            yield path
        finally:
            path.unlink(missing_ok=True)


def is_url(place: str | Path) -> bool:
    """Return whether a place is written as a URL."""
    return "://" in str(place)


def storage_at(url: str) -> Storage:
    """Return the place that a URL names.

    Args:
        url: ``file:///folder``, ``s3://bucket/folder``, ``gs://bucket/folder``, or the path of a
            folder.

    Raises:
        SettingError: If it names none, or what is needed to reach it is not installed.
    """
    if not is_url(url):
        return Folder(Path(url).absolute())
    if urlsplit(url).scheme == "file":
        return Folder(_file_path(url))
    _file_system(url)
    return Bucket(url.rstrip("/"))


def local_path(place: str | Path) -> Path | None:
    """Return the path of a file that is on a disk of this machine, None for one that is not."""
    if not is_url(place):
        return Path(place)
    return _file_path(str(place)) if urlsplit(str(place)).scheme == "file" else None


def check_reachable(url: str) -> None:
    """Refuse an object that could not be written, before any work is done for it.

    Raises:
        OutputFileError: If its bucket is not there or cannot be reached.
        SettingError: If the URL names no object store, or what is needed is not installed.
    """
    files = _file_system(url)
    bucket = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}"
    try:
        with _told(url, missing=True):
            files.info(bucket)
    except FileNotFoundError:
        raise OutputFileError(
            file=url, problem="there is no such bucket", remedy="make it first, or name another"
        ) from None


def holds_object(url: str) -> bool:
    """Return whether there is an object of this name.

    Raises:
        OutputFileError: If the store cannot be reached.
    """
    with _told(url):
        return bool(_file_system(url).exists(url))


def upload(path: Path, url: str) -> None:
    """Send a file; the object is there when all of it has come, and what was there before stays
    until then.

    Raises:
        OutputFileError: If it cannot be sent.
    """
    with _told(url):
        _file_system(url).put_file(str(path), url)


def no_room(error: BaseException) -> bool:
    """Return whether a disk of this machine is full, or a limit on files is reached."""
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def _file_path(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc not in {"", "localhost"} or not parts.path.startswith("/"):
        raise SettingError(
            f"{url}: a file has no machine in its URL; write file:///folder, with three strokes"
        )
    return Path(unquote(parts.path))


def _file_system(url: str) -> Any:
    """Return what reads and writes an object store."""
    parts = urlsplit(url)
    if parts.scheme not in _OBJECT_STORES:
        known = ", ".join(f"{scheme}://" for scheme in ("file", *_OBJECT_STORES))
        raise SettingError(f"{url}: not a place that is known; use {known} or a folder")
    if not parts.netloc:
        raise SettingError(
            f"{url}: lacks the name of a bucket; write {parts.scheme}://BUCKET/FOLDER"
        )
    try:
        import fsspec  # noqa: PLC0415 - heavy, and for those who ask for it only

        with _told(url):
            # Other machines write there as well: a listing that is kept would soon be wrong.
            return fsspec.filesystem(parts.scheme, use_listings_cache=False)
    except ImportError as error:
        raise SettingError(
            f"{url}: {_OBJECT_STORES[parts.scheme]} is not installed ({error.name or error});"
            f" {_EXTRA}"
        ) from None


@contextmanager
def _told(place: str, *, missing: bool = False) -> Iterator[None]:
    """Turn what a store's library raises into one line. With ``missing``, let a file that is not
    there be known.

    The libraries have exceptions of their own for each reason, some of which are no ``OSError``.
    """
    try:
        yield
    except (OutputFileError, ImportError):
        raise
    except Exception as error:
        if no_room(error) or (missing and isinstance(error, FileNotFoundError)):
            raise
        said = str(error).strip().splitlines()
        raise OutputFileError(
            file=place,
            problem=f"cannot be reached ({said[0] if said else type(error).__name__})",
            remedy="check the address, the bucket and the credentials that this machine has for it",
        ) from error
