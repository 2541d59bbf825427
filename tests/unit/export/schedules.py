"""Packet tables of which an exporter's result can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trafficgen.tables import FLOW_SCHEMA, PACKET_SCHEMA, PacketTable
from trafficgen.units import IntArray

_HEADER_BYTES = {"udp": 28, "tcp": 40}


def table_of(
    time_ns: IntArray,
    payload_bytes: IntArray,
    *,
    protocol: str = "udp",
    ipv6: bool = False,
    **columns: pa.Array,
) -> PacketTable:
    """Return one flow to the client; further columns of the packet table by name."""
    n = time_ns.size
    ip_bytes = np.asarray(payload_bytes) + _HEADER_BYTES[protocol] + 20 * ipv6
    values: dict[str, object] = {
        "time_ns": time_ns,
        "flow": np.zeros(n, dtype=np.uint32),
        "to_client": np.ones(n, dtype=np.bool_),
        "frame_bytes": (ip_bytes + 14).astype(np.uint32),
        "ip_bytes": ip_bytes.astype(np.uint32),
        "payload_bytes": np.asarray(payload_bytes).astype(np.uint32),
        **columns,
    }
    row: dict[str, object] = {field.name: None if field.nullable else 0 for field in FLOW_SCHEMA}
    row |= {
        "flow": 0,
        "protocol": protocol,
        "media": "video",
        "server_port": 5004,
        "client_port": 40000,
    }
    row |= (
        {"server": "2001:db8::1", "client": "2001:db8::2"}
        if ipv6
        else {"server": "192.0.2.1", "client": "198.51.100.1"}
    )
    return PacketTable(
        packets=pa.table(values, schema=pa.schema([PACKET_SCHEMA.field(name) for name in values])),
        flows=pa.Table.from_pylist([row], schema=FLOW_SCHEMA),
    )


def steady() -> PacketTable:
    """12 s of a packet every 10 ms: 600, 1000, 1000, 600, ... bytes of payload."""
    place = np.arange(1200)
    return table_of(place * 10_000_000, np.where(place % 3, 1000, 600))
