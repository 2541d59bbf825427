"""Tables next to the packets: bidirectional flows (RFC 2330), and control messages of sessions."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.tables.columns import Column, nullable, schema_of, set_values

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


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_word(text: str) -> bool:
    return text.isascii() and text.replace("-", "").isalnum()


#: Columns of the flow table that packets may have too -> whether a text in one is valid.
_COLUMNS: dict[str, Callable[[str], bool]] = {
    **dict.fromkeys(("server", "client"), _is_address),
    **dict.fromkeys(("server_port", "client_port", "session"), str.isdecimal),
    "protocol": _is_word,
    "media": MEDIA.__contains__,
    **dict.fromkeys(("ssrc", "payload_type", "clock_hz"), str.isdecimal),
}
FLOW_COLUMNS_OF_PACKETS = tuple(_COLUMNS)


def append_flow_columns(packets: pa.Table, flows: pa.Table) -> pa.Table:
    """Return packets with what the flow table says of the flow of each; texts as categories."""
    row_of_flow = packets.column("flow").combine_chunks()
    for name in FLOW_COLUMNS_OF_PACKETS:
        values = flows.column(name).combine_chunks()
        if pa.types.is_string(values.type):
            values = values.dictionary_encode()
        packets = packets.append_column(name, values.take(row_of_flow))
    return packets


def first_of_flows(packets: pa.Table) -> pa.Table:
    """Return the first packet of each flow: its number and what it says of the flow."""
    wanted = [name for name in ("flow", *FLOW_COLUMNS_OF_PACKETS) if name in packets.column_names]
    flow = pc.fill_null(packets.column("flow"), 0).to_numpy()
    return packets.select(wanted).take(pa.array(np.unique(flow, return_index=True)[1]))


def set_flow_columns(flows: pa.Table, packets: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return a flow table with what the packets say of their flows.

    Of each flow, numbered from 0, the first packet counts.

    Returns:
        The flow table, and the columns that were left alone as a value in them is invalid.
    """
    firsts = first_of_flows(packets)
    rows = firsts.column("flow").to_numpy()
    left_alone = []
    for name in firsts.column_names[1:]:
        field = FLOW_SCHEMA.field(name)
        texts = firsts.column(name).cast(pa.string()).to_pylist()
        try:
            if not all(text is None or _COLUMNS[name](text) for text in texts):
                raise ValueError
            given = pa.array(texts, pa.string()).cast(field.type).to_pylist()
        except ValueError:  # pyarrow's errors of values are kinds of it
            left_alone.append(name)
            continue
        values = flows.column(name).to_pylist()
        for row, value in zip(rows.tolist(), given, strict=True):
            values[row] = values[row] if value is None else value
        flows = set_values(flows, name, values)
    return flows, left_alone


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
