"""The table of targets: everything that a packet table can be exported to."""

from __future__ import annotations

from trafficgen.export.base import Target
from trafficgen.export.csv import write_csv
from trafficgen.export.parquet import write_parquet
from trafficgen.export.pcap import write_pcap, write_pcapng

#: Targets by their name on the command line; a new exporter is entered here and nowhere else.
TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target(
            name="pcap",
            suffix=".pcap",
            write=write_pcap,
            use="Replay it with `tcpreplay -i INTERFACE {file}`, or open it with any tool that reads pcap.",
            takes_view=True,
            takes_snaplen=True,
            takes_raise_small=True,
        ),
        Target(
            name="pcapng",
            suffix=".pcapng",
            write=write_pcapng,
            use="Open it with any tool that reads pcapng; `editcap -F pcap` makes a pcap of it.",
            takes_view=True,
            takes_snaplen=True,
            takes_raise_small=True,
        ),
        Target(
            name="csv",
            suffix=".csv",
            write=write_csv,
            use="One line a packet, times in ns; the flows it names are in the file beside it, by column `flow`.",
            takes_view=True,
        ),
        Target(
            name="parquet",
            suffix=".parquet",
            write=write_parquet,
            use="Read it with any Parquet library, or `trafficgen.read_packets`; the flow table is in the metadata.",
        ),
    )
}


def target_for(path_suffix: str) -> Target | None:
    """Return the target whose files end so (``".pcap"``, any case), or ``None``."""
    return next((target for target in TARGETS.values() if target.suffix == path_suffix.lower()), None)
