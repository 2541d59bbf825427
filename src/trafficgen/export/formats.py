"""The file formats that a packet table can be written in: one file, whose ending names the
format.
"""

from __future__ import annotations

from trafficgen.export.base import FileFormat
from trafficgen.export.csv import write_csv
from trafficgen.export.parquet import write_parquet
from trafficgen.export.pcap import write_pcap, write_pcapng

#: Formats by name; a new one is entered here and nowhere else.
FILE_FORMATS: dict[str, FileFormat] = {
    file_format.name: file_format
    for file_format in (
        FileFormat(
            name="pcap",
            suffix=".pcap",
            write=write_pcap,
            use=(
                "Open `{file}` with any tool that reads pcap; to replay it, export to `tcpreplay`"
                " instead."
            ),
            takes_view=True,
            takes_snaplen=True,
            takes_raise_small=True,
        ),
        FileFormat(
            name="pcapng",
            suffix=".pcapng",
            write=write_pcapng,
            use=(
                "Open `{file}` with any tool that reads pcapng; `editcap -F pcap` makes a pcap"
                " of it."
            ),
            takes_view=True,
            takes_snaplen=True,
            takes_raise_small=True,
        ),
        FileFormat(
            name="csv",
            suffix=".csv",
            write=write_csv,
            use=(
                "`{file}` has one line a packet, times in ns; the flows it names, by column `flow`,"
                " are in the file beside it."
            ),
            takes_view=True,
        ),
        FileFormat(
            name="parquet",
            suffix=".parquet",
            write=write_parquet,
            use=(
                "Read `{file}` with any Parquet library, or `trafficgen.read_packets`; the flow"
                " table is in the metadata."
            ),
        ),
    )
}


def format_for(path_suffix: str) -> FileFormat | None:
    """Return the format whose files end so (``".pcap"``, any case), or ``None``."""
    return next(
        (known for known in FILE_FORMATS.values() if known.suffix == path_suffix.lower()), None
    )
