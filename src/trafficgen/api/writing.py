"""Writing a packet table to what its name says: a file of the format that the ending names, or a folder."""

from __future__ import annotations

from pathlib import Path

from trafficgen.errors import ExportError
from trafficgen.export import FILE_FORMATS, FileFormat, format_for
from trafficgen.export.dataset import write_dataset

#: A folder of Parquet files: no file format, so no target of `export`.
DATASET = FileFormat(
    name="dataset",
    suffix="",
    write=write_dataset,
    use="Read the folder `{file}` with any library for Parquet datasets, or `trafficgen.read_packets`.",
)


def names_folder(out: str | Path) -> bool:
    """Return whether a name is that of a folder: its ending names no format, and it has none at all or is one."""
    path = Path(out)
    if format_for(path.suffix) is not None:
        return False
    return str(out).endswith("/") or path.is_dir() or not (path.suffix or path.name.startswith("."))


def format_of(out: str | Path) -> FileFormat:
    """Return the format that a file's ending names; that of a folder is a partitioned Parquet dataset.

    Raises:
        ExportError: If the ending names none.
    """
    if names_folder(out):
        return DATASET
    found = format_for(Path(out).suffix)
    if found is None:
        endings = ", ".join(known.suffix for known in FILE_FORMATS.values())
        raise ExportError(f"{out}: the ending says what is written; use one of {endings}, or no ending for a folder")
    return found
