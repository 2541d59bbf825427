"""Packets of a simulation as a packet table: every participant with addresses of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from trafficgen.simulation.run import Run
from trafficgen.tables import FLOW_SCHEMA, MEDIA, PACKET_SCHEMA, PHASES, PacketTable
from trafficgen.tables.counts import with_counts
from trafficgen.tables.protocols import documentation_pair
from trafficgen.units import ETHERNET_HEADER_BYTES

_PLAIN_COLUMNS = ("flow", "to_client", "ip_bytes", "payload_bytes", "retransmission")
_RTP_COLUMNS = ("rtp_sequence", "rtp_timestamp", "rtp_marker")
_TCP_COLUMNS = ("tcp_sequence", "tcp_acknowledgement", "tcp_flags", "tcp_window")


def packet_table(
    run: Run,
    *,
    origin_ns: int,
    notes: dict[str, object],
    pair_of: Callable[[int], tuple[str, str]] = documentation_pair,
) -> PacketTable:
    """Return all packets of a simulation; times count from its first packet, sent at ``origin_ns``.

    The notes are facts about how it was made; ``pair_of`` returns the addresses of a participant's
    server and client.
    """
    first_ns = int(run.columns["time_ns"][0]) if run.outcome.packets else 0
    table = PacketTable(
        packets=_packets(run, first_ns=first_ns),
        flows=pa.Table.from_pylist(_flow_rows(run, pair_of), schema=FLOW_SCHEMA),
        origin_ns=origin_ns,
        notes={**notes, "first_media_ns": run.time_zero_ns - first_ns},
    )
    return replace(table, flows=with_counts(table))


def _packets(run: Run, *, first_ns: int) -> pa.Table:
    columns = run.columns
    lost, level = ~columns["arrived"], columns["scale_level"]
    not_rtp, not_tcp = ~columns["rtp_known"], ~columns["tcp_known"]
    ssrc_of_flow = np.array([one["ssrc"] or 0 for one in run.flows], dtype=np.uint32)
    arrival_ns = np.where(lost, 0, columns["arrival_ns"] - first_ns)
    arrays: dict[str, pa.Array] = {
        **{name: pa.array(columns[name]) for name in _PLAIN_COLUMNS},
        **{name: pa.array(columns[name], mask=not_rtp) for name in _RTP_COLUMNS},
        **{name: pa.array(columns[name], mask=not_tcp) for name in _TCP_COLUMNS},
        "time_ns": pa.array(columns["time_ns"] - first_ns),
        "frame_bytes": pa.array(columns["ip_bytes"] + np.uint32(ETHERNET_HEADER_BYTES)),
        "rtp_ssrc": pa.array(ssrc_of_flow[columns["flow"]], mask=not_rtp),
        "arrival_ns": pa.array(arrival_ns, mask=lost),
        "phase": pa.DictionaryArray.from_arrays(
            columns["phase"].astype(np.int8), pa.array(PHASES, type=pa.string())
        ),
        "scale_level": pa.array(level, mask=level < 0),
    }
    return pa.table([arrays[name] for name in PACKET_SCHEMA.names], schema=PACKET_SCHEMA)


def _flow_rows(run: Run, pair_of: Callable[[int], tuple[str, str]]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    taken: set[tuple[object, ...]] = set()
    counts = [name for name in FLOW_SCHEMA.names if name.endswith(("_to_client", "_to_server"))]
    for number, flow in enumerate(run.flows):
        server, client = pair_of(flow["agent"])
        protocol, port = "tcp" if flow["tcp"] else "udp", flow["client_port"]
        while (protocol, server, client, flow["server_port"], port) in taken:
            port += 1
        taken.add((protocol, server, client, flow["server_port"], port))
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
                **dict.fromkeys(counts, 0),
            }
        )
    return rows
