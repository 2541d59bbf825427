"""How many seconds of media a segment holds, from a player that waits before it asks for more.

A player whose buffer is full asks for the next segment when one has been played, so that its
requests are as far apart as segments are long. While the path is the limit they are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.player_log.events import PlayerLog
from trafficgen.models import Estimate
from trafficgen.units import BoolArray, FloatArray, IntArray

#: A player waits if it asks this long after the response before it ended: part of the spacing,
#: and s. Its own delays and a round trip are less.
_LEAST_WAIT_PART, _LEAST_WAIT_S = 0.15, 0.15
#: Waits in a row that show a clock, and how far one may be from the usual one.
_FEWEST_WAITS, _MOST_OFF = 3, 0.25
#: Times between two waits show the same clock if they differ by this part of it at most, or by this
#: time, s; a single one must be as near to a usual duration as half of that part.
_SAME_PART, _SAME_S = 0.01, 0.05
#: Standard errors to each side of a 95% interval: those of Student's law with 60 degrees, a little
#: more than the normal law's 1.96, since errors are estimated from tens of segments.
INTERVAL_ERRORS = 2.0


@dataclass(frozen=True)
class Segments:
    """Segments of one kind in order.

    Attributes:
        request_s: Times of their requests, s from the first media packet, shape (n,).
        idle_s: For how long no response was under way before each, s.
        size_bytes: Their sizes.
        arrival_s: When the client had the whole of each, s.
    """

    request_s: FloatArray
    idle_s: FloatArray
    size_bytes: FloatArray
    arrival_s: FloatArray

    def __len__(self) -> int:
        return len(self.request_s)


def find_segment_clock(request_s: FloatArray, idle_s: FloatArray) -> Estimate | None:
    """Return the spacing of requests while the player waits, s; None if it hardly does.

    Args:
        request_s: Times of the requests for segments of one kind, in order, shape (n,).
        idle_s: For how long no response was under way before each, s, shape (n,).
    """
    spacing_s = np.diff(request_s)
    waits = find_waits(request_s, idle_s)
    # The first wait of a row follows a request that was not put off.
    steady = (waits & np.concatenate(([False], waits[:-1])))[1:]
    if np.count_nonzero(steady) < _FEWEST_WAITS:
        return _compare_waits(request_s, waits)
    usual_s = float(np.median(spacing_s[steady]))
    steady &= np.abs(spacing_s / usual_s - 1) <= _MOST_OFF
    runs = [run for run in _runs(steady) if run.stop - run.start >= _FEWEST_WAITS]
    if not runs:
        return _compare_waits(request_s, waits)
    slopes, weights = zip(*(_slope(request_s, run) for run in runs), strict=True)
    total = float(np.sum(weights))
    value = float(np.dot(slopes, weights) / total)
    rest = [
        request_s[run.start : run.stop + 1] - slope * np.arange(run.stop - run.start + 1)
        for slope, run in zip(slopes, runs, strict=True)
    ]
    spread_s = float(np.sqrt(np.mean(np.concatenate([part - part.mean() for part in rest]) ** 2)))
    error_s = max(spread_s / np.sqrt(total), 1e-4 * value)
    half_s = INTERVAL_ERRORS * error_s
    return Estimate(
        value=value, low=value - half_s, high=value + half_s, method="requests after waits"
    )


def _compare_waits(request_s: FloatArray, waits: BoolArray) -> Estimate | None:
    """Return the spacing of requests by waits that others may be between, s; None without.

    The buffer is full at each, so that what was fetched between two of them is what was played.
    """
    segments, passed_s, same = _agree(request_s, waits)
    total, count = int(segments[same].sum()), len(same)
    if not total:
        return None
    value = float(passed_s[same].sum()) / total
    is_usual = np.any(np.abs(_USUAL_S / value - 1) <= _SAME_PART / 2)
    if 2 * total <= segments.sum() or (count == 1 and not is_usual):
        return None
    half_s = INTERVAL_ERRORS * max(_SAME_S / total, 1e-4 * value)
    return Estimate(
        value=value, low=value - half_s, high=value + half_s, method="requests after waits"
    )


def are_regular(request_s: FloatArray, waits: BoolArray) -> bool:
    """Return whether most waits are those of a full buffer: with the same time a segment."""
    segments, _, same = _agree(request_s, waits)
    return bool(len(same) > 1 and 2 * segments[same].sum() > segments.sum())


def _agree(request_s: FloatArray, waits: BoolArray) -> tuple[IntArray, FloatArray, IntArray]:
    """Return segments and time between waits, s, and places of those with the same spacing."""
    at = np.flatnonzero(waits)
    segments, passed_s = np.diff(at), np.diff(request_s[at])
    order = np.argsort(passed_s / segments)
    spacing_s, count = (passed_s / segments)[order], segments[order]
    most_s = np.maximum(_SAME_PART * spacing_s, _SAME_S / count)
    low = np.searchsorted(spacing_s, spacing_s - most_s)
    high = np.searchsorted(spacing_s, spacing_s + most_s, side="right")
    before = np.concatenate(([0], np.cumsum(count)))
    if len(count):
        best = int((before[high] - before[low]).argmax())
        order = order[low[best] : high[best]]
    return segments, passed_s, order


def find_waits(request_s: FloatArray, idle_s: FloatArray) -> BoolArray:
    """Return before which requests the player waited, shape (n,); arguments as of the clock."""
    spacing_s = np.diff(request_s, prepend=request_s[:1])
    waits = idle_s >= np.maximum(_LEAST_WAIT_S, _LEAST_WAIT_PART * spacing_s)
    waits[:1] = False
    return waits


def _runs(marked: BoolArray) -> list[slice]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], marked.astype(np.int8), [0]))))
    return [slice(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def _slope(request_s: FloatArray, run: slice) -> tuple[float, float]:
    """Return the spacing over a run by least squares, and the squares of its places: its weight."""
    times = request_s[run.start : run.stop + 1]
    places = np.arange(len(times)) - (len(times) - 1) / 2
    squares = float(places @ places)
    return float(places @ times) / squares, squares


#: Part of the segments that a player may fetch again, and by which its log may be wrong.
_MOST_FETCHED_AGAIN, _LOG_ERROR = 0.4, 0.05
#: Durations that segments usually have, s, the most usual first: those of examples and defaults of
#: packagers, Apple's advice for HLS (6 s; 10 s before), then others.
_USUAL_S = np.array([2.0, 4.0, 6.0, 10.0, 5.0, 8.0, 1.0, 3.0, 12.0])
#: Most media that a player holds, s, or else this; and the part of the time that stalls may have
#: taken.
_MOST_HELD_S, _MOST_STALLED = (30.0, 60.0), 0.1
#: A short session leaves durations that are further apart than this, so that none is taken.
_WIDEST_GUESS = 2.0


def guess_segment_clock(request_s: FloatArray) -> Estimate | None:
    """Return the most usual duration of a segment that a session without waits leaves possible.

    What was fetched was played, or is held: the duration lies between the time a segment and that
    with a full buffer at the end. None where no usual duration does, or where that says little.
    """
    count, length_s = len(request_s) - 1, float(request_s[-1] - request_s[0])
    low = length_s * (1 - _MOST_STALLED) / count
    method = "most usual duration that the number of segments allows"
    for most_s in _MOST_HELD_S:
        high = (length_s + most_s) / count
        possible = list_usual_durations(low, high)
        if high > _WIDEST_GUESS * low:
            return None
        if len(possible):
            return Estimate(value=float(possible[0]), low=low, high=high, method=method)
    return None


def list_usual_durations(low_s: float, high_s: float) -> FloatArray:
    """Return durations that segments usually have in a range, s, the most usual first."""
    return _USUAL_S[(low_s <= _USUAL_S) & (high_s >= _USUAL_S)]


def measure_segment_clock(request_s: FloatArray, log: PlayerLog) -> Estimate | None:
    """Return the usual duration that fits media per segment by a player's log, s; None without.

    Media that came are those that were played and those in the buffer. A segment that was fetched
    again brought none, so that segments may be more than media: the lowest duration that fits
    takes the fewest of these.
    """
    start_s = log.playback_start_s
    if start_s is None or log.sample_time_s.size < 2:
        return None
    first_s, last_s = float(request_s[0]), float(request_s[-1])

    def media_s(time_s: float) -> float:
        stalled_s = sum(min(max(time_s - one.start_s, 0.0), one.duration_s) for one in log.stalls)
        held_s = float(np.interp(time_s, log.sample_time_s, log.buffer_s))
        return held_s + max(time_s - start_s - stalled_s, 0.0)

    low = (media_s(last_s) - media_s(first_s)) / (len(request_s) - 1)
    high = low * (1 + _MOST_FETCHED_AGAIN)
    possible = list_usual_durations(low * (1 - _LOG_ERROR), high)
    if not len(possible):
        return None
    method = "usual duration that the buffer of the player log allows"
    return Estimate(
        value=float(possible.min()), low=low * (1 - _LOG_ERROR), high=high, method=method
    )
