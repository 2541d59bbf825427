"""Options of packet files: their format, and whose capture they show."""

from __future__ import annotations

from typing import Any, Literal, cast

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
