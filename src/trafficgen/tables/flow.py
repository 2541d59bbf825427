"""The flow table: one row for each bidirectional 5-tuple (RFC 2330: the *packet type P*)."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from trafficgen.tables.columns import Column, nullable, schema_of

MEDIA = ("audio", "video", "mixed", "control", "bulk", "unknown")

FLOW_COLUMNS = (
    Column(
        "flow",
        pa.uint32(),
        "Number of the flow, from 0: of captures heaviest first, else in the order of the source.",
    ),
    Column("session", pa.uint32(), "Number of the session that groups the flows of one playout."),
    Column(
        "protocol",
        pa.string(),
        "udp, tcp or another IP protocol by name; non-ip where there is no IP.",
    ),
    Column("server", pa.string(), "Address of the server: the end that sends the media."),
    Column("server_port", pa.uint16(), "Its port; 0 where the protocol has no ports."),
    Column("client", pa.string(), "Address of the client."),
    Column("client_port", pa.uint16(), "Its port."),
    Column("media", pa.string(), "What it carries: audio, video, mixed, control, bulk or unknown."),
    nullable(
        "ssrc",
        pa.uint32(),
        "RTP synchronisation source of the RTP stream with most packets; null where it is not RTP.",
    ),
    nullable("payload_type", pa.uint8(), "RTP payload type of that stream."),
    nullable("clock_hz", pa.uint32(), "RTP timestamp clock of that stream, Hz."),
    Column("first_time_ns", pa.int64(), "Time of its first packet, ns from the origin."),
    Column("last_time_ns", pa.int64(), "Time of its last packet, ns from the origin."),
    Column("packets_to_client", pa.uint64(), "Packets to the client."),
    Column("packets_to_server", pa.uint64(), "Packets to the server."),
    Column(
        "frame_bytes_to_client",
        pa.uint64(),
        "Bytes on the wire to the client, link headers included.",
    ),
    Column(
        "frame_bytes_to_server",
        pa.uint64(),
        "Bytes on the wire to the server, link headers included.",
    ),
    Column("payload_bytes_to_client", pa.uint64(), "Transport payload to the client, bytes."),
    Column("payload_bytes_to_server", pa.uint64(), "Transport payload to the server, bytes."),
)
FLOW_SCHEMA = schema_of(FLOW_COLUMNS)


@dataclass(frozen=True, kw_only=True)
class RtpStreamCount:
    """One synchronisation source in one direction of a flow.

    Attributes:
        payload_type: RTP payload type of its first packet; None where the table does not say.
        clock_hz: Timestamp clock, Hz; None if unknown by signalling, payload type and timestamps.
        expected: Packets that the sequence numbers span (RFC 3550 A.3).
        lost: Expected packets that never came; duplicates do not make up for them.
        reordered: Packets below the highest sequence number seen before them.
        duplicates: Packets whose sequence number had been seen.
        jitter_s: Mean over packets of the interarrival jitter estimate (RFC 3550 A.8), s; None
            without a clock.
        channel: Channel of an RTSP connection that carries it; None for RTP in UDP.
        payload_bytes: Transport payload, RTP headers included.
        same_timestamp: Packets with the timestamp of the packet before: parts of one frame.
        span_s: From the first packet to the last, s.
        declared_media: What the session description says that it carries; None where none does.
    """

    flow: int
    to_client: bool
    ssrc: int
    payload_type: int | None
    clock_hz: int | None
    packets: int
    expected: int
    lost: int
    reordered: int
    duplicates: int
    jitter_s: float | None
    channel: int | None = None
    payload_bytes: int = 0
    same_timestamp: int = 0
    span_s: float = 0.0
    declared_media: str | None = None
