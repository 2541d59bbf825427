"""Writing a packet table to what its name says: a file of the format that the ending names, or a
folder.
"""

from __future__ import annotations

from pathlib import Path

from trafficgen.errors import ExportError
from trafficgen.output_files import check_files
from trafficgen.output_folders import check_directory
from trafficgen.packet_files.csv import flows_file
from trafficgen.packet_files.formats import DATASET, FILE_FORMATS, FileFormat, format_for
from trafficgen.tables.dataset import is_dataset
from trafficgen.workloads.storage import local_path


def names_folder(out: str | Path) -> bool:
    """Return whether a name is that of a folder: its ending names no format, and it has none at all
    or is one.
    """
    path = Path(out)
    if format_for(path.suffix) is not None:
        return False
    return str(out).endswith("/") or path.is_dir() or not (path.suffix or path.name.startswith("."))


def format_of(out: str | Path) -> FileFormat:
    """Return the format that a file's ending names; that of a folder is a partitioned Parquet
    dataset.

    Raises:
        ExportError: If the ending names none.
    """
    if names_folder(out):
        return DATASET
    found = format_for(Path(out).suffix)
    if found is None:
        endings = ", ".join(known.suffix for known in FILE_FORMATS.values())
        raise ExportError(
            f"{out}: the ending says what is written; use one of {endings}, or no ending for a"
            " folder"
        )
    return found


def output_paths(out: str | Path) -> list[Path]:
    """Return the files on this machine that packets are written to, or the folder; the one that is
    named comes first.

    Raises:
        ExportError: If the ending names no format.
    """
    path = local_path(out)
    if path is None:
        return []
    return [path, flows_file(path)] if format_of(path).name == "csv" else [path]


def check_output(out: str | Path) -> None:
    """Refuse what packets cannot be written to on this machine, before any work is done for them.

    Raises:
        ExportError: If the ending names no format.
        OutputFileError: If something is in the way, or nothing can be written there.
    """
    paths = output_paths(out)
    if paths and format_of(out) is DATASET:
        check_directory(paths[0], is_earlier=is_dataset)
    elif paths:
        check_files(paths)
