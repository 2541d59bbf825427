"""A packet table for people: one line, and a view for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from trafficgen import html_view as html
from trafficgen.formatting import day_and_time, endpoint, format_count, number
from trafficgen.units import kbps_from_bytes, s_from_ns

if TYPE_CHECKING:
    from trafficgen.tables.packet import PacketTable

_FLOW_HEADER = (
    "flow",
    "protocol",
    "server",
    "client",
    "media",
    "to client, bytes",
    "to server, bytes",
)


def line_of_table(table: PacketTable) -> str:
    """Return packets, flows, length and size on one line."""
    parts = [
        format_count(len(table), "packet"),
        format_count(table.flows.num_rows, "flow"),
        f"{number(_duration_s(table))} s",
    ]
    return (
        f"<PacketTable: {', '.join(parts)}, {format_count(int(table.ip_bytes.sum()), 'IP byte')}>"
    )


def view_of_table(table: PacketTable) -> str:
    """Return what is in the table, its rate over time and its largest flows."""
    to_client = table.to_client
    duration_s, client_bytes = _duration_s(table), int(table.ip_bytes[to_client].sum())
    way = to_client if to_client.any() else ~to_client
    arrived = table.known("arrival_ns")
    rate_kbps = kbps_from_bytes(client_bytes, duration_s) if duration_s else None
    lost = (
        f"{int((~arrived[to_client]).sum()):,d} of {int(to_client.sum()):,d}"
        if arrived.any()
        else None
    )
    return html.view(
        "Packet table",
        html.facts(
            [
                ("packets", f"{len(table):,d}, {int(to_client.sum()):,d} of them to clients"),
                ("length, s", number(duration_s)),
                ("IP bytes", number(int(table.ip_bytes.sum()))),
                ("mean rate to clients, kbps", None if rate_kbps is None else number(rate_kbps)),
                ("packets to clients without an arrival", lost),
                (
                    "begins",
                    (
                        day_and_time(table.origin_ns + int(table.time_ns.min()))
                        if len(table)
                        else None
                    ),
                ),
                ("columns", ", ".join(table.packets.column_names)),
            ]
        ),
        html.rate_curves(
            (
                f"IP packets to {'clients' if to_client.any() else 'servers'}",
                table.time_ns[way],
                table.ip_bytes[way],
            )
        ),
        view_of_flows(table.flows),
    )


def view_of_flows(flows: pa.Table) -> str:
    """Return the flows with most bytes on the wire."""
    ways = [
        flows.column(f"frame_bytes_to_{end}").to_numpy().astype(np.int64)
        for end in ("client", "server")
    ]
    order = np.lexsort((flows.column("flow").to_numpy(), -(ways[0] + ways[1])))[: html.SHOWN_ROWS]
    rows = [
        (
            row["flow"],
            row["protocol"],
            endpoint(row["server"], row["server_port"]),
            endpoint(row["client"], row["client_port"]),
            row["media"],
            number(row["frame_bytes_to_client"]),
            number(row["frame_bytes_to_server"]),
        )
        for row in flows.take(pa.array(order)).to_pylist()
    ]
    return html.table(_FLOW_HEADER, rows, right=(0, 5, 6), total=flows.num_rows, what="flows")


def _duration_s(table: PacketTable) -> float:
    return s_from_ns(int(table.time_ns.max() - table.time_ns.min())) if len(table) else 0.0
