"""What an RTP source sent, and when, from the packets that arrived.

Lost packets go back among those that arrived: frames, timestamps, markers and sizes. Then packets
go back to the schedule of their timestamps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trafficgen.calibration.path.capacity import dispersion_rates_bps, strongest_mode
from trafficgen.calibration.path.clock_skew import least_of_stretches, steady_line
from trafficgen.flows import extend_sequence
from trafficgen.tables import PacketTable, compact_ip_bytes
from trafficgen.units import BITS_PER_BYTE, BoolArray, FloatArray, IntArray, ns_in_place, s_from_ns

_TIMESTAMP_BITS = 32
_GOLDEN_RATIO = 0.6180339887498949


class RestoreLimits:
    """When a source is framed, where missing frames belong, and when the schedule holds."""

    #: A framed source has this many packets to a frame in the mean, and this share of the last ones
    #: is marked.
    packets_per_frame: float = 1.05
    marked_share: float = 0.8
    #: A timestamp is missing where its neighbours are a multiple of the step apart, to this share
    #: of a step.
    step_tolerance: float = 0.1
    #: Frames on either side of a gap that show which timestamps belong there.
    near_frames: int = 3
    #: A missing timestamp lies no further from those around its gap, in steps.
    furthest_steps: float = 8.0
    #: Larger steps of the sequence number are a restart (MAX_DROPOUT of RFC 3550 A.1).
    max_dropout: int = 3000
    #: Fewer packets are left as they are.
    fewest_packets: int = 20
    #: The least delay within this time is that of an empty queue, s.
    window_s: float = 2.0
    #: Gap between packets that a host hands over at once, s.
    at_once_s: float = 1e-5
    #: This share of the frames, those with least queueing, shows how a frame's packets are paced.
    calm_share: float = 0.3
    fewest_calm: int = 10
    #: Paced packets are this much further apart than the link needs for them.
    paced_ratio: float = 1.5
    paced_s: float = 0.001


_LIMITS = RestoreLimits()


@dataclass(frozen=True)
class AllPackets:
    """All packets of a source from its first to its highest number, arrived or not, shape (n,)."""

    sequence: IntArray  #: extended sequence number
    timestamp: IntArray  #: extended timestamp, clock ticks
    marker: BoolArray  #: marker bit
    ip_bytes: IntArray  #: IP total length, bytes
    is_lost: BoolArray  #: whether it never arrived
    like: IntArray  #: row, among those that arrived, of the packet itself or of the one before it

    @property
    def frame_starts(self) -> IntArray:
        """Index of the first packet of each run of one timestamp, shape (f,)."""
        return np.flatnonzero(np.concatenate(([True], np.diff(self.timestamp) != 0)))


@dataclass(frozen=True)
class SentPackets:
    """Packets of one RTP source as they were sent, in the order of their numbers."""

    packets: AllPackets  #: ``like`` counts rows of the table
    time_ns: IntArray  #: when they were sent, ns from the table's origin, shape (n,)
    is_retimed: bool  #: whether times are those of the schedule, not of arrival


def restore_rtp(
    table: PacketTable, rows: IntArray, *, clock_hz: int | None, undo_queueing: bool
) -> SentPackets | None:
    """Restore what one RTP source sent; None where nothing is missing or its numbers restart.

    Frames (runs of one timestamp) are sent in the order of their sequence numbers, on the schedule
    of their timestamps put in order: a video coder that reorders frames stamps them with the time
    of display, but sends them at the rate of display. What lies between schedule and arrival is the
    source's own lead, the path's delay and queueing. Where the least of it stays on one line (Moon,
    Skelly, Towsley 1999) through much of the session, the source keeps to its clock and frames are
    sent on that line; else the least within 2 s is taken for lead and delay, interpolated between
    the minima. No frame is sent after it arrived. Packets of a frame follow at once, or spread over
    part of the frame interval where frames that met no queue show that the source paces them.
    ``rows`` are those of the source's packets, ascending. Without ``clock_hz`` or ``undo_queueing``
    only lost packets are put back.
    """
    sequence = extend_sequence(table.values("rtp_sequence")[rows])
    if rows.size < _LIMITS.fewest_packets or np.abs(np.diff(sequence)).max() > _LIMITS.max_dropout:
        return None
    if np.any(np.diff(sequence) <= 0):
        sequence, first = np.unique(sequence, return_index=True)
        rows = rows[first]
    undo_queueing = undo_queueing and clock_hz is not None
    if int(sequence[-1] - sequence[0]) + 1 == sequence.size and not undo_queueing:
        return None
    timestamp = extend_sequence(table.values("rtp_timestamp")[rows], bits=_TIMESTAMP_BITS)
    marker = table.values("rtp_marker")[rows].astype(np.bool_)
    ip_bytes = compact_ip_bytes(table)[rows]
    packets = _restore_packets(sequence, timestamp, marker, ip_bytes)
    del sequence, timestamp, marker  # as long as the session
    arrival_s = np.full(packets.sequence.size, np.nan)
    arrival_s[~packets.is_lost] = s_from_ns(table.time_ns[rows])
    if undo_queueing and clock_hz is not None:
        frame_bytes = table.values("frame_bytes")[rows].astype(np.int64)
        link_bytes = float(np.median(frame_bytes - ip_bytes))
        del frame_bytes, ip_bytes
        time_s = _send_times_s(packets, arrival_s, clock_hz=clock_hz, link_bytes=link_bytes)
    else:
        arrived = np.flatnonzero(~packets.is_lost)
        time_s = np.interp(np.arange(arrival_s.size), arrived, arrival_s[arrived])
    packets = replace(packets, like=rows[packets.like])
    return SentPackets(packets, ns_in_place(time_s), undo_queueing)


def _send_times_s(
    packets: AllPackets, arrival_s: FloatArray, *, clock_hz: int, link_bytes: float
) -> FloatArray:
    """Return when each packet was sent, s."""
    first = packets.frame_starts
    count = np.diff(np.append(first, arrival_s.size))
    schedule_s = np.sort(packets.timestamp[first]) / clock_hz
    earliest_s = np.fmin.reduceat(arrival_s, first)
    sent_s = _fit_schedule(schedule_s, earliest_s)
    interval_s = np.append(np.diff(sent_s), 0.0)
    due_s = np.diff(schedule_s, append=np.nan)
    spread = _paced_share(packets, arrival_s, earliest_s - sent_s, due_s, link_bytes)
    step_s = np.minimum(_LIMITS.at_once_s, interval_s / count)
    if spread > 0:
        step_s = spread * interval_s / count
    time_s = np.repeat(step_s, count)
    time_s *= np.arange(arrival_s.size) - np.repeat(first, count)
    time_s += np.repeat(sent_s, count)
    return np.maximum.accumulate(time_s, out=time_s)


def _fit_schedule(schedule_s: FloatArray, earliest_s: FloatArray) -> FloatArray:
    """Return when frames were sent: their schedule plus its least delay nearby."""
    seen = np.flatnonzero(~np.isnan(earliest_s))
    delay_s = earliest_s[seen] - schedule_s[seen]
    window = ((schedule_s[seen] - schedule_s[seen[0]]) / _LIMITS.window_s).astype(np.int64)
    least = least_of_stretches(delay_s, np.flatnonzero(np.diff(window, prepend=-1)))
    base_s = np.interp(schedule_s, schedule_s[seen[least]], delay_s[least])
    line = steady_line(schedule_s[seen], delay_s, loose_ends=True)
    if line is not None:
        base_s = line[0] + line[1] * schedule_s
    sent_s = np.fmin(schedule_s + base_s, earliest_s)
    return np.maximum.accumulate(sent_s)


def _paced_share(
    packets: AllPackets,
    arrival_s: FloatArray,
    queueing_s: FloatArray,
    interval_s: FloatArray,
    link_bytes: float,
) -> float:
    """Return the share of the frame interval over which the source spreads a frame's packets.

    Frames of few packets that met little queueing show it: on a link that is free their packets are
    as far apart as the source sends them or as the link needs to send them, whichever is more.
    """
    first = packets.frame_starts
    count = np.diff(np.append(first, arrival_s.size))
    whole = np.add.reduceat(packets.is_lost.astype(np.int64), first) == 0
    several = whole & (count >= 2) & ~np.isnan(interval_s)
    if np.count_nonzero(several) < _LIMITS.fewest_calm:
        return 0.0
    calm = several & (queueing_s <= np.quantile(queueing_s[several], _LIMITS.calm_share))
    few = calm & (count == count[calm].min())
    if np.count_nonzero(few) < _LIMITS.fewest_calm:
        few = calm
    at = first[few]
    gap_s = arrival_s[at + 1] - arrival_s[at]
    wire_bits = (packets.ip_bytes[at + 1] + link_bytes) * BITS_PER_BYTE
    needed_s = _LIMITS.paced_ratio * wire_bits / _link_bps(packets, arrival_s, link_bytes)
    paced = gap_s > needed_s + _LIMITS.paced_s
    if np.count_nonzero(paced) <= paced.size / 2:
        return 0.0
    return float(np.clip(np.median((gap_s * count[few] / interval_s[few])[paced]), 0.0, 1.0))


def _link_bps(packets: AllPackets, arrival_s: FloatArray, link_bytes: float) -> float:
    """Return the rate at which packets of one frame left the narrow link, bit/s, or infinity."""
    within = np.diff(packets.timestamp) == 0
    gap_s = np.diff(arrival_s)
    within &= gap_s > 0  # false where one of the two was lost
    gap_s, wire_bytes = gap_s[within], packets.ip_bytes[1:][within] + link_bytes
    found = strongest_mode(dispersion_rates_bps(gap_s, wire_bytes))
    return found[0] if found else float("inf")


def _restore_packets(
    sequence: IntArray, timestamp: IntArray, marker: BoolArray, ip_bytes: IntArray
) -> AllPackets:
    """Restore all packets of a source from those that arrived.

    In a framed source (video: packets share timestamps, the last one is marked) the packets missing
    after one without a marker are the rest of its frame, for a queue that drops takes the head of a
    burst and loses its tail; whole frames are missing where a timestamp is. Elsewhere each missing
    packet is one by itself, evenly stamped. A packet within a frame has the commonest size, the
    last one of a frame a size from among those of last packets. Sequence numbers are ascending and
    without duplicates.
    """
    number = np.arange(sequence[0], sequence[-1] + 1)
    place = sequence - sequence[0]
    is_lost = np.ones(number.size, dtype=np.bool_)
    is_lost[place] = False
    like = np.searchsorted(sequence, number, side="right") - 1
    if not _is_framed(sequence, timestamp, marker):
        stamps = np.rint(np.interp(number, sequence, timestamp)).astype(np.int64)
        return AllPackets(number, stamps, marker[like], ip_bytes[like], is_lost, like)
    stamps = _frame_stamps(sequence, timestamp, marker)
    last = np.append(np.diff(stamps) != 0, marker[-1])
    sizes = ip_bytes[like].copy()
    arrived_last = last[place]
    sizes[is_lost & ~last] = _most_common(ip_bytes[~arrived_last])
    lost_last = is_lost & last
    sizes[lost_last] = _draw_evenly(ip_bytes[arrived_last], int(np.count_nonzero(lost_last)))
    return AllPackets(number, stamps, np.where(is_lost, last, marker[like]), sizes, is_lost, like)


def _is_framed(sequence: IntArray, timestamp: IntArray, marker: BoolArray) -> bool:
    followed = np.diff(sequence) == 1
    ends = followed & (np.diff(timestamp) != 0)
    frames = int(np.count_nonzero(np.diff(timestamp))) + 1
    marked = int(np.count_nonzero(ends & marker[:-1]))
    return (
        sequence.size >= _LIMITS.packets_per_frame * frames
        and marked >= _LIMITS.marked_share * int(np.count_nonzero(ends))
    )


def _frame_stamps(sequence: IntArray, timestamp: IntArray, marker: BoolArray) -> IntArray:
    """Return the timestamp of every number from the first to the last of a framed source."""
    stamps = np.zeros(int(sequence[-1] - sequence[0]) + 1, dtype=np.int64)
    stamps[sequence - sequence[0]] = timestamp
    missing = np.diff(sequence) - 1
    gaps = np.flatnonzero(missing)
    same = timestamp[gaps] == timestamp[gaps + 1]
    room = np.where(same, 0, missing[gaps] - np.where(marker[gaps], 0, 1))
    placed = _place_frames(timestamp, gaps, room)
    for index, gap in enumerate(gaps.tolist()):
        first, count = int(sequence[gap] - sequence[0]) + 1, int(missing[gap])
        before, after = int(timestamp[gap]), int(timestamp[gap + 1])
        frames = placed.get(index, [])
        if before == after or (not marker[gap] and not frames):
            stamps[first : first + count] = before
        elif not marker[gap]:
            stamps[first : first + count - len(frames)] = before
            stamps[first + count - len(frames) : first + count] = frames
        elif frames:
            parts = np.rint(np.linspace(0, count, len(frames) + 1)).astype(np.int64)
            stamps[first : first + count] = np.repeat(frames, np.diff(parts))
        else:
            stamps[first : first + count] = after
    return stamps


def _place_frames(timestamp: IntArray, gaps: IntArray, room: IntArray) -> dict[int, list[int]]:
    """Return which missing timestamps belong to which gap, ascending.

    A timestamp is missing where the timestamps, put in order, leave one out. It belongs to the gap
    around which the timestamps are nearest to it, if that has room for a frame.
    """
    if not gaps.size:
        return {}
    frames = timestamp[np.concatenate(([True], np.diff(timestamp) != 0))]
    stamps = np.unique(frames)
    steps = np.diff(stamps)
    if not steps.size:
        return {}
    step = float(_most_common(steps))
    multiple = np.rint(steps / step)
    regular = np.abs(steps - multiple * step) <= _LIMITS.step_tolerance * step
    holes = np.flatnonzero((multiple > 1) & regular)
    frame_of = np.concatenate(([0], np.cumsum(np.diff(timestamp) != 0)))
    near = _LIMITS.near_frames
    centres = np.array(
        [np.median(frames[max(0, at + 1 - near) : at + 1 + near]) for at in frame_of[gaps].tolist()]
    )
    order = np.argsort(centres, kind="stable")
    left, placed = room.copy(), dict[int, list[int]]()
    for hole in holes.tolist():
        for part in range(1, int(multiple[hole])):
            stamp = float(stamps[hole]) + part * steps[hole] / multiple[hole]
            furthest = _LIMITS.furthest_steps * step
            chosen = _nearest_gap(stamp, centres[order], left[order], furthest=furthest)
            if chosen is not None:
                index = int(order[chosen])
                left[index] -= 1
                placed.setdefault(index, []).append(round(stamp))
    return placed


def _nearest_gap(
    stamp: float, centres: FloatArray, room: IntArray, *, furthest: float
) -> int | None:
    low, high = np.searchsorted(centres, [stamp - furthest, stamp + furthest])
    near = np.flatnonzero(room[low:high] > 0) + low
    return int(near[np.argmin(np.abs(centres[near] - stamp))]) if near.size else None


def _most_common(values: IntArray) -> int:
    """Return the commonest of some whole numbers, 0 of an empty array."""
    found, count = np.unique(values, return_counts=True)
    return int(found[int(count.argmax())]) if found.size else 0


def _draw_evenly(values: IntArray, count: int) -> IntArray:
    """Return ``count`` values distributed as these are, in an order without a pattern."""
    ordered = np.sort(values)
    if not ordered.size:
        return np.zeros(count, dtype=np.int64)
    at = (np.arange(1, count + 1) * _GOLDEN_RATIO) % 1.0
    return ordered[(at * ordered.size).astype(np.int64)]
