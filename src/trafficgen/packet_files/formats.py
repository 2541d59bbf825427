"""The file formats that a packet table can be written in; the ending of a file names its format."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trafficgen.errors import ExportError
from trafficgen.packet_files.report import parse_view

if TYPE_CHECKING:
    from pathlib import Path

    from trafficgen.packet_files.report import ProjectionReport, View
    from trafficgen.tables import PacketTable


@dataclass(frozen=True)
class FileFormat:
    """One format that a packet table can be written in, as one file (or a pair, or a folder).

    Its writer is the function ``write_<name>`` of a module here, which is loaded when it is used.

    Attributes:
        name: Name on the command line.
        summary: What is written, a phrase for the list of targets.
        suffix: Ending of the file.
        module: Module of this package that has the writer.
        use: How the file is used, a sentence for the README; ``{file}`` is its name.
        options: What may be chosen: ``view``, and of the writer ``snaplen_bytes``, ``raise_small``.
    """

    name: str
    summary: str
    suffix: str
    module: str
    use: str
    options: frozenset[str] = frozenset()

    def write(self, table: PacketTable, path: str | Path, **options: Any) -> ProjectionReport:
        """Write a table to a file and report what was kept."""
        module = import_module(f"{__package__}.{self.module}")
        report: ProjectionReport = getattr(module, f"write_{self.name}")(table, path, **options)
        return report


_CAPTURE_OPTIONS = frozenset({"view", "snaplen_bytes", "raise_small"})

#: Formats of single files by name.
FILE_FORMATS: dict[str, FileFormat] = {
    file_format.name: file_format
    for file_format in (
        FileFormat(
            name="pcap",
            summary="a classic pcap file with nanosecond times (magic 0xa1b23c4d, Ethernet)",
            suffix=".pcap",
            module="pcap",
            use=(
                "Open `{file}` with any tool that reads pcap; to replay it, export to `tcpreplay`"
                " instead."
            ),
            options=_CAPTURE_OPTIONS,
        ),
        FileFormat(
            name="pcapng",
            summary="a pcapng file: one section, one Ethernet interface, nanosecond times",
            suffix=".pcapng",
            module="pcap",
            use=(
                "Open `{file}` with any tool that reads pcapng; `editcap -F pcap` makes a pcap"
                " of it."
            ),
            options=_CAPTURE_OPTIONS,
        ),
        FileFormat(
            name="csv",
            summary="two CSV files, from which packets, flow table and origin read back equal",
            suffix=".csv",
            module="csv",
            use=(
                "`{file}` has one line a packet, times in ns; the flows it names, by column `flow`,"
                " are in the other file."
            ),
            options=frozenset({"view"}),
        ),
        FileFormat(
            name="parquet",
            summary="a Parquet file (zstd), from which the packet table reads back equal",
            suffix=".parquet",
            module="parquet",
            use=(
                "Read `{file}` with any Parquet library, or `trafficgen.read_packets`; the flow"
                " table is in the metadata."
            ),
        ),
    )
}
#: A folder of Parquet files: no target of `export`.
DATASET = FileFormat(
    name="dataset",
    summary="a folder of Parquet files, from which the packet table reads back equal",
    suffix="",
    module="parquet",
    use=(
        "Read the folder `{file}` with any library for Parquet datasets, or"
        " `trafficgen.read_packets`."
    ),
)


def format_for(path_suffix: str) -> FileFormat | None:
    """Return the format of files with an ending (``".pcap"``, any case), or None."""
    return next(
        (known for known in FILE_FORMATS.values() if known.suffix == path_suffix.lower()), None
    )


def write_as(
    file_format: FileFormat,
    table: PacketTable,
    path: Path,
    *,
    at: View = "sender",
    snaplen_bytes: int | None = None,
) -> ProjectionReport:
    """Write a table as one file with the options that the format takes.

    Packets too small for their headers, such as later IP fragments that a capture counts for the
    flow of the first, are made just large enough where the format builds headers; the report counts
    them.

    Raises:
        ExportError: If an option was given that the format does not take.
    """
    check_options(file_format, at=at, snaplen_bytes=snaplen_bytes)
    given = {"snaplen_bytes": snaplen_bytes, "raise_small": True}
    options = {
        name: value
        for name, value in given.items()
        if name in file_format.options and value is not None
    }
    return file_format.write(select_view(table, at), path, **options)


def select_view(table: PacketTable, view: View) -> PacketTable:
    """Return the packets as a capture at the sender, or at the receiver, would show them.

    ``"sender"`` is the table as it is. ``"receiver"`` has only the packets that arrived, at the
    times of their arrival, and counts of flows to match. Arrivals are known of simulated traffic;
    a table without them (a capture, generated packets) is returned as it is.

    Raises:
        ValueError: If ``view`` is neither.
    """
    from trafficgen.tables.counts import as_received  # noqa: PLC0415 - --help needs no tables

    # A simulated table has its path in the notes, even if nothing arrived.
    is_simulated = table.is_known("arrival_ns").any() or "path" in table.notes
    return as_received(table) if parse_view(view) == "receiver" and is_simulated else table


def check_options(file_format: FileFormat, *, at: View, snaplen_bytes: int | None) -> None:
    """Refuse options that a format has no place for.

    Raises:
        ExportError: If there is one.
    """
    if snaplen_bytes is not None and "snaplen_bytes" not in file_format.options:
        raise ExportError(f"{file_format.name} has no snapshot length; leave --snaplen out")
    if at != "sender" and "view" not in file_format.options:
        raise ExportError(f"{file_format.name} holds both views; leave --at out")
