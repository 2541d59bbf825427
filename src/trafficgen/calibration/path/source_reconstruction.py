"""Reconstruct what the source sent: lost RTP packets, queueing undone, no retransmissions.

A model describes the source, so it must not contain what the path did to its packets. RTP's
sequence numbers count what was sent, its timestamps say when; TCP shows which bytes were
retransmitted. Plain UDP shows neither, and stays as it was captured.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen.calibration.rtp_restoration import SentPackets, restore_rtp
from trafficgen.flows import SessionView, extend_sequence, rtp_loss
from trafficgen.formatting import format_count
from trafficgen.tables import PacketTable
from trafficgen.units import BoolArray, IntArray

#: From this loss of one of its RTP flows on, a session is congested: its queueing is undone too.
CONGESTED_LOSS = 0.01
#: The loss of RTP sources with fewer packets is too uncertain to show congestion.
_FEWEST_PACKETS = 100
_SEQUENCE_SPACE_BITS = 32
_RTP_SEQUENCES, _RTP_TIMESTAMPS = 1 << 16, 1 << 32


@dataclass(frozen=True)
class Restoration:
    """A session as it was sent, and how it was reconstructed.

    Attributes:
        view: The session; the given one if nothing was done.
        inserted: Lost RTP packets put back.
        retimed: RTP packets moved from their arrival to the time at which they were sent.
        repeats: TCP packets left out because they only repeat data.
        method: What was done, in words; None if nothing was.
    """

    view: SessionView
    inserted: int = 0
    retimed: int = 0
    repeats: int = 0
    method: str | None = None


def reconstruct_source(view: SessionView, *, congested_loss: float = CONGESTED_LOSS) -> Restoration:
    """Reconstruct a session as its source sent it, as far as RTP and TCP show it.

    - RTP: each number missing between the first and the highest is put back, with a timestamp and a
      size like its frame and its neighbours. If a flow lost ``congested_loss`` of its packets or
      more, the path queued those of the whole session: frames return to the schedule of their
      timestamps (see :func:`trafficgen.calibration.rtp_restoration.restore_rtp`).
    - TCP: packets whose data had all arrived before are left out.

    A session that was captured at its sender stays the same.
    """
    table = view.table
    keep = np.ones(len(table), dtype=np.bool_)
    for rows, start, end in _byte_ranges(view):
        keep[rows] = ~find_repeated_ranges(start, end)
    repeats = int(np.count_nonzero(~keep))
    is_congested = any(
        found.lost >= congested_loss * found.expected
        for found in rtp_loss(table, view.media)
        if found.expected >= _FEWEST_PACKETS
    )
    parts = list(restore_rtp_sources(view, undo_queueing=is_congested))
    if not parts and not repeats:
        return Restoration(view)
    for rows, _ in parts:
        keep[rows] = False
    restored = _rebuild(table, keep, [sent for _, sent in parts])
    inserted = sum(int(np.count_nonzero(sent.packets.is_lost)) for _, sent in parts)
    retimed = sum(rows.size for rows, sent in parts if sent.is_retimed)
    steps = [
        f"{format_count(inserted, 'lost RTP packet')} put back" if inserted else "",
        f"{format_count(retimed, 'RTP packet')} put back to the schedule of their timestamps"
        if retimed
        else "",
        f"{format_count(repeats, 'repeated TCP packet')} left out" if repeats else "",
    ]
    return Restoration(
        view=replace(view, table=restored),
        inserted=inserted,
        retimed=retimed,
        repeats=repeats,
        method="; ".join(text for text in steps if text),
    )


def restore_rtp_sources(
    view: SessionView, *, undo_queueing: bool
) -> Iterator[tuple[IntArray, SentPackets]]:
    """Yield the rows of each RTP source of the media and what it sent, if it can be restored."""
    table = view.table
    for flow in view.media_flows:
        rows = np.flatnonzero(view.media & (table.flow == flow) & table.is_known("rtp_sequence"))
        if not rows.size:
            continue
        ssrc = table.values("rtp_ssrc")[rows]
        parts = [rows]
        if (ssrc != ssrc[0]).any():
            parts = [rows[ssrc == source] for source in np.unique(ssrc)]
        del rows, ssrc  # as long as the session
        for mine in parts:
            clock_hz = view.clock_hz(flow)
            sent = restore_rtp(table, mine, clock_hz=clock_hz, undo_queueing=undo_queueing)
            if sent is not None:
                yield mine, sent


def mark_retransmissions(view: SessionView) -> list[tuple[IntArray, BoolArray]]:
    """Return for each TCP flow the rows of its media and which end at or below an earlier end.

    At the sender these are retransmissions; at the receiver they fill a hole or arrived twice.
    """
    return [(rows, end <= _highest_before(end)) for rows, _, end in _byte_ranges(view)]


def _byte_ranges(view: SessionView) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Yield rows, first byte and end of the media packets of each TCP flow, in order of time."""
    table = view.table
    data = view.media & table.is_known("tcp_sequence")
    sequence = table.values("tcp_sequence").astype(np.int64)
    for flow in view.media_flows:
        rows = np.flatnonzero(data & (table.flow == flow))
        if rows.size:
            start = extend_sequence(sequence[rows], bits=_SEQUENCE_SPACE_BITS)
            yield rows, start, start + table.payload_bytes[rows]


def _highest_before(end: IntArray) -> IntArray:
    """Return the highest end before each packet, shape (n,); for the first the least integer."""
    return np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(end)[:-1]))


def find_repeated_ranges(start: IntArray, end: IntArray) -> BoolArray:
    """Return which ranges of bytes lie within earlier ones, shape (n,).

    ``start`` is the first byte of each packet, in order of time, ``end`` the byte after its last.
    """
    highest_before = _highest_before(end)
    again = np.zeros(start.size, dtype=np.bool_)
    hole_starts: list[int] = []  # missing bytes below the highest one: disjoint, ascending
    hole_ends: list[int] = []
    # Few packets do not begin where the highest one ended: those are examined one by one.
    for index in np.flatnonzero(start != highest_before).tolist():
        first, after = int(start[index]), int(end[index])
        if first > highest_before[index]:
            if index:
                hole_starts.append(int(highest_before[index]))
                hole_ends.append(first)
            continue
        low, high = bisect_right(hole_ends, first), bisect_left(hole_starts, after)
        again[index] = low >= high and after <= highest_before[index]
        if low < high:
            left = [(hole_starts[low], first)] if hole_starts[low] < first else []
            right = [(after, hole_ends[high - 1])] if after < hole_ends[high - 1] else []
            hole_starts[low:high] = [hole[0] for hole in left + right]
            hole_ends[low:high] = [hole[1] for hole in left + right]
    return again


def _rebuild(table: PacketTable, keep: BoolArray, parts: list[SentPackets]) -> PacketTable:
    """Return the table with kept and reconstructed rows, in order of time."""
    kept = np.flatnonzero(keep)
    source = np.concatenate([kept, *(sent.packets.like for sent in parts)])
    packets = table.packets.take(pa.array(source))
    header_bytes = (table.ip_bytes - table.payload_bytes)[source]
    link_bytes = (table.frame_bytes - table.ip_bytes)[source]
    ip_bytes = np.concatenate([table.ip_bytes[kept], *(sent.packets.ip_bytes for sent in parts)])
    columns: dict[str, npt.NDArray[np.generic]] = {
        "time_ns": np.concatenate([table.time_ns[kept], *(sent.time_ns for sent in parts)]),
        "ip_bytes": ip_bytes,
        "frame_bytes": ip_bytes + link_bytes,
        "payload_bytes": ip_bytes - header_bytes,
    }
    of_rtp: dict[str, list[npt.NDArray[np.generic]]] = {
        "rtp_sequence": [sent.packets.sequence % _RTP_SEQUENCES for sent in parts],
        "rtp_timestamp": [sent.packets.timestamp % _RTP_TIMESTAMPS for sent in parts],
        "rtp_marker": [sent.packets.marker for sent in parts],
    }
    for name, values in of_rtp.items() if parts else ():
        columns[name] = np.concatenate([table.values(name)[kept], *values])
    for name, column in columns.items():
        place = packets.schema.get_field_index(name)
        kind = packets.schema.field(place)
        missing = np.asarray(packets.column(name).is_null().to_numpy(), dtype=np.bool_)
        typed = column.astype(kind.type.to_pandas_dtype())
        array = pa.array(typed, kind.type, mask=missing if missing.any() else None)
        packets = packets.set_column(place, kind, array)
    return replace(table, packets=packets).sort_by_time()
