"""Segments of a TCP flow: handshake, request, media, acknowledgements, closing (RFC 9293)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen.flows import pace_around_s
from trafficgen.generation.columns import FlowColumns, join_parts
from trafficgen.generation.media import MediaPackets
from trafficgen.models import Acknowledgements, NumbersAcknowledged, Transport
from trafficgen.models.stream import DELAYED_ACK_S
from trafficgen.tables import PHASES
from trafficgen.units import BoolArray, IntArray, ns_from_s

FIN, SYN, PSH, ACK = 0x01, 0x02, 0x08, 0x10

_REQUEST_BYTES = 200
_WINDOW = 65_535
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


@dataclass(frozen=True)
class Acknowledged:
    """Segments whose arrival is acknowledged, with all those before them.

    Attributes:
        rows: Their numbers, ascending, shape (n,).
        late: Whether the acknowledgement waits for the delayed-acknowledgement timeout, shape (n,).
    """

    rows: IntArray
    late: BoolArray


def draw_acknowledged(
    transport: Transport, data_ns: IntArray, *, generator: np.random.Generator, begins: bool = True
) -> Acknowledged:
    """Return which segments are acknowledged.

    The receiver acknowledges as many at once as the transport says, else every second one, and what
    is left before a pause after the delayed-acknowledgement timeout (RFC 5681 section 4.2).

    Args:
        transport: How many are acknowledged at a time.
        data_ns: Times of the segments, ns, shape (n,), ascending.
        generator: Of the draws.
        begins: Whether these are the first segments of the connection.
    """
    # The timeout ends a run of segments. The very last is acknowledged with the FIN.
    ends = np.append(np.diff(data_ns) > ns_from_s(DELAYED_ACK_S), False)
    law = transport.acknowledgements
    if law is not None:
        return _draw_by_law(law, data_ns, np.flatnonzero(ends), generator, begins=begins)
    rows = np.arange(data_ns.size)
    after_pause = np.append(True, ends[:-1])
    prompt = (rows - np.maximum.accumulate(np.where(after_pause, rows, 0))) % 2 == 1
    late = ends & ~prompt
    found = np.flatnonzero(prompt | late)
    return Acknowledged(found, late[found])


def _draw_by_law(
    law: Acknowledgements,
    data_ns: IntArray,
    run_ends: IntArray,
    generator: np.random.Generator,
    *,
    begins: bool,
) -> Acknowledged:
    """Return which segments are acknowledged; ``run_ends`` are the last before pauses.

    A late acknowledgement takes the place of the one that would be for both sides of a pause, so
    that pauses add none.
    """
    place = np.arange(data_ns.size) - np.repeat(
        np.append(0, run_ends + 1), np.diff(np.concatenate(([0], run_ends + 1, [data_ns.size])))
    )
    singly = place < law.singly_after_pause
    singly[: run_ends[0] + 1 if run_ends.size else None] = False
    singly[: begins * law.singly_at_start] = True
    last, count = _draw_at_paces(law, data_ns, singly, generator), data_ns.size
    # The count, past the end, is found by searches for what is never acknowledged.
    last = np.append(last, count)
    cut = np.searchsorted(last, run_ends)
    prompt = np.append(np.delete(last, cut[last[cut] != run_ends]), count)
    place = np.searchsorted(prompt, run_ends)
    waits = prompt[place] != run_ends
    rows = np.insert(prompt, place[waits], run_ends[waits])
    late = np.insert(np.zeros(prompt.size, dtype=np.bool_), place[waits], True)
    known = np.searchsorted(rows, count)
    return Acknowledged(rows[:known], late[:known])


def _draw_at_paces(
    law: Acknowledgements, data_ns: IntArray, singly: BoolArray, generator: np.random.Generator
) -> IntArray:
    """Return the last of the segments of each acknowledgement, those of each pace by their law."""
    laws: Sequence[NumbersAcknowledged] = law.at_paces or (law,)
    bounds = [one.up_to_gap_s for one in law.at_paces[:-1]]
    pace = np.searchsorted(np.array(bounds), pace_around_s(data_ns)) if bounds else 0
    found = [np.flatnonzero(singly)]
    for number, part in enumerate(laws):
        rows = np.flatnonzero(~singly & (pace == number))
        found.append(rows[_draw_last_segments(part, rows.size, generator)])
    return np.sort(np.concatenate(found))


def _draw_last_segments(
    law: NumbersAcknowledged, count: int, generator: np.random.Generator
) -> IntArray:
    """Return the last of the segments of each acknowledgement, below the count, ascending."""
    cumulative = np.cumsum(law.packet_shares)
    changing = 1 - law.repeat_probability
    parts, drawn = [np.zeros(0, dtype=np.int64)], 0
    while drawn < count:
        # Equal numbers are drawn together: how often one stays is geometric.
        draws = 1 + int((count - drawn) * changing / law.mean_packets)
        ranks = generator.random(draws) * cumulative[-1]
        packets = 1 + np.searchsorted(cumulative, ranks, side="right")
        stays = np.minimum(generator.geometric(changing, draws), count)
        parts.append(np.repeat(packets, stays))
        drawn += int(parts[-1].sum())
    last = np.cumsum(np.concatenate(parts)) - 1
    return last[: np.searchsorted(last, count)]


class TcpFlow:
    """Segments of a connection that carries media to the client, window by window.

    Every segment has the time at which its own end sends it.
    """

    def __init__(
        self, transport: Transport, *, rtt_s: float, generator: np.random.Generator
    ) -> None:
        self._connection = TcpConnection.open(transport, rtt_s=rtt_s, generator=generator)
        self._transport, self._generator = transport, generator
        self._end = self._connection.server_sequence + 1
        self._last_ns = 0

    def segments(
        self, media: MediaPackets, *, opening_ns: int | None, is_last: bool
    ) -> FlowColumns:
        """Return the segments of the next media packets, in order of time.

        The client's SYN is at ``opening_ns``, 1.5 round-trip times before the first data; None: the
        connection is open already. After the last media both ends close it.
        """
        connection = self._connection
        parts = [] if opening_ns is None else [_handshake(connection, opening_ns)]
        if len(media):
            payload = media.ip_bytes - np.uint32(connection.header_bytes)
            ends = np.cumsum(payload, dtype=np.int64)
            ends += self._end
            acknowledged = draw_acknowledged(
                self._transport,
                media.time_ns,
                generator=self._generator,
                begins=self._end == connection.server_sequence + 1,
            )
            parts.append(_data(connection, media, payload, ends))
            parts.append(_acknowledgements(connection, media, ends, acknowledged))
            self._end, self._last_ns = int(ends[-1]), int(media.time_ns[-1])
        if is_last:
            parts.append(_closing(connection, self._last_ns, self._end))
        return join_parts(parts or [_handshake(connection, 0).first(0)])


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
    connection: TcpConnection, media: MediaPackets, ends: IntArray, acknowledged: Acknowledged
) -> FlowColumns:
    rows = acknowledged.rows
    late_ns = np.where(acknowledged.late, ns_from_s(DELAYED_ACK_S), 0)
    return _segments(
        connection,
        time_ns=media.time_ns[rows] + connection.one_way_ns + late_ns,
        to_client=np.zeros(rows.size, dtype=np.bool_),
        payload=np.zeros(rows.size, dtype=np.int64),
        sequence=np.full(rows.size, connection.client_next),
        acknowledgement=ends[rows],
        flags=np.full(rows.size, ACK),
        phase=media.phase[rows],
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
