"""Formats of packet files, and their options; the ending of a file names its format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

from trafficgen.errors import ExportError
from trafficgen.formatting import find_name, suggest_name
from trafficgen.options import option

#: Whose capture an output shows; see :func:`trafficgen.packet_files.writing.select_view`.
View = Literal["sender", "receiver"]


def parse_view(text: str) -> View:
    """Return the view that a text names; raise ValueError for any other text."""
    if text not in ("sender", "receiver"):
        raise ValueError(f"Unknown view {text!r}. Use sender or receiver.")
    return cast(View, text)


def view_option() -> Any:
    """Declare the option ``--at`` of a field ``at``."""
    return option(
        "sender",
        "--at",
        help="End of the path whose view a pcap or CSV shows.",
        metavar="sender|receiver",
        parse=parse_view,
        values=("sender", "receiver"),
    )


#: Formats of one file, as `--to` names them.
FORMAT_NAMES = ("pcap", "pcapng", "csv", "parquet")


def parse_format(text: str) -> str:
    """Return the name of a file format; raise ValueError for any other text."""
    name = find_name(text, FORMAT_NAMES)
    if name is None:
        guess = suggest_name(text, FORMAT_NAMES)
        raise ValueError(f"Unknown format {text!r}{guess}. Use one of {', '.join(FORMAT_NAMES)}.")
    return name


def format_option() -> Any:
    """Declare the option ``--to`` of a field ``to_format``."""
    return option(
        None,
        "--to",
        help="Format of the packets; default: by the ending of the output. [-o - requires it.|]",
        metavar="|".join(FORMAT_NAMES),
        parse=parse_format,
        values=FORMAT_NAMES,
    )


@dataclass(frozen=True)
class FileFormat:
    """One format that a packet table can be written in, as one file (or a pair, or a folder).

    Attributes:
        summary: What is written, a phrase for the list of targets.
        use: How the file is used, a sentence for the README; ``{file}`` is its name.
        options: What may be chosen: ``view``, ``snaplen_bytes``.
    """

    name: str
    summary: str
    suffix: str
    use: str
    options: frozenset[str] = frozenset()

    @property
    def has_views(self) -> bool:
        """Whether it shows one end of a path; others hold times of sending and of arrival."""
        return "view" in self.options


_CAPTURE_OPTIONS = frozenset({"view", "snaplen_bytes"})

#: Formats of single files by name.
FILE_FORMATS: dict[str, FileFormat] = {
    file_format.name: file_format
    for file_format in (
        FileFormat(
            name="pcap",
            summary="a classic pcap file with nanosecond times (magic 0xa1b23c4d, Ethernet)",
            suffix=".pcap",
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


def check_options(file_format: FileFormat, *, at: View | None, snaplen_bytes: int | None) -> None:
    """Raise ExportError if there are options that a format has no place for."""
    if snaplen_bytes is not None and "snaplen_bytes" not in file_format.options:
        raise ExportError(f"{file_format.name} has no snapshot length; leave [--snaplen] out")
    if at == "receiver" and not file_format.has_views:
        raise ExportError(f"{file_format.name} holds both views; leave [--at] out")
