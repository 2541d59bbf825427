"""The JSON object that travels with packets: origin, flow table, signalling and notes."""

from __future__ import annotations

import pyarrow as pa

from trafficgen.tables.control import RTCP_SCHEMA, SIGNALLING_SCHEMA, empty_rtcp
from trafficgen.tables.flow import FLOW_SCHEMA
from trafficgen.tables.packet import PacketTable

#: Key of the object in a Parquet file's schema metadata.
METADATA_KEY = b"trafficgen"
TABLE_SCHEMA_VERSION = "1.0"


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

    Args:
        packets: The packets.
        metadata: The object.
        flows: The flow table where it is not in the object.

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
        reports = metadata.get("rtcp")  # tables of version 1.0 did not have it
        rtcp = (
            empty_rtcp() if reports is None else pa.Table.from_pydict(reports, schema=RTCP_SCHEMA)
        )
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
