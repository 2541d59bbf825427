"""Where packets are written to: a file by its ending, a folder, or a URL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from trafficgen.errors import ExportError, SettingError
from trafficgen.outputs import check_files, check_folder, is_stream
from trafficgen.packet_files.formats import (
    DATASET,
    FILE_FORMATS,
    FORMAT_NAMES,
    FileFormat,
    format_for,
    parse_format,
)
from trafficgen.packet_files.table_files import csv_files
from trafficgen.tables.metadata import is_dataset

_OTHERS = FORMAT_NAMES[1:]


def format_of(out: str | Path, to_format: str | None = None) -> FileFormat:
    """Return the format of an output: the one that was named, or that of the ending.

    A name without an ending is a folder, a Parquet dataset.

    Raises:
        ExportError: If the ending names no format, or ``to_format`` does not suit the place.
    """
    path = Path(out)
    if to_format is not None:
        if path.is_dir() or str(out).endswith("/"):
            option = f"[--to {to_format}|to_format={to_format!r}]"
            raise ExportError(f"{out}: is a folder; {option} writes a file: name one")
        return FILE_FORMATS[parse_format(to_format)]
    if is_stream(path) and not path.suffix:
        raise ExportError(
            f"{out}: has no ending; add [--to pcap|to_format='pcap'] (or {', '.join(_OTHERS)})"
        )
    found = format_for(path.suffix)
    if found is not None:
        return found
    if str(out).endswith("/") or path.is_dir() or not (path.suffix or path.name.startswith(".")):
        return DATASET
    endings = ", ".join(known.suffix for known in FILE_FORMATS.values())
    raise ExportError(
        f"{out}: unknown ending {path.suffix!r}; use one of {endings}, or no ending for a folder"
    )


def choose_format(out: str | Path | None, to_format: str | None) -> FileFormat | None:
    """Return the format of an output, if any; raise ExportError for a format without one."""
    if out is not None:
        return format_of(out, to_format)
    if to_format is None:
        return None
    name = parse_format(to_format)
    raise ExportError(
        f"format {name}: there is no file to write; name one, such as out=packets.{name}"
    )


def is_url(place: str | Path) -> bool:
    """Return whether a place is written as a URL."""
    return "://" in str(place)


def local_path(place: str | Path) -> Path | None:
    """Return the path of a place on this machine, None for another URL than ``file://``.

    Raises:
        SettingError: If a ``file://`` URL names a machine.
    """
    if not is_url(place):
        return Path(place)
    parts = urlsplit(str(place))
    if parts.scheme != "file":
        return None
    if parts.netloc not in {"", "localhost"} or not parts.path.startswith("/"):
        raise SettingError(f"{place}: a file URL names no machine; write file:///folder")
    return Path(unquote(parts.path))


def output_paths(out: str | Path, to_format: str | None = None) -> list[Path]:
    """Return the files, or the folder, that packets are written to here; the named one is first.

    Raises:
        ExportError: If the ending names no format.
    """
    path = local_path(out)
    if path is None:
        return []
    return csv_files(path) if format_of(path, to_format).name == "csv" else [path]


def check_output(out: str | Path, to_format: str | None = None) -> None:
    """Refuse what packets cannot be written to on this machine, before any work is done for them.

    Raises:
        ExportError: If the ending names no format.
        OutputFileError: If something is in the way, or nothing can be written there.
    """
    paths = output_paths(out, to_format)
    if paths and format_of(out, to_format) is DATASET:
        check_folder(paths[0], is_earlier=is_dataset)
    elif paths:
        check_files(paths)
