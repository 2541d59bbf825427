from __future__ import annotations

import pyarrow as pa
import pytest

from trafficgen.tables import FLOW_SCHEMA, PACKET_SCHEMA, PacketTable


def _flow(number: int, protocol: str, **changes: object) -> dict[str, object]:
    row: dict[str, object] = {field.name: None if field.nullable else 0 for field in FLOW_SCHEMA}
    row |= {
        "flow": number,
        "protocol": protocol,
        "media": "video",
        "server_port": 5004,
        "client_port": 40000 + number,
    }
    row |= {"server": "192.0.2.1", "client": "198.51.100.1", "payload_type": 96, "ssrc": 7}
    return row | changes


@pytest.fixture
def table() -> PacketTable:
    """Two RTP packets, a TCP handshake and a data segment, one packet that is lost."""
    packets = pa.table(
        {
            "time_ns": [0, 1_000, 2_000, 3_000, 4_000, 5_000],
            "flow": [0, 1, 1, 1, 0, 1],
            "to_client": [True, False, True, False, True, True],
            "frame_bytes": [214, 54, 54, 54, 1514, 554],
            "ip_bytes": [200, 40, 40, 40, 1500, 540],
            "payload_bytes": [172, 0, 0, 0, 1472, 500],
            "rtp_sequence": [10, None, None, None, 11, None],
            "rtp_timestamp": [90, None, None, None, 180, None],
            "rtp_marker": [True, None, None, None, False, None],
            "tcp_flags": [None, 0x02, 0x12, 0x10, None, 0x18],
            "arrival_ns": [40_000, 41_000, 42_000, 43_000, None, 39_000],
        },
        schema=pa.schema(
            [
                PACKET_SCHEMA.field(name)
                for name in (
                    *("time_ns", "flow", "to_client", "frame_bytes", "ip_bytes", "payload_bytes"),
                    *("rtp_sequence", "rtp_timestamp", "rtp_marker", "tcp_flags", "arrival_ns"),
                )
            ]
        ),
    )
    flows = pa.Table.from_pylist(
        [_flow(0, "udp"), _flow(1, "tcp", server_port=554)], schema=FLOW_SCHEMA
    )
    return PacketTable(packets=packets, flows=flows, origin_ns=1_700_000_000_123_456_789)
