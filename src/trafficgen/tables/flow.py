"""The flow table: one row for each bidirectional 5-tuple (RFC 2330: the *packet type P*)."""

from __future__ import annotations

import pyarrow as pa

MEDIA = ("audio", "video", "mixed", "control", "bulk", "unknown")

FLOW_SCHEMA = pa.schema(
    [
        pa.field("flow", pa.uint32(), nullable=False),
        pa.field("session", pa.uint32(), nullable=False),
        pa.field(
            "protocol", pa.string(), nullable=False
        ),  # udp, tcp, icmp, ... ; "non-ip" where there is no IP
        pa.field("server", pa.string(), nullable=False),
        pa.field("server_port", pa.uint16(), nullable=False),  # 0 where the protocol has no ports
        pa.field("client", pa.string(), nullable=False),
        pa.field("client_port", pa.uint16(), nullable=False),
        pa.field("media", pa.string(), nullable=False),  # one of MEDIA
        pa.field("ssrc", pa.uint32()),  # of the RTP stream with most packets
        pa.field("payload_type", pa.uint8()),
        pa.field("clock_hz", pa.uint32()),
        pa.field("first_time_ns", pa.int64(), nullable=False),  # from the table's origin
        pa.field("last_time_ns", pa.int64(), nullable=False),
        pa.field("packets_to_client", pa.uint64(), nullable=False),
        pa.field("packets_to_server", pa.uint64(), nullable=False),
        pa.field("frame_bytes_to_client", pa.uint64(), nullable=False),
        pa.field("frame_bytes_to_server", pa.uint64(), nullable=False),
        pa.field("payload_bytes_to_client", pa.uint64(), nullable=False),
        pa.field("payload_bytes_to_server", pa.uint64(), nullable=False),
    ]
)


def empty_flows() -> pa.Table:
    """Return a flow table without rows."""
    return FLOW_SCHEMA.empty_table()
