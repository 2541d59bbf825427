"""Outputs that are not on a disk of this machine: written here first, then sent whole."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trafficgen.outputs import existing_kept, exists_already
from trafficgen.packet_files.destinations import local_path
from trafficgen.workloads.storage import check_reachable, holds_object, upload

_OUTBOX = "out"


def check_deliverable(out: str | Path) -> None:
    """Refuse an output that could not be sent where it is to go, before any work is done for it.

    Raises:
        OutputFileError: If its bucket is not there or cannot be reached, or an object that is kept
            is there.
        SettingError: If its URL names no place that is known, or what is needed to reach it is not
            installed.
    """
    if local_path(out) is None:
        check_reachable(str(out))
        if existing_kept() and holds_object(str(out)):
            raise exists_already(out)


@contextmanager
def delivered(out: str | Path, scratch: Path | None = None) -> Iterator[Path]:
    """Give the path to write an output to; what is to be elsewhere is sent there when the block
    ends well.

    Each object is there when all of it has come, so that none is ever half-written. Of several, the
    one that was asked for comes last.

    Args:
        out: Path or URL of the output.
        scratch: Folder for an output that is to be elsewhere; None for one among the temporary
            files.

    Raises:
        OutputFileError: If it cannot be sent.
    """
    path = local_path(out)
    if path is not None:
        yield path
    elif scratch is None:
        with (
            tempfile.TemporaryDirectory(prefix="trafficgen-") as folder,
            delivered(out, Path(folder)) as part,
        ):
            yield part
    else:
        parent, _, name = str(out).rpartition("/")
        outbox = scratch / _OUTBOX
        outbox.mkdir()
        yield outbox / name
        check_deliverable(out)  # someone may have come meanwhile
        for written in sorted(outbox.iterdir(), key=lambda written: written.name == name):
            upload(written, f"{parent}/{written.name}")
