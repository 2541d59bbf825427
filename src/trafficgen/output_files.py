"""Output that appears whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from trafficgen.errors import OutputFileError

_REMEDY = "choose a folder that exists, is writable and has room"
_FOLDER_REMEDY = "choose a folder that can be made and written and has room"


@contextmanager
def whole_files(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Give temporary names beside ``paths``; rename them at the end, or remove them when anything fails.

    A link is followed, so that what it points to is replaced and not the link. Devices and pipes (``/dev/stdout``,
    ``/dev/null``, a FIFO) cannot be replaced and are written as they are.

    Raises:
        OutputFileError: If a file cannot be written.
    """
    targets = [path.resolve() if path.is_symlink() else path for path in paths]
    for path in targets:
        if path.is_dir():
            remedy = "give the name of a file in it"
            raise OutputFileError(file=str(path), problem="cannot be written (it is a folder)", remedy=remedy)
    renamed = {
        path: path.with_name(f".{path.name}.{os.getpid()}.part")
        for path in targets
        if path.is_file() or not path.exists()
    }
    try:
        yield [renamed.get(path, path) for path in targets]
        for path, part in renamed.items():
            part.replace(path)
    except OSError as error:
        names = ", ".join(str(path) for path in paths)
        problem = f"cannot be written ({error.strerror or error})"
        raise OutputFileError(file=names, problem=problem, remedy=_REMEDY) from error
    finally:
        for part in renamed.values():
            part.unlink(missing_ok=True)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder whose files are moved into ``folder`` at the end, or not at all when anything fails.

    ``folder`` is made when it is not there, and removed again on failure if it was made here; files of the same names
    in it are replaced, others stay.

    Raises:
        OutputFileError: If the folder cannot be made or written.
    """
    made: list[Path] = []
    moved: list[Path] = []
    staging = folder / f".trafficgen.{os.getpid()}.part"
    done = False
    try:
        _make_folders(folder, made)
        staging.mkdir()
        yield staging
        _move_all(staging, folder, moved)
        done = True
    except OutputFileError as error:
        if str(staging) not in error.file:  # names of several files may stand there
            raise
        raise OutputFileError(file=str(folder), problem=error.problem, remedy=_FOLDER_REMEDY) from error
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise OutputFileError(file=str(folder), problem=problem, remedy=_FOLDER_REMEDY) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if not done:
            for path in moved:
                path.unlink(missing_ok=True)
            for path in reversed(made):
                with suppress(OSError):  # someone else has put something into it
                    path.rmdir()


def _make_folders(folder: Path, made: list[Path]) -> None:
    """Make a folder and what lacks above it; append what was made to ``made``, outermost first."""
    for path in [path for path in (folder, *folder.parents) if not path.exists()][::-1]:
        path.mkdir(exist_ok=True)
        made.append(path)
    folder.mkdir(exist_ok=True)  # says what is wrong with a folder that is a file


def _move_all(staging: Path, folder: Path, moved: list[Path]) -> None:
    """Move all files into a folder; append those that were not there before to ``moved``."""
    parts = sorted(staging.iterdir())
    for target in (folder / part.name for part in parts):
        if target.is_dir():
            remedy = "choose another folder"
            raise OutputFileError(file=str(target), problem="cannot be written (it is a folder)", remedy=remedy)
    for part in parts:
        target = folder / part.name
        if not target.exists():
            moved.append(target)
        part.replace(target)
