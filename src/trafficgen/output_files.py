"""Output that appears whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trafficgen.errors import OutputFileError

_REMEDY = "choose a folder that exists, is writable and has room"


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
