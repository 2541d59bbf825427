"""Delivery of outputs to URLs: written on this machine first, then sent whole."""

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
    """Refuse an output that could not be sent to its URL, before any work is done for it.

    Raises:
        OutputFileError: If its bucket is missing or cannot be reached, or an object to keep exists.
        SettingError: If its URL is not understood, or the package that opens it is missing.
    """
    if local_path(out) is None:
        check_reachable(str(out))
        if existing_kept() and holds_object(str(out)):
            raise exists_already(out)


@contextmanager
def deliver(out: str | Path, scratch: Path | None = None) -> Iterator[Path]:
    """Give the path to write an output to; an output with a URL is sent when the block ends.

    Of several files the one that ``out`` names is sent last.

    Args:
        out: Path or URL of the output.
        scratch: Folder for an output with a URL; None for a temporary one.

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
            upload(written, f"{parent}/{written.name}")
