"""Output folders that appear whole or not at all, and files that are moved into a folder
together.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from trafficgen.errors import OutputFileError
from trafficgen.interruptions import cleaned_up, held_back
from trafficgen.output_files import existing_kept, exists_already
from trafficgen.temporary_names import (
    check_writable,
    part_of,
    remove_abandoned,
    remove_stale,
    stale,
    sync,
    told,
)

_REMEDY = "choose a folder that can be made and written and has room"
#: How the names of folders begin that are filled within another.
_INSIDE = ".trafficgen."


@contextmanager
def whole_folder(
    folder: Path, *, earlier: Collection[str] = (), list_file: str | None = None
) -> Iterator[Path]:
    """Give an empty folder whose files are moved into ``folder`` at the end, or not at all when
    anything fails.

    ``folder`` is made when it is not there, with all its files at once. Files of other names in it
    stay.

    Args:
        folder: Where the files go.
        earlier: Names of files that an earlier output left there: they are replaced, or removed
            where they are not written again. No other file is overwritten.
        list_file: Name of the file by which ``earlier`` is known. It is moved first: what a run
            that is killed between two files leaves is known by it.

    Raises:
        OutputFileError: If the folder cannot be made or written, has a file of someone else's by
            one of the names, or one of an earlier output that is kept.
    """
    made: list[Path] = []
    moved: list[Path] = []
    done: list[bool] = []
    new = not os.path.lexists(folder)
    staging = part_of(folder) if new else folder / f"{_INSIDE}{os.getpid()}.part"
    moving = staging.with_suffix(".moving")

    def remove() -> None:
        shutil.rmtree(staging, ignore_errors=True)
        shutil.rmtree(moving, ignore_errors=True)
        for path in [] if done else moved:
            path.unlink(missing_ok=True)
        for path in [] if done else reversed(made):
            with suppress(OSError):  # someone else has put something into it
                path.rmdir()

    try:
        with told(folder, _REMEDY), cleaned_up(remove):
            check_folder(folder, earlier)
            _make_folders(folder.parent if new else folder, made)
            remove_abandoned(folder)
            staging.mkdir()
            yield staging
            names = _checked_names(staging, folder, earlier)
            for name in names:
                sync(staging / name)
            with held_back():
                if new:
                    staging.rename(folder)
                else:
                    staging.rename(moving)
                    for name in left_over(folder, earlier, names):
                        (folder / name).unlink(missing_ok=True)
                    _move_all(
                        moving, folder, sorted(names, key=lambda name: name != list_file), moved
                    )
                done.append(True)
            sync(folder)
            sync(folder.parent)
            if not new:
                remove_stale(folder, _INSIDE)
    except OutputFileError as error:
        if str(staging) not in error.file:  # names of several files may stand there
            raise
        raise OutputFileError(file=str(folder), problem=error.problem, remedy=_REMEDY) from error


def check_folder(folder: Path, earlier: Collection[str]) -> None:
    """Refuse a folder with an earlier output that is kept.

    Args:
        folder: The folder, which need not be there.
        earlier: Names of files that an earlier output left there.

    Raises:
        OutputFileError: If there is one, and it is whole: one that a run left that was killed is
            nobody's.
    """
    with told(folder, _REMEDY):
        if _is_there(folder):
            check_writable(folder)
        else:
            check_writable(next(path for path in folder.parents if path.exists()))
        if (
            existing_kept()
            and any(os.path.lexists(folder / name) for name in earlier)
            and not _interrupted(folder)
        ):
            problem = "has an earlier output in it"
            raise OutputFileError(
                file=str(folder), problem=problem, remedy="give --force, or another name"
            )


def _is_there(path: Path) -> bool:
    """Return whether there is something, or raise why there can be nothing of that name."""
    try:
        path.stat()
    except FileNotFoundError:
        return path.is_symlink()
    return True


def _interrupted(folder: Path) -> bool:
    """Return whether a run was killed while it moved files into a folder."""
    return any(part.suffix == ".moving" for part in stale(folder, _INSIDE))


def check_directory(folder: Path, *, is_earlier: Callable[[Path], bool]) -> None:
    """Refuse what a folder as a whole cannot be put in the place of.

    Raises:
        OutputFileError: If there is a file, a folder with something else in it, or an earlier
            output that is kept.
    """
    with told(folder, _REMEDY):
        check_writable(folder.parent)
        if not _is_there(folder):
            return
        if not folder.is_dir():
            raise OutputFileError(
                file=str(folder), problem="is a file, not a folder", remedy="choose another name"
            )
        if any(folder.iterdir()) and not is_earlier(folder):
            problem = "is a folder with other files in it, which would be lost"
            raise OutputFileError(
                file=str(folder), problem=problem, remedy="choose another folder, or empty it"
            )
        if existing_kept() and any(folder.iterdir()):
            remove_abandoned(folder)
            raise exists_already(folder)


@contextmanager
def whole_directory(folder: Path, *, is_earlier: Callable[[Path], bool]) -> Iterator[Path]:
    """Give an empty folder beside ``folder`` that gets its name at the end, or is removed when
    anything fails.

    Args:
        folder: The folder; it is not there, or empty, or an earlier output, which is replaced
            unless it is kept.
        is_earlier: Whether a folder is such an output.

    Raises:
        OutputFileError: If the folder cannot be written, is something else, or is kept.
    """
    folder = Path(os.path.realpath(folder)) if folder.is_symlink() else folder
    staging = part_of(folder)
    old = staging.with_suffix(".old")

    def remove() -> None:
        shutil.rmtree(staging, ignore_errors=True)
        if old.exists() and not folder.exists():
            old.replace(folder)
        shutil.rmtree(old, ignore_errors=True)

    with told(folder, _REMEDY), cleaned_up(remove):
        remove_abandoned(folder)
        check_directory(folder, is_earlier=is_earlier)
        staging.mkdir()
        yield staging
        for path in (*staging.iterdir(), staging):
            sync(path)
        check_directory(folder, is_earlier=is_earlier)  # someone may have come meanwhile
        with held_back():
            if folder.exists():
                folder.replace(old)
            staging.replace(folder)
        sync(folder.parent)


def _make_folders(folder: Path, made: list[Path]) -> None:
    """Make a folder and what lacks above it; append what was made to ``made``, outermost first."""
    for path in [path for path in (folder, *folder.parents) if not path.exists()][::-1]:
        path.mkdir(exist_ok=True)
        made.append(path)
    folder.mkdir(exist_ok=True)  # says what is wrong with a folder that is a file


def left_over(folder: Path, earlier: Collection[str], names: Collection[str]) -> list[str]:
    """Return the files of an earlier output in a folder that are not among the names of the new
    one, sorted.
    """
    return sorted(name for name in {*earlier} - {*names} if (folder / name).is_file())


def _checked_names(staging: Path, folder: Path, earlier: Collection[str]) -> list[str]:
    """Return the names of what is to be moved, when nothing of someone else's is in the way."""
    names = sorted(part.name for part in staging.iterdir())
    for name in names:
        target = folder / name
        if target.is_dir():
            problem, remedy = "cannot be written (it is a folder)", "choose another folder"
            raise OutputFileError(file=str(target), problem=problem, remedy=remedy)
        if os.path.lexists(target) and name not in earlier:
            problem = "would be overwritten, and is not of an earlier export"
            raise OutputFileError(
                file=str(target),
                problem=problem,
                remedy="choose another folder, or move the file away",
            )
    return names


def _move_all(staging: Path, folder: Path, names: Sequence[str], moved: list[Path]) -> None:
    """Move files into a folder; append those that were not there before to ``moved``."""
    for name in names:
        target = folder / name
        if not target.exists():
            moved.append(target)
        (staging / name).replace(target)
