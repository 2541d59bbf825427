"""The control messages of sessions: RTSP (RFC 2326, RFC 7826) and RTCP reports (RFC 3550, 6.4)."""

from __future__ import annotations

import pyarrow as pa

from trafficgen.tables.columns import Column, nullable, schema_of

_MEDIA_CLOCK = pa.struct(
    [("media", pa.string()), ("payload_type", pa.uint8()), ("clock_hz", pa.uint32())]
)
#: RTSP messages, one row each.
SIGNALLING_COLUMNS = (
    Column(
        "time_ns",
        pa.int64(),
        "Time of the segment in which the message begins, ns from the origin.",
    ),
    Column("flow", pa.uint32(), "Flow that carries the message."),
    Column("to_client", pa.bool_(), "Direction: whether it goes to the client."),
    nullable("method", pa.string(), "RTSP method of a request, such as PLAY; null for a response."),
    nullable("status", pa.uint16(), "RTSP status of a response, such as 200; null for a request."),
    nullable("sequence", pa.uint32(), "CSeq of the message."),
    nullable("uri", pa.string(), "Address that the request names."),
    Column("client_ports", pa.list_(pa.uint16()), "Ports of the client in the Transport header."),
    Column("server_ports", pa.list_(pa.uint16()), "Ports of the server in the Transport header."),
    Column(
        "interleaved_channels",
        pa.list_(pa.uint8()),
        "Channels of the Transport header when media travel in the RTSP connection.",
    ),
    Column(
        "media_clocks",
        pa.list_(_MEDIA_CLOCK),
        "Media, payload types and clocks (Hz) that a session description in the message declares.",
    ),
)
SIGNALLING_SCHEMA = schema_of(SIGNALLING_COLUMNS)
#: Sender and receiver reports, one row for each reception block.
RTCP_COLUMNS = (
    Column("time_ns", pa.int64(), "Time of the packet, ns from the origin."),
    Column("flow", pa.uint32(), "Flow that carries the report."),
    Column("to_client", pa.bool_(), "Direction: whether it goes to the client."),
    Column("reporter_ssrc", pa.uint32(), "RTP source of who reports."),
    nullable(
        "ntp",
        pa.uint64(),
        (
            "Sender's wall clock, 1/2^32 s since 1900; null, with the next three, in a receiver"
            " report."
        ),
    ),
    nullable("rtp_timestamp", pa.uint32(), "The same instant in units of the RTP clock."),
    nullable("sender_packets", pa.uint32(), "RTP packets that it has sent."),
    nullable("sender_bytes", pa.uint32(), "RTP payload that it has sent, bytes."),
    nullable(
        "ssrc",
        pa.uint32(),
        (
            "RTP source that the block is about; null, with all that follow, where a report has no"
            " block."
        ),
    ),
    nullable("fraction_lost", pa.uint8(), "Packets lost since the last report, in 1/256."),
    nullable("cumulative_lost", pa.int32(), "Packets lost in all; duplicates make it negative."),
    nullable("highest_sequence", pa.uint32(), "Highest sequence number received, with its cycles."),
    nullable("jitter", pa.uint32(), "Interarrival jitter, in units of the RTP clock."),
    nullable(
        "last_sender_report",
        pa.uint32(),
        "Middle 32 bits of the last sender report's NTP time (LSR); 0 where none came.",
    ),
    nullable("delay_since_last", pa.uint32(), "Time since then (DLSR), in 1/65536 s."),
)
RTCP_SCHEMA = schema_of(RTCP_COLUMNS)
