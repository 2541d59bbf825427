"""Writing a packet table to a file whose ending says in which format."""

from __future__ import annotations

from pathlib import Path

from trafficgen.errors import ExportError
from trafficgen.export import FILE_FORMATS, FileFormat, format_for


def format_of(out: str | Path) -> FileFormat:
    """Return the format that a file's ending names.

    Raises:
        ExportError: If it names none.
    """
    found = format_for(Path(out).suffix)
    if found is None:
        endings = ", ".join(known.suffix for known in FILE_FORMATS.values())
        raise ExportError(f"{out}: the ending says what is written; use one of {endings}")
    return found
