"""Segments of a TCP flow: handshake, request, media, acknowledgements, closing (RFC 9293)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen.generation.columns import FlowColumns, join_parts
from trafficgen.generation.media import MediaPackets
from trafficgen.models import Transport
from trafficgen.tables import PHASES
from trafficgen.units import BoolArray, IntArray, ns_from_s

FIN, SYN, PSH, ACK = 0x01, 0x02, 0x08, 0x10

_REQUEST_BYTES = 200
_WINDOW = 65_535
#: A lone segment is acknowledged after this time; RFC 1122 section 4.2.3.2 allows up to 0.5 s.
_DELAYED_ACK_S = 0.2
#: From the last data to the server's FIN.
_CLOSING_S = 0.001


@dataclass(frozen=True)
class TcpConnection:
    """State that the two ends of a connection share.

    Attributes:
        rtt_s: Round-trip time, s; each way takes half.
        header_bytes: IP and TCP header of every segment, bytes.
    """

    server_sequence: int
    client_sequence: int
    rtt_s: float
    header_bytes: int

    @classmethod
    def open(
        cls, transport: Transport, *, rtt_s: float, generator: np.random.Generator
    ) -> TcpConnection:
        """Return a connection with random initial sequence numbers (RFC 9293 section 3.4.1)."""
        server, client = (int(number) for number in generator.integers(1 << 32, size=2))
        return cls(server, client, rtt_s, transport.header_bytes)

    @property
    def one_way_ns(self) -> int:
        """Delay from one end to the other, ns."""
        return ns_from_s(self.rtt_s / 2)

    @property
    def client_next(self) -> int:
        """Sequence number of the client after its request."""
        return self.client_sequence + 1 + _REQUEST_BYTES


def tcp_flow(connection: TcpConnection, media: MediaPackets, *, opening_ns: int) -> FlowColumns:
    """Return all segments of a connection that carries media to the client, in order of time.

    Every segment has the time at which its own end sends it. The receiver acknowledges every second
    segment, and a lone one after the delayed-acknowledgement timeout (RFC 5681 section 4.2). There
    is at least one data segment. The client's SYN is at ``opening_ns``, 1.5 round-trip times before
    the first data.
    """
    payload = media.ip_bytes - np.uint32(connection.header_bytes)
    ends = np.cumsum(payload, dtype=np.int64)
    ends += connection.server_sequence + 1
    return join_parts(
        [
            _handshake(connection, opening_ns),
            _data(connection, media, payload, ends),
            _acknowledgements(connection, media, ends),
            _closing(connection, int(media.time_ns[-1]), int(ends[-1])),
        ]
    )


def _handshake(connection: TcpConnection, time_ns: int) -> FlowColumns:
    way = connection.one_way_ns
    server, client = connection.server_sequence, connection.client_sequence
    # SYN, SYN/ACK, ACK and the request.
    return _segments(
        connection,
        time_ns=np.array([0, way, 2 * way, 2 * way]) + time_ns,
        to_client=np.array([False, True, False, False]),
        payload=np.array([0, 0, 0, _REQUEST_BYTES]),
        sequence=np.array([client, server, client + 1, client + 1]),
        acknowledgement=np.array([0, client + 1, server + 1, server + 1]),
        flags=np.array([SYN, SYN | ACK, ACK, PSH | ACK]),
        phase=PHASES.index("signalling"),
    )


def _data(
    connection: TcpConnection, media: MediaPackets, payload: npt.NDArray[np.uint32], ends: IntArray
) -> FlowColumns:
    has_bursts = media.burst_starts is not None
    pushed = media.ends_burst() if has_bursts else media.ip_bytes < media.ip_bytes.max()
    return _segments(
        connection,
        time_ns=media.time_ns,
        to_client=np.ones(len(media), dtype=np.bool_),
        payload=payload,
        sequence=ends - payload,
        acknowledgement=np.full(len(media), connection.client_next),
        flags=np.where(pushed, PSH | ACK, ACK),
        phase=media.phase,
    )


def _acknowledgements(
    connection: TcpConnection, media: MediaPackets, ends: IntArray
) -> FlowColumns:
    delay_ns, data_ns = ns_from_s(_DELAYED_ACK_S), media.time_ns
    # The timeout ends a run of segments; in a run every second one is acknowledged at once, a last
    # lone one late.
    begins = np.append(True, np.diff(data_ns) > delay_ns)
    rows = np.arange(data_ns.size)
    second = (rows - np.maximum.accumulate(np.where(begins, rows, 0))) % 2 == 1
    lone = ~second & np.append(begins[1:], False)  # the very last is acknowledged with the FIN
    acknowledged = np.flatnonzero(second | lone)
    late_ns = np.where(lone[acknowledged], delay_ns, 0)
    sent_ns = data_ns[acknowledged] + connection.one_way_ns + late_ns
    return _segments(
        connection,
        time_ns=sent_ns,
        to_client=np.zeros(acknowledged.size, dtype=np.bool_),
        payload=np.zeros(acknowledged.size, dtype=np.int64),
        sequence=np.full(acknowledged.size, connection.client_next),
        acknowledgement=ends[acknowledged],
        flags=np.full(acknowledged.size, ACK),
        phase=media.phase[acknowledged],
    )


def _closing(connection: TcpConnection, last_ns: int, end: int) -> FlowColumns:
    way, client = connection.one_way_ns, connection.client_next
    # The server's FIN, the client's FIN that acknowledges it, the last ACK.
    return _segments(
        connection,
        time_ns=np.array([0, way, 2 * way]) + last_ns + ns_from_s(_CLOSING_S),
        to_client=np.array([True, False, True]),
        payload=np.zeros(3, dtype=np.int64),
        sequence=np.array([end, client, end + 1]),
        acknowledgement=np.array([client, end + 1, client + 1]),
        flags=np.array([FIN | ACK, FIN | ACK, ACK]),
        phase=PHASES.index("end"),
    )


def _segments(
    connection: TcpConnection,
    *,
    time_ns: IntArray,
    to_client: BoolArray,
    payload: npt.NDArray[np.integer],
    sequence: IntArray,
    acknowledgement: IntArray,
    flags: npt.NDArray[np.integer],
    phase: int | npt.NDArray[np.int8],
) -> FlowColumns:
    """Return segments; sequence and acknowledgement numbers are cut to 32 bits here."""
    payload_bytes = payload.astype(np.uint32)
    return FlowColumns(
        time_ns=time_ns.astype(np.int64),
        to_client=to_client,
        ip_bytes=payload_bytes + np.uint32(connection.header_bytes),
        payload_bytes=payload_bytes,
        phase=np.full(time_ns.size, phase, dtype=np.int8),
        headers={
            "tcp_sequence": sequence.astype(np.uint32),
            "tcp_acknowledgement": acknowledgement.astype(np.uint32),
            "tcp_flags": flags.astype(np.uint8),
            "tcp_window": np.full(time_ns.size, _WINDOW, dtype=np.uint32),
        },
    )
