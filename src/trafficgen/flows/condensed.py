"""A session that is too long for the memory, condensed: stretches of it joined so that it looks
like a shorter one.

Each packet that is taken brings the gap before it, so joints have gaps of the session, and the
condensed time is the sum of those gaps. RTP and TCP numbers are shifted at each joint so that they
go on: what is left out is not lost.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen.flows.media import media_packets
from trafficgen.flows.sketch import MediaSketch
from trafficgen.flows.stretches import Stretches
from trafficgen.tables import PacketTable
from trafficgen.tables.stream import PacketStream
from trafficgen.units import IntArray, s_from_ns

_RTP_SEQUENCES, _TIMESTAMPS, _TCP_SEQUENCES = 1 << 16, 1 << 32, 1 << 32


@dataclass(frozen=True)
class CondensedClock:
    """The two clocks of a condensed session: its own, and that of the session.

    Attributes:
        own_ns: Where each stretch begins (with the gap before its first packet) by its own clock,
            ns, shape (n,).
        real_ns: The same by the session's clock, shape (n,).
    """

    own_ns: IntArray
    real_ns: IntArray

    def real(self, own_ns: int) -> int:
        """Return a time by the session's clock; where a stretch ends and the next begins, the
        end.
        """
        stretch = self.stretch(own_ns)
        return own_ns + int(self.real_ns[stretch] - self.own_ns[stretch])

    def stretch(self, own_ns: int) -> int:
        """Return the number of the stretch that a time lies in."""
        return max(0, int(np.searchsorted(self.own_ns, own_ns, side="left")) - 1)


@dataclass(frozen=True)
class CondensedSession:
    """Stretches of a session, joined, and what was counted of all of it.

    Attributes:
        table: The packets, by the clock of their own.
        clock: Its clock and that of the session.
        stretches: Which packets of the session they are.
        whole: What was counted of all media packets.
        bounds: Row of the first packet of each stretch, and the number of rows, shape (n + 1,).
    """

    table: PacketTable
    clock: CondensedClock
    stretches: Stretches
    whole: MediaSketch
    bounds: IntArray


def condense(
    stream: PacketStream, stretches: Stretches, *, rtp_flows: Collection[int]
) -> CondensedSession:
    """Read the packets of a session, count all and keep those of some stretches.

    Args:
        stream: The packets of the session, in order of time.
        stretches: Which of them are kept.
        rtp_flows: Flows that have RTP to the client.

    Raises:
        ValueError: If there are fewer packets than the stretches reach to.
    """
    whole, kept = MediaSketch(), _Kept(stretches)
    at = 0
    for piece in stream.pieces:
        table = PacketTable(packets=piece, flows=stream.head.flows)
        media = media_packets(table, rtp_flows=rtp_flows)
        whole.add(table.time_ns[media], table.flow[media], table.ip_bytes[media])
        kept.take(piece, table.time_ns, at)
        at += len(table)
    if at != stretches.packets:
        raise ValueError(f"{stretches.packets} packets were announced, {at} came")
    return kept.joined(stream.head, whole)


class _Kept:
    """Rows of the stretches, as they come."""

    def __init__(self, stretches: Stretches) -> None:
        self.stretches = stretches
        self._parts: list[pa.Table] = []
        self._before_ns: list[int] = []  # time of the packet before each stretch
        self._rows = np.zeros(len(stretches), dtype=np.int64)
        self._latest_ns: int | None = None

    def take(self, piece: pa.Table, time_ns: IntArray, at: int) -> None:
        """Keep what of a piece, whose first packet has the number ``at``, lies in the stretches."""
        if not time_ns.size:
            return
        first = int(np.searchsorted(self.stretches.stop, at, side="right"))
        last = int(np.searchsorted(self.stretches.start, at + time_ns.size, side="left"))
        for number in range(first, last):
            start = max(0, int(self.stretches.start[number]) - at)
            stop = min(time_ns.size, int(self.stretches.stop[number]) - at)
            if number == len(self._before_ns):
                before = time_ns[start - 1] if start else self._latest_ns
                self._before_ns.append(int(time_ns[0] if before is None else before))
            # A copy: a slice would hold on to the whole piece.
            self._parts.append(piece.take(pa.array(np.arange(start, stop))))
            self._rows[number] += stop - start
        self._latest_ns = int(time_ns[-1])

    def joined(self, head: PacketTable, whole: MediaSketch) -> CondensedSession:
        packets = pa.concat_tables(self._parts).combine_chunks()
        bounds = np.concatenate(([0], np.cumsum(self._rows)))
        real_ns = np.array(self._before_ns, dtype=np.int64)
        table = replace(head, packets=packets)
        ends_ns = table.time_ns[bounds[1:] - 1]
        own_ns = np.concatenate((real_ns[:1], real_ns[0] + np.cumsum(ends_ns - real_ns)[:-1]))
        clock = CondensedClock(own_ns, real_ns)
        number = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
        time_ns = table.time_ns + (own_ns - real_ns)[number]
        table = replace(table, packets=_with_column(packets, "time_ns", time_ns))
        table = _with_rtp_that_goes_on(table, number)
        table = _with_tcp_that_goes_on(table, number)
        return CondensedSession(
            table=table, clock=clock, stretches=self.stretches, whole=whole, bounds=bounds
        )


def _with_column(packets: pa.Table, name: str, values: npt.NDArray[np.generic]) -> pa.Table:
    """Return packets with other values in a column; what was null stays null."""
    place = packets.schema.get_field_index(name)
    field = packets.schema.field(place)
    column = packets.column(name)
    missing = np.asarray(column.is_null().to_numpy(), dtype=np.bool_) if column.null_count else None
    return packets.set_column(place, field, pa.array(values, field.type, mask=missing))


def _runs(keys: IntArray, number: IntArray) -> list[list[IntArray]]:
    """Return, for each key, the rows of each stretch in which it is, in order of time."""
    order = np.lexsort((number, keys))
    is_first = (np.diff(keys[order], prepend=-1) != 0) | (np.diff(number[order], prepend=-1) != 0)
    starts = np.flatnonzero(is_first)
    runs: dict[int, list[IntArray]] = {}
    for rows in np.split(order, starts[1:]):
        runs.setdefault(int(keys[rows[0]]), []).append(np.sort(rows))
    return list(runs.values())


def _with_rtp_that_goes_on(table: PacketTable, number: IntArray) -> PacketTable:
    """Return the table with sequence numbers and timestamps of each RTP source shifted from joint
    to joint.
    """
    known = np.flatnonzero(table.known("rtp_sequence"))
    if not known.size:
        return table
    clock_hz = dict(
        zip(*(table.flows.column(name).to_pylist() for name in ("flow", "clock_hz")), strict=True)
    )
    sequence = table.values("rtp_sequence").astype(np.int64)
    timestamp = table.values("rtp_timestamp").astype(np.int64)
    ssrc = table.values("rtp_ssrc").astype(np.int64)
    flow_codes = np.unique(table.flow[known], return_inverse=True)[1]
    keys = flow_codes << 33 | ssrc[known] << 1 | table.to_client[known]
    for runs in _runs(keys, number[known]):
        rows = [known[run] for run in runs]
        hz = clock_hz.get(int(table.flow[rows[0][0]]))
        for before, after in itertools.pairwise(rows):
            sequence[after] += int(sequence[before[-1]]) + 1 - int(sequence[after[0]])
            if hz:
                ticks = round(
                    s_from_ns(int(table.time_ns[after[0]] - table.time_ns[before[-1]])) * hz
                )
                timestamp[after] += int(timestamp[before[-1]]) + ticks - int(timestamp[after[0]])
    packets = _with_column(
        table.packets, "rtp_sequence", (sequence % _RTP_SEQUENCES).astype(np.uint16)
    )
    packets = _with_column(packets, "rtp_timestamp", (timestamp % _TIMESTAMPS).astype(np.uint32))
    return replace(table, packets=packets)


def _with_tcp_that_goes_on(table: PacketTable, number: IntArray) -> PacketTable:
    """Return the table with sequence numbers and acknowledgements of each connection shifted from
    joint to joint.
    """
    known = np.flatnonzero(table.known("tcp_sequence"))
    if not known.size:
        return table
    sequence = table.values("tcp_sequence").astype(np.int64)
    acknowledgement = table.values("tcp_acknowledgement").astype(np.int64)
    shift = np.zeros((int(number[-1]) + 1, 2), dtype=np.int64)
    for flow in np.unique(table.flow[known]).tolist():
        rows_of_flow = known[table.flow[known] == flow]
        shift[:] = 0
        for way in (0, 1):
            rows_of_way = rows_of_flow[table.to_client[rows_of_flow] == bool(way)]
            if rows_of_way.size:
                _shift_way(sequence, rows_of_way, number, table.payload_bytes, shift[:, way])
        ways = table.to_client[rows_of_flow].astype(np.intp)
        sequence[rows_of_flow] += shift[number[rows_of_flow], ways]
        acknowledgement[rows_of_flow] += shift[number[rows_of_flow], 1 - ways]
    packets = _with_column(
        table.packets, "tcp_sequence", (sequence % _TCP_SEQUENCES).astype(np.uint32)
    )
    packets = _with_column(
        packets, "tcp_acknowledgement", (acknowledgement % _TCP_SEQUENCES).astype(np.uint32)
    )
    return replace(table, packets=packets)


def _shift_way(
    sequence: IntArray, rows: IntArray, number: IntArray, payload_bytes: IntArray, shift: IntArray
) -> None:
    """Write how far the numbers of one direction are shifted in each stretch: data begins where the
    last one ended.
    """
    starts = np.flatnonzero(np.diff(number[rows], prepend=-1))
    stretches = number[rows[starts]]
    for before, after, stretch in zip(starts, starts[1:], stretches[1:].tolist(), strict=False):
        run = rows[before:after]
        first = int(sequence[run[0]])
        # Within a stretch numbers may wrap: distances from its first one do not.
        offsets = (
            sequence[run] - first + _TCP_SEQUENCES // 2
        ) % _TCP_SEQUENCES - _TCP_SEQUENCES // 2
        end = first + int((offsets + payload_bytes[run]).max()) + int(shift[number[run[0]]])
        shift[stretch:] = end - int(sequence[rows[after]])
