"""The RTCP table: sender and receiver reports, one row for each reception block (RFC 3550, 6.4)."""

from __future__ import annotations

import pyarrow as pa

RTCP_SCHEMA = pa.schema(
    [
        pa.field("time_ns", pa.int64(), nullable=False),  # from the table's origin
        pa.field("flow", pa.uint32(), nullable=False),
        pa.field("to_client", pa.bool_(), nullable=False),
        pa.field("reporter_ssrc", pa.uint32(), nullable=False),  # who says so
        pa.field(
            "ntp", pa.uint64()
        ),  # sender's clock, 1/2^32 s since 1900; null where it is no sender report
        pa.field("rtp_timestamp", pa.uint32()),  # the same instant in timestamp units
        pa.field("sender_packets", pa.uint32()),
        pa.field("sender_bytes", pa.uint32()),  # RTP payload
        pa.field(
            "ssrc", pa.uint32()
        ),  # whom the block is about; null, with what follows, where there is no block
        pa.field("fraction_lost", pa.uint8()),  # since the last report, in 1/256
        pa.field("cumulative_lost", pa.int32()),  # packets; duplicates make it negative
        pa.field("highest_sequence", pa.uint32()),  # extended
        pa.field("jitter", pa.uint32()),  # timestamp units
        pa.field(
            "last_sender_report", pa.uint32()
        ),  # LSR: middle 32 bits of the NTP time; 0 where none came
        pa.field("delay_since_last", pa.uint32()),  # DLSR: 1/65536 s
    ]
)


def empty_rtcp() -> pa.Table:
    """Return an RTCP table without rows."""
    return RTCP_SCHEMA.empty_table()
