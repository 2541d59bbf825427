"""Packets of a simulation as a packet table: every participant with addresses of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from trafficgen.simulation.run import Run
from trafficgen.tables import FLOW_SCHEMA, MEDIA, PACKET_SCHEMA, PHASES, PacketTable
from trafficgen.tables.addresses import documentation_pair
from trafficgen.tables.counts import with_counts
from trafficgen.units import ETHERNET_HEADER_BYTES

_RTP_COLUMNS = ("rtp_sequence", "rtp_timestamp", "rtp_marker")
_TCP_COLUMNS = ("tcp_sequence", "tcp_acknowledgement", "tcp_flags", "tcp_window")


def packet_table(run: Run, *, origin_ns: int, notes: dict[str, object]) -> PacketTable:
    """Return all packets of a simulation; times count from its first packet.

    Args:
        run: The simulation.
        origin_ns: Time of the first packet since 1970-01-01 UTC, ns.
        notes: Facts about how it was made.
    """
    columns = run.columns
    first_ns = int(np.asarray(columns["time_ns"])[0]) if run.outcome.packets else 0
    table = PacketTable(
        packets=_packets(run, first_ns=first_ns),
        flows=pa.Table.from_pylist(_flow_rows(run), schema=FLOW_SCHEMA),
        origin_ns=origin_ns,
        notes={**notes, "first_media_ns": run.time_zero_ns - first_ns},
    )
    return replace(table, flows=with_counts(table))


def _packets(run: Run, *, first_ns: int) -> pa.Table:
    columns = run.columns
    ip_bytes = np.asarray(columns["ip_bytes"])
    flow = np.asarray(columns["flow"])
    lost = ~np.asarray(columns["arrived"])
    level = np.asarray(columns["scale_level"])
    ssrc_of_flow = np.array([one["ssrc"] or 0 for one in run.flows], dtype=np.uint32)
    not_rtp, not_tcp = ~np.asarray(columns["rtp_known"]), ~np.asarray(columns["tcp_known"])
    arrays: dict[str, pa.Array] = {
        "time_ns": pa.array(np.asarray(columns["time_ns"]) - first_ns),
        "flow": pa.array(flow),
        "to_client": pa.array(np.asarray(columns["to_client"])),
        "frame_bytes": pa.array(ip_bytes + np.uint32(ETHERNET_HEADER_BYTES)),
        "ip_bytes": pa.array(ip_bytes),
        "payload_bytes": pa.array(np.asarray(columns["payload_bytes"])),
        "rtp_ssrc": pa.array(ssrc_of_flow[flow], mask=not_rtp),
        "arrival_ns": pa.array(
            np.where(lost, 0, np.asarray(columns["arrival_ns"]) - first_ns), mask=lost
        ),
        "phase": pa.DictionaryArray.from_arrays(
            pa.array(np.asarray(columns["phase"]).astype(np.int8)),
            pa.array(PHASES, type=pa.string()),
        ),
        "scale_level": pa.array(level, mask=level < 0),
        "retransmission": pa.array(np.asarray(columns["retransmission"])),
        **{name: pa.array(np.asarray(columns[name]), mask=not_rtp) for name in _RTP_COLUMNS},
        **{name: pa.array(np.asarray(columns[name]), mask=not_tcp) for name in _TCP_COLUMNS},
    }
    return pa.table([arrays[name] for name in PACKET_SCHEMA.names], schema=PACKET_SCHEMA)


def _flow_rows(run: Run) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    taken: set[tuple[object, ...]] = set()
    for number, flow in enumerate(run.flows):
        server, client = documentation_pair(flow["agent"])
        protocol = "tcp" if flow["tcp"] else "udp"
        port = flow["client_port"]
        while (protocol, flow["agent"], flow["server_port"], port) in taken:
            port += 1
        taken.add((protocol, flow["agent"], flow["server_port"], port))
        counts = {
            name: 0 for name in FLOW_SCHEMA.names if name.endswith(("_to_client", "_to_server"))
        }
        rows.append(
            {
                "flow": number,
                "session": flow["agent"],
                "protocol": protocol,
                "server": server,
                "server_port": flow["server_port"],
                "client": client,
                "client_port": port,
                "media": MEDIA[flow["media"]],
                "ssrc": flow["ssrc"],
                "payload_type": flow["payload_type"],
                "clock_hz": flow["clock_hz"],
                "first_time_ns": 0,
                "last_time_ns": 0,
                **counts,
            }
        )
    return rows
