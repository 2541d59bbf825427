"""Uploads: flows turned round, so that the end that sends the media is the server."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.tables import PacketTable

_PAIRS = (
    ("server", "client"),
    ("server_port", "client_port"),
    ("packets_to_client", "packets_to_server"),
    ("frame_bytes_to_client", "frame_bytes_to_server"),
    ("payload_bytes_to_client", "payload_bytes_to_server"),
)


def swap_flow_ends(flows: pa.Table) -> pa.Table:
    """Return a flow table with server and client exchanged."""
    other = dict([*_PAIRS, *(pair[::-1] for pair in _PAIRS)])
    columns = [flows.column(other.get(name, name)) for name in flows.schema.names]
    return pa.Table.from_arrays(columns, schema=flows.schema)


def swap_ends(table: PacketTable) -> PacketTable:
    """Return a packet table with server and client exchanged in every flow, packet and message."""
    return replace(
        table,
        packets=invert_directions(table.packets),
        flows=swap_flow_ends(table.flows),
        signalling=invert_directions(table.signalling),
        rtcp=invert_directions(table.rtcp),
    )


def invert_directions(rows: pa.Table) -> pa.Table:
    """Return packets, messages or reports with their directions exchanged."""
    place = rows.schema.get_field_index("to_client")
    return rows.set_column(place, rows.schema.field(place), pc.invert(rows.column("to_client")))


def heaviest_upload(flows: pa.Table) -> tuple[int, int]:
    """Return the flow with most payload to its server, and the bytes; (-1, 0) without flows."""
    if not flows.num_rows:
        return -1, 0
    sent = flows.column("payload_bytes_to_server")
    row = int(pc.index(sent, pc.max(sent)).as_py())
    return int(flows.column("flow")[row].as_py()), int(sent[row].as_py())
