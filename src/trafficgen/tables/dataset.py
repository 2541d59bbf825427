"""A packet table as a folder: a partitioned Parquet dataset for any number of packets.

``part-000000.parquet`` and so on hold the packets in order of time, each a stretch of it. Names
that begin with an underscore are left out by what reads such folders (Arrow, Dask, Spark, DuckDB):
``_flows.parquet`` is the flow table, ``_trafficgen.json`` all else.
"""

from __future__ import annotations

from pathlib import Path

FLOWS_FILE = "_flows.parquet"
METADATA_FILE = "_trafficgen.json"
#: Packets of a part; the last has fewer.
PART_ROWS = 1 << 22


def part_name(place: int) -> str:
    """Return the name of a part."""
    return f"part-{place:06d}.parquet"


def part_paths(folder: Path) -> list[Path]:
    """Return the parts of a dataset in order of time."""
    return sorted(folder.glob("part-*.parquet"), key=lambda path: (len(path.name), path.name))


def is_dataset(folder: str | Path) -> bool:
    """Return whether a folder is a packet table of ours."""
    return (Path(folder) / METADATA_FILE).is_file()
