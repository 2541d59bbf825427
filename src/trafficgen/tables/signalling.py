"""The signalling table: RTSP messages, one row each (RFC 2326, RFC 7826)."""

from __future__ import annotations

import pyarrow as pa

SIGNALLING_SCHEMA = pa.schema(
    [
        pa.field(
            "time_ns", pa.int64(), nullable=False
        ),  # of the segment in which the message begins, from the table's origin
        pa.field("flow", pa.uint32(), nullable=False),
        pa.field("to_client", pa.bool_(), nullable=False),
        pa.field("method", pa.string()),  # null for a response
        pa.field("status", pa.uint16()),  # null for a request
        pa.field("sequence", pa.uint32()),  # CSeq
        pa.field("uri", pa.string()),
        pa.field("client_ports", pa.list_(pa.uint16()), nullable=False),  # of Transport
        pa.field("server_ports", pa.list_(pa.uint16()), nullable=False),
        pa.field("interleaved_channels", pa.list_(pa.uint8()), nullable=False),
        pa.field(
            "media_clocks",
            pa.list_(
                pa.struct(
                    [
                        ("media", pa.string()),
                        ("payload_type", pa.uint8()),
                        ("clock_hz", pa.uint32()),
                    ]
                )
            ),
            nullable=False,
        ),
    ]
)


def empty_signalling() -> pa.Table:
    """Return a signalling table without rows."""
    return SIGNALLING_SCHEMA.empty_table()
