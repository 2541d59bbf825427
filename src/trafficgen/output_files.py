"""Output that appears whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
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
        for path in renamed:
            remove_abandoned(path)
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
def whole_folder(folder: Path, *, earlier: Collection[str] = ()) -> Iterator[Path]:
    """Give an empty folder whose files are moved into ``folder`` at the end, or not at all when anything fails.

    ``folder`` is made when it is not there, and removed again on failure if it was made here. Files of other names in
    it stay.

    Args:
        folder: Where the files go.
        earlier: Names of files that an earlier output left there: they are replaced, or removed where they are not
            written again. No other file is overwritten.

    Raises:
        OutputFileError: If the folder cannot be made or written, or has a file of someone else's by one of the names.
    """
    made: list[Path] = []
    moved: list[Path] = []
    staging = folder / f".trafficgen.{os.getpid()}.part"
    done = False
    try:
        _make_folders(folder, made)
        staging.mkdir()
        yield staging
        names = _checked_names(staging, folder, earlier)
        _move_all(staging, folder, names, moved)
        for name in left_over(folder, earlier, names):
            (folder / name).unlink(missing_ok=True)
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


@contextmanager
def whole_directory(folder: Path, *, is_earlier: Callable[[Path], bool]) -> Iterator[Path]:
    """Give an empty folder beside ``folder`` that gets its name at the end, or is removed when anything fails.

    Args:
        folder: The folder; it is not there, or empty, or an earlier output, which is replaced.
        is_earlier: Whether a folder is such an output.

    Raises:
        OutputFileError: If the folder cannot be written, or is something else.
    """
    folder = folder.resolve() if folder.is_symlink() else folder
    if folder.exists() and not folder.is_dir():
        raise OutputFileError(file=str(folder), problem="is a file, not a folder", remedy="choose another name")
    if folder.is_dir() and any(folder.iterdir()) and not is_earlier(folder):
        problem = "is a folder with other files in it, which would be lost"
        raise OutputFileError(file=str(folder), problem=problem, remedy="choose another folder, or empty it")
    remove_abandoned(folder)
    staging, old = (folder.parent / f".{folder.name}.{os.getpid()}.{ending}" for ending in ("part", "old"))
    try:
        staging.mkdir()
        yield staging
        if folder.exists():
            folder.replace(old)
        staging.replace(folder)
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise OutputFileError(file=str(folder), problem=problem, remedy=_FOLDER_REMEDY) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if old.exists() and not folder.exists():
            old.replace(folder)
        shutil.rmtree(old, ignore_errors=True)


def remove_abandoned(path: Path) -> None:
    """Remove what processes that were killed have left of an output, under their temporary names.

    A part of a process that runs stays; one of another machine that shares the disk may have the number of none here,
    so that two machines should not write the same output at once.
    """
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        number = part.name.removeprefix(f".{path.name}.").removesuffix(".part")
        if number.isdecimal() and int(number) != os.getpid() and not _runs(int(number)):
            shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _make_folders(folder: Path, made: list[Path]) -> None:
    """Make a folder and what lacks above it; append what was made to ``made``, outermost first."""
    for path in [path for path in (folder, *folder.parents) if not path.exists()][::-1]:
        path.mkdir(exist_ok=True)
        made.append(path)
    folder.mkdir(exist_ok=True)  # says what is wrong with a folder that is a file


def left_over(folder: Path, earlier: Collection[str], names: Collection[str]) -> list[str]:
    """Return the files of an earlier output in a folder that are not among the names of the new one, sorted."""
    return sorted(name for name in {*earlier} - {*names} if (folder / name).is_file())


def _checked_names(staging: Path, folder: Path, earlier: Collection[str]) -> list[str]:
    """Return the names of what is to be moved, when nothing of someone else's is in the way."""
    names = sorted(part.name for part in staging.iterdir())
    for name in names:
        target = folder / name
        if target.is_dir():
            problem, remedy = "cannot be written (it is a folder)", "choose another folder"
            raise OutputFileError(file=str(target), problem=problem, remedy=remedy)
        if name not in earlier and (target.exists() or target.is_symlink()):
            problem = "would be overwritten, and is not of an earlier export"
            raise OutputFileError(
                file=str(target), problem=problem, remedy="choose another folder, or move the file away"
            )
    return names


def _move_all(staging: Path, folder: Path, names: Sequence[str], moved: list[Path]) -> None:
    """Move files into a folder; append those that were not there before to ``moved``."""
    for name in names:
        target = folder / name
        if not target.exists():
            moved.append(target)
        (staging / name).replace(target)
