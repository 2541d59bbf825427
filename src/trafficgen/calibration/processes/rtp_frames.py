"""Put lost RTP packets back among those that arrived: frames, timestamps, markers, sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.units import BoolArray, FloatArray, IntArray

_GOLDEN_RATIO = 0.6180339887498949


@dataclass(frozen=True)
class RestoreLimits:
    """When a source is framed, and where its missing frames belong."""

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


_LIMITS = RestoreLimits()


@dataclass(frozen=True)
class AllPackets:
    """All packets of a source from its first to its highest number, arrived or not, shape (n,).

    Attributes:
        sequence: Extended sequence number.
        timestamp: Extended timestamp, clock ticks.
        marker: Marker bit.
        ip_bytes: IP total length, bytes.
        is_lost: Whether it never arrived.
        like: Index, among the packets that arrived, of the packet itself or of the one before it.
        frame_starts: Index of the first packet of each run of one timestamp, shape (f,).
    """

    sequence: IntArray
    timestamp: IntArray
    marker: BoolArray
    ip_bytes: IntArray
    is_lost: BoolArray
    like: IntArray

    @property
    def frame_starts(self) -> IntArray:
        """Index of the first packet of each frame, shape (f,)."""
        return np.flatnonzero(np.concatenate(([True], np.diff(self.timestamp) != 0)))


def restore_packets(
    sequence: IntArray, timestamp: IntArray, marker: BoolArray, ip_bytes: IntArray
) -> AllPackets:
    """Restore all packets of a source from those that arrived.

    In a framed source (video: packets share timestamps, the last one is marked) the packets missing
    after one without a marker are the rest of its frame, for a queue that drops takes the head of a
    burst and loses its tail; whole frames are missing where a timestamp is. Elsewhere each missing
    packet is one by itself, evenly stamped. A packet within a frame has the commonest size, the
    last one of a frame a size from among those of last packets.

    Args:
        sequence: Extended sequence numbers, ascending, without duplicates, shape (n,).
        timestamp: Extended timestamps, clock ticks, shape (n,).
        marker: Marker bits, shape (n,).
        ip_bytes: IP total lengths, bytes, shape (n,).
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
    stamps = np.full(int(sequence[-1] - sequence[0]) + 1, 0, dtype=np.int64)
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
            stamps[first : first + count] = np.repeat(frames, _split_evenly(count, len(frames)))
        else:
            stamps[first : first + count] = after
    return stamps


def _place_frames(timestamp: IntArray, gaps: IntArray, room: IntArray) -> dict[int, list[int]]:
    """Return which missing timestamps belong to which gap, ascending.

    A timestamp is missing where the timestamps, put in order, leave one out. It belongs to the gap
    around which the timestamps are nearest to it, if that has room for a frame.
    """
    stamps = np.unique(timestamp)
    steps = np.diff(stamps)
    if not steps.size or not gaps.size:
        return {}
    step = float(_most_common(steps))
    multiple = np.rint(steps / step)
    regular = np.abs(steps - multiple * step) <= _LIMITS.step_tolerance * step
    holes = np.flatnonzero((multiple > 1) & regular)
    frames = timestamp[np.concatenate(([True], np.diff(timestamp) != 0))]
    frame_of = np.concatenate(([0], np.cumsum(np.diff(timestamp) != 0)))
    centres = np.array([_centre(frames, int(frame_of[gap])) for gap in gaps.tolist()])
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


def _centre(frames: IntArray, frame: int) -> float:
    near = _LIMITS.near_frames
    return float(np.median(frames[max(0, frame + 1 - near) : frame + 1 + near]))


def _nearest_gap(
    stamp: float, centres: FloatArray, room: IntArray, *, furthest: float
) -> int | None:
    low, high = np.searchsorted(centres, [stamp - furthest, stamp + furthest])
    near = np.flatnonzero(room[low:high] > 0) + low
    return int(near[np.argmin(np.abs(centres[near] - stamp))]) if near.size else None


def _split_evenly(count: int, parts: int) -> IntArray:
    """Return ``count`` packets dealt out to ``parts`` frames."""
    return np.diff(np.rint(np.linspace(0, count, parts + 1))).astype(np.int64)


def _most_common(values: IntArray) -> int:
    """Return the commonest of some whole numbers, 0 where there is none."""
    found, count = np.unique(values, return_counts=True)
    return int(found[int(count.argmax())]) if found.size else 0


def _draw_evenly(values: IntArray, count: int) -> IntArray:
    """Return ``count`` values distributed as these are, in an order without a pattern."""
    ordered = np.sort(values)
    if not ordered.size:
        return np.zeros(count, dtype=np.int64)
    at = (np.arange(1, count + 1) * _GOLDEN_RATIO) % 1.0
    return ordered[(at * ordered.size).astype(np.int64)]
