"""Output that appears whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    staging = folder / f".trafficgen.{os.getpid()}.part"
    done = False
    try:
        made = _made_folders(folder)
        staging.mkdir()
        yield staging
        for part in sorted(staging.iterdir()):
            part.replace(folder / part.name)
        done = True
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise OutputFileError(file=str(folder), problem=problem, remedy=_FOLDER_REMEDY) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if not done:
            for path in reversed(made):
                path.rmdir()


def _made_folders(folder: Path) -> list[Path]:
    """Make a folder and what lacks above it; return what was made, outermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing[::-1]
