"""The capture of all benchmarks: ten sizes, 512 flows, 60 % RTP, 40 % TCP."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trafficgen.tables import FLOW_SCHEMA, PACKET_SCHEMA, PacketTable
from trafficgen.tables.protocols import (
    PAIRS,
    documentation_client,
    documentation_pair,
    documentation_server,
)
from trafficgen.units import NS_PER_S

FLOWS = 512
SMALL_FLOW_PACKETS = 5
FRAME_BYTES = (100, 214, 342, 576, 740, 900, 1058, 1200, 1356, 1514)  # mean 800
_ETHERNET_BYTES, _IP_UDP_BYTES, _IP_TCP_BYTES = 14, 28, 40
_SPACING_NS = 2_000


def make_table(packets: int, *, seed: int = 0) -> PacketTable:
    """Return the packet table: six of ten flows are RTP over UDP, the rest TCP; all IPv4."""
    random = np.random.default_rng(seed)
    flow = random.integers(0, FLOWS, packets, dtype=np.uint32)
    is_rtp = flow % 10 < 6
    frame_bytes = np.asarray(FRAME_BYTES, dtype=np.uint32)[
        random.integers(0, len(FRAME_BYTES), packets)
    ]
    ip_bytes = frame_bytes - np.uint32(_ETHERNET_BYTES)
    payload_bytes = ip_bytes - np.where(is_rtp, _IP_UDP_BYTES, _IP_TCP_BYTES).astype(np.uint32)
    place, sent_bytes = _before_in_flow(flow, payload_bytes)
    columns = {
        "time_ns": pa.array(np.arange(packets, dtype=np.int64) * _SPACING_NS),
        "flow": pa.array(flow),
        "to_client": pa.array(np.ones(packets, dtype=np.bool_)),
        "frame_bytes": pa.array(frame_bytes),
        "ip_bytes": pa.array(ip_bytes),
        "payload_bytes": pa.array(payload_bytes),
        "rtp_ssrc": pa.array(flow + np.uint32(1), mask=~is_rtp),
        "rtp_sequence": pa.array(place.astype(np.uint16), mask=~is_rtp),
        "rtp_timestamp": pa.array((place * 3000).astype(np.uint32), mask=~is_rtp),
        "rtp_marker": pa.array(place % 10 == 9, mask=~is_rtp),
        "tcp_sequence": pa.array(sent_bytes.astype(np.uint32), mask=is_rtp),
        "tcp_acknowledgement": pa.array(np.ones(packets, dtype=np.uint32), mask=is_rtp),
        "tcp_flags": pa.array(np.full(packets, 0x18, dtype=np.uint8), mask=is_rtp),
        "tcp_window": pa.array(np.full(packets, 65535, dtype=np.uint32), mask=is_rtp),
    }
    schema = pa.schema([PACKET_SCHEMA.field(name) for name in columns])
    return PacketTable(
        packets=pa.table(columns, schema=schema), flows=_flows(), origin_ns=1_700_000_000 * NS_PER_S
    )


def make_schedule(packets: int, *, seed: int = 0) -> PacketTable:
    """Return one UDP flow of 10,000 packets a second, 100 to 1400 bytes each, at random times."""
    random = np.random.default_rng(seed)
    payload_bytes = random.integers(100, 1400, packets, dtype=np.uint32)
    columns = {
        "time_ns": pa.array(
            np.sort(random.integers(0, packets * 100_000, packets, dtype=np.int64))
        ),
        "flow": pa.array(np.zeros(packets, dtype=np.uint32)),
        "to_client": pa.array(np.ones(packets, dtype=np.bool_)),
        "frame_bytes": pa.array(payload_bytes + np.uint32(_IP_UDP_BYTES + _ETHERNET_BYTES)),
        "ip_bytes": pa.array(payload_bytes + np.uint32(_IP_UDP_BYTES)),
        "payload_bytes": pa.array(payload_bytes),
    }
    schema = pa.schema([PACKET_SCHEMA.field(name) for name in columns])
    return PacketTable(packets=pa.table(columns, schema=schema), flows=_flows().slice(0, 1))


def make_small_flows(packets: int) -> PacketTable:
    """Return flows of five packets of 100 bytes, each between its own pair of hosts."""
    flows = max(1, packets // SMALL_FLOW_PACKETS)
    flow = np.minimum(np.arange(packets) // SMALL_FLOW_PACKETS, flows - 1).astype(np.uint32)
    sizes = np.full(packets, 100, dtype=np.uint32)
    columns = {
        "time_ns": pa.array(np.arange(packets, dtype=np.int64) * _SPACING_NS),
        "flow": pa.array(flow),
        "to_client": pa.array(np.ones(packets, dtype=np.bool_)),
        "frame_bytes": pa.array(sizes),
        "ip_bytes": pa.array(sizes - np.uint32(_ETHERNET_BYTES)),
        "payload_bytes": pa.array(sizes - np.uint32(_ETHERNET_BYTES + _IP_UDP_BYTES)),
    }
    schema = pa.schema([PACKET_SCHEMA.field(name) for name in columns])
    ends = [documentation_pair(number % PAIRS) for number in range(flows)]
    rows: dict[str, object] = {
        field.name: [None if field.nullable else 0] * flows for field in FLOW_SCHEMA
    }
    rows |= {
        "flow": range(flows),
        "session": range(flows),
        "protocol": ["udp"] * flows,
        "media": ["video"] * flows,
    }
    rows |= {"server": [server for server, _ in ends], "client": [client for _, client in ends]}
    rows |= {
        "server_port": [5004] * flows,
        "client_port": [40_000 + number // PAIRS for number in range(flows)],
    }
    return PacketTable(
        packets=pa.table(columns, schema=schema), flows=pa.table(rows, schema=FLOW_SCHEMA)
    )


def _before_in_flow(flow: np.ndarray, payload_bytes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many packets and bytes of its flow came before each packet, shapes (n,)."""
    order = np.argsort(flow, kind="stable")
    first = np.searchsorted(flow[order], np.arange(FLOWS))[flow[order]]
    sent_bytes = np.concatenate(([0], np.cumsum(payload_bytes[order], dtype=np.int64)[:-1]))
    place, before_bytes = np.empty((2, len(flow)), dtype=np.int64)
    place[order] = np.arange(len(flow)) - first
    before_bytes[order] = sent_bytes - sent_bytes[first]
    return place, before_bytes


def _flows() -> pa.Table:
    rows = []
    for number in range(FLOWS):
        row: dict[str, object] = {
            field.name: None if field.nullable else 0 for field in FLOW_SCHEMA
        }
        row |= {
            "flow": number,
            "session": number,
            "protocol": "udp" if number % 10 < 6 else "tcp",
            "media": "video",
        }
        row |= {
            "server": documentation_server(number),
            "server_port": 5004,
            "payload_type": 96,
            "clock_hz": 90_000,
        }
        row |= {"client": documentation_client(number), "client_port": 40_000 + 2 * number}
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)
