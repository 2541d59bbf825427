"""Packet tables on disk: the object of all but the packets, and folders of Parquet files.

The JSON object has origin, flow table, signalling and notes. A folder is a partitioned dataset for
any number of packets: ``part-000000.parquet`` and so on hold the packets in order of time, each a
stretch of it. Names that begin with an underscore are left out by what reads such folders (Arrow,
Dask, Spark, DuckDB): ``_flows.parquet`` is the flow table, ``_trafficgen.json`` all else.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from trafficgen.tables.flow import FLOW_SCHEMA, RTCP_SCHEMA, SIGNALLING_SCHEMA
from trafficgen.tables.packet import PacketTable

#: Key of the object in a Parquet file's schema metadata.
METADATA_KEY = b"trafficgen"
TABLE_SCHEMA_VERSION = "1.0"
FLOWS_FILE = "_flows.parquet"
METADATA_FILE = "_trafficgen.json"
#: Packets of a part; the last has fewer.
PART_ROWS = 1 << 22


def table_metadata(table: PacketTable, *, arrivals_known: bool | None = None) -> dict[str, object]:
    """Return everything but the packets, JSON-compatible.

    Args:
        table: The table.
        arrivals_known: Whether any packet has an arrival; None looks into the table.

    ``arrival_null_means`` says what a packet without ``arrival_ns`` is: ``"lost"``, or
    ``"unknown"`` where no arrival is known at all. Tables stand column by column.
    """
    if arrivals_known is None:
        arrivals_known = bool(table.is_known("arrival_ns").any())
    return {
        "schema_version": TABLE_SCHEMA_VERSION,
        "origin_ns": table.origin_ns,
        "arrival_null_means": "lost" if arrivals_known else "unknown",
        "flows": table.flows.to_pydict(),
        "signalling": table.signalling.to_pydict(),
        **({"rtcp": table.rtcp.to_pydict()} if table.rtcp.num_rows else {}),
        "notes": table.notes,
    }


def table_from_metadata(
    packets: pa.Table, metadata: dict[str, object], *, flows: pa.Table | None = None
) -> PacketTable:
    """Return the table of some packets and the object of :func:`table_metadata`.

    ``flows`` is the flow table where it is not in the object.

    Raises:
        ValueError: If the object is of another major version, lacks a part, or a part does not fit
            its schema.
    """
    version = str(metadata.get("schema_version"))
    if version.partition(".")[0] != TABLE_SCHEMA_VERSION.partition(".")[0]:
        raise ValueError(f"schema version {version}, this program reads {TABLE_SCHEMA_VERSION}")
    try:
        origin_ns, notes = metadata["origin_ns"], metadata["notes"]
        if flows is None:
            flows = pa.Table.from_pydict(metadata["flows"], schema=FLOW_SCHEMA)
        flows = flows.select(FLOW_SCHEMA.names).cast(FLOW_SCHEMA)
        signalling = pa.Table.from_pydict(metadata["signalling"], schema=SIGNALLING_SCHEMA)
        rtcp = RTCP_SCHEMA.empty_table()
        if (reports := metadata.get("rtcp")) is not None:  # tables of version 1.0 did not have it
            rtcp = pa.Table.from_pydict(reports, schema=RTCP_SCHEMA)
    except (KeyError, TypeError, AttributeError, OverflowError, pa.ArrowException) as error:
        raise ValueError(f"metadata that does not fit ({error})") from error
    if not isinstance(origin_ns, int) or not isinstance(notes, dict):
        raise ValueError(
            "metadata whose origin_ns is not a number or whose notes are not an object"
        )
    return PacketTable(
        packets=packets,
        flows=flows,
        origin_ns=origin_ns,
        signalling=signalling,
        notes=notes,
        rtcp=rtcp,
    )


def part_name(place: int) -> str:
    """Return the name of a part."""
    return f"part-{place:06d}.parquet"


def part_paths(folder: Path) -> list[Path]:
    """Return the parts of a dataset in order of time."""
    return sorted(folder.glob("part-*.parquet"), key=lambda path: (len(path.name), path.name))


def is_dataset(folder: str | Path) -> bool:
    """Return whether a folder is a packet table of ours."""
    return (Path(folder) / METADATA_FILE).is_file()
