"""A flow table for packets that came without one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from trafficgen.tables import FLOW_SCHEMA, PacketTable
from trafficgen.tables.addresses import HOSTS_IN_RANGE, documentation_client, documentation_server
from trafficgen.tables.counts import with_counts

_SERVER_PORT = 5004  # RFC 3551 section 8 registers it for RTP
_FIRST_CLIENT_PORT = 40_000
_CLIENT_PORTS = 12_000
#: Higher ids are taken for a damaged column, not for flows: these with any number of packets, those
#: with few.
MOST_FLOWS = 1 << 22
_MOST_FLOWS_OF_FEW_PACKETS = 1 << 17


def infer_flows(packets: pa.Table, *, of_packets: int | None = None) -> pa.Table:
    """Return a flow table with a row for every id up to the highest in the column ``flow``.

    Every flow is UDP of unknown media in session 0, between documentation addresses (RFC 5737) of
    its own.

    Args:
        packets: The packets, or one with the highest id.
        of_packets: How many packets there are in all; None: no others.

    Raises:
        ValueError: If an id is :data:`MOST_FLOWS` or more, or beyond what so few packets can be of.
    """
    count = int(packets.column("flow").to_numpy().max()) + 1 if packets.num_rows else 0
    total = packets.num_rows if of_packets is None else of_packets
    most = min(MOST_FLOWS, max(_MOST_FLOWS_OF_FEW_PACKETS, total))
    if count > most:
        raise ValueError(
            f"column 'flow' has the id {count - 1}; without a flow table ids of {total:,} packets"
            f" end at {most - 1}"
        )
    numbers = np.arange(count)
    zeros = np.zeros(count, dtype=np.int64)
    # Client ports run first, by two as RTP's do, then client addresses, then servers.
    clients, servers = numbers // _CLIENT_PORTS, numbers // (_CLIENT_PORTS * HOSTS_IN_RANGE)
    columns: dict[str, object] = {
        field.name: pa.array(zeros).cast(field.type) for field in FLOW_SCHEMA if _counts(field)
    }
    columns |= {
        "flow": pa.array(numbers, type=pa.uint32()),
        "protocol": ["udp"] * count,
        "server": [documentation_server(int(number)) for number in servers],
        "server_port": pa.array(np.full(count, _SERVER_PORT), type=pa.uint16()),
        "client": [documentation_client(int(number)) for number in clients],
        "client_port": pa.array(
            _FIRST_CLIENT_PORT + 2 * (numbers % _CLIENT_PORTS), type=pa.uint16()
        ),
        "media": ["unknown"] * count,
    }
    for name in ("ssrc", "payload_type", "clock_hz"):
        columns[name] = pa.nulls(count, FLOW_SCHEMA.field(name).type)
    flows = pa.Table.from_pydict(
        {name: columns[name] for name in FLOW_SCHEMA.names}, schema=FLOW_SCHEMA
    )
    table = PacketTable(packets=packets, flows=flows)
    return replace(table, flows=with_counts(table)).flows


def _counts(field: pa.Field) -> bool:
    return bool(pa.types.is_integer(field.type)) and not field.nullable
