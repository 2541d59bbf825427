"""Make a packet table from columns of a trace; what the trace lacks is filled in alike for all."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trafficgen.errors import PacketTableError
from trafficgen.tables import DEFAULT_ORIGIN_NS, FLOW_SCHEMA, PACKET_SCHEMA, PacketTable
from trafficgen.tables.counts import with_counts
from trafficgen.tables.protocols import documentation_client, documentation_server
from trafficgen.units import ETHERNET_HEADER_BYTES, BoolArray, IntArray

UDP_HEADER_BYTES = 8
#: Transport headers without options; of other protocols nothing is known.
_TRANSPORT_HEADER_BYTES = {
    **dict.fromkeys(("udp", "udplite", "icmp", "icmpv6"), UDP_HEADER_BYTES),
    "tcp": 20,
}
#: RFC 3550 section 5.1, without contributing sources.
RTP_HEADER_BYTES = 12
#: Total length of an IP packet that fills an Ethernet frame.
FULL_IP_BYTES = 1500
RTP_PAYLOAD_TYPE = 96  # first of the dynamic ones, RFC 3551 section 6
RTP_CLOCK_HZ = 90_000  # of video, RFC 3551 section 5
_SERVER_PORT = 5004  # RFC 3551 section 8 registers it for RTP
_FIRST_CLIENT_PORT = 40_000
#: Later than this many ns, a time counts from 1970 (it lies after 1973-03-03) and not from a start.
_EPOCH_FROM_NS = 100_000_000_000_000_000


@dataclass(frozen=True)
class Ends:
    """The ends of a flow; documentation addresses (RFC 5737, RFC 3849) by default."""

    protocol: str = "udp"
    server: str = documentation_server()
    server_port: int = _SERVER_PORT
    client: str = documentation_client()
    client_port: int = _FIRST_CLIENT_PORT
    media: str = "unknown"
    ssrc: int | None = None

    @property
    def header_bytes(self) -> int:
        """Bytes of the IP and transport headers of its packets, without options."""
        return ip_header_bytes(self.server) + _TRANSPORT_HEADER_BYTES.get(self.protocol, 0)


def make_ends(number: int, *, media: str = "unknown", ssrc: int | None = None) -> Ends:
    """Return ends that a trace does not name; flows differ by the client's port, even as RTP's."""
    return Ends(client_port=_FIRST_CLIENT_PORT + 2 * (number % 12_000), media=media, ssrc=ssrc)


def ip_header_bytes(address: str) -> int:
    """Return the length of an IP header without options, bytes."""
    return 40 if ":" in address else 20


def ip_version(address: str) -> int | None:
    """Return the version of an IP address; None if invalid or with a zone (``fe80::1%eth0``)."""
    try:
        return None if "%" in address else ipaddress.ip_address(address).version
    except ValueError:
        return None


@dataclass(frozen=True)
class Columns:
    """Packets of a trace, shape (n,) each.

    Attributes:
        time_ns: When they were sent, ns; since 1970 or from any start.
        flow: Row of ``ends``.
        frame_bytes: Length on the wire, bytes; None adds an Ethernet header.
        to_client: Direction; None: all to the client.
        arrival_ns: When they arrived, on the clock of ``time_ns``; None: unknown.
        arrived: Which arrived; None with ``arrival_ns``: all.
        optional: Other columns of the packet table by name.
    """

    time_ns: IntArray
    ip_bytes: IntArray
    payload_bytes: IntArray
    flow: IntArray
    ends: Sequence[Ends]
    frame_bytes: IntArray | None = None
    to_client: BoolArray | None = None
    arrival_ns: IntArray | None = None
    arrived: BoolArray | None = None
    optional: dict[str, pa.Array] | None = None


def packet_table(
    name: str, columns: Columns, *, format_name: str, of_day: bool = False
) -> PacketTable:
    """Return the packet table of a trace, in order of time.

    Times since 1970 count from the first packet's; times of day from the first packet's on a day
    without a date (2020-01-01); other times are kept as they are.

    Raises:
        PacketTableError: If times lie further apart than the table can say.
    """
    used, flow = np.unique(columns.flow, return_inverse=True)
    origin_ns, shift_ns = _origin(columns.time_ns, of_day=of_day)
    time_ns = columns.time_ns - shift_ns
    if (
        len(time_ns)
        and not 0 <= int(time_ns.max()) - int(time_ns.min()) < np.iinfo(np.int64).max // 4
    ):
        problem = "the times lie centuries apart"
        raise PacketTableError(
            file=name, problem=problem, remedy="say what unit they are in by the column's name"
        )
    frame_bytes = (
        columns.ip_bytes + ETHERNET_HEADER_BYTES
        if columns.frame_bytes is None
        else columns.frame_bytes
    )
    count = len(time_ns)
    to_client = np.ones(count, dtype=np.bool_) if columns.to_client is None else columns.to_client
    values: dict[str, pa.Array] = {
        "time_ns": pa.array(time_ns),
        "flow": pa.array(flow.reshape(-1).astype(np.uint32)),
        "to_client": pa.array(to_client),
        "frame_bytes": pa.array(frame_bytes.astype(np.uint32)),
        "ip_bytes": pa.array(columns.ip_bytes.astype(np.uint32)),
        "payload_bytes": pa.array(columns.payload_bytes.astype(np.uint32)),
        **(columns.optional or {}),
    }
    if columns.arrival_ns is not None:
        lost = None if columns.arrived is None else ~columns.arrived
        values["arrival_ns"] = pa.array(columns.arrival_ns - shift_ns, mask=lost)
    names = [name for name in PACKET_SCHEMA.names if name in values]
    schema = pa.schema([PACKET_SCHEMA.field(name) for name in names])
    table = PacketTable(
        packets=pa.table([values[name] for name in names], schema=schema),
        flows=pa.Table.from_pylist(
            [_flow_row(row, columns.ends[number]) for row, number in enumerate(used.tolist())],
            FLOW_SCHEMA,
        ),
        origin_ns=origin_ns,
        notes={"files": [name], "trace_format": format_name},
    ).sort_by_time()
    return replace(table, flows=with_counts(table))


def _origin(time_ns: IntArray, *, of_day: bool) -> tuple[int, int]:
    """Return the table's origin and what is taken from the times, ns."""
    first_ns = int(time_ns.min()) if len(time_ns) else 0
    if of_day:
        return DEFAULT_ORIGIN_NS + first_ns, first_ns
    return (first_ns, first_ns) if first_ns >= _EPOCH_FROM_NS else (DEFAULT_ORIGIN_NS, 0)


def _flow_row(number: int, ends: Ends) -> dict[str, object]:
    has_rtp = ends.ssrc is not None
    return dict.fromkeys(FLOW_SCHEMA.names, 0) | {
        "flow": number,
        # Nothing says that flows belong together, as in a capture without signalling.
        "session": number,
        "protocol": ends.protocol,
        "server": ends.server,
        "server_port": ends.server_port,
        "client": ends.client,
        "client_port": ends.client_port,
        "media": ends.media,
        "ssrc": ends.ssrc,
        "payload_type": RTP_PAYLOAD_TYPE if has_rtp else None,
        "clock_hz": RTP_CLOCK_HZ if has_rtp else None,
    }
