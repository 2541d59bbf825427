"""Stalls: pauses out of a source's rhythm, followed by a refill at a higher rate."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.phases.buffering_end import count_buffering_cycles, measure_fast_start
from trafficgen.flows import SessionView, extend_sequence, find_burst_threshold_s, gaps_s
from trafficgen.flows.cycles import cut_into_cycles
from trafficgen.imports import special
from trafficgen.units import FloatArray, IntArray, s_from_ns


class StallLimits:
    """When a pause of the packets is a stall."""

    #: Shorter pauses are not stalls, s: viewers hardly see them,
    shortest_s: float = 1.0
    #: nor are pauses that the law of the others has this often in a session.
    largest_expected: float = 0.01
    #: A law of pauses needs this many.
    fewest_pauses: int = 8
    #: Its Pareto tail is this share of them,
    tail_share: float = 0.1
    #: and this many at least.
    fewest_in_tail: int = 5
    #: More unusual pauses are a rhythm of their own.
    most_stalls: int = 5
    #: A source that stalls leaves this share of the pause out of its RTP timestamps.
    smallest_late_share: float = 0.5


_LIMITS = StallLimits()


@dataclass(frozen=True)
class Pause:
    """A time in which the player had nothing to play, s."""

    start_s: float
    duration_s: float


@dataclass(frozen=True)
class Stall:
    """A pause of the source and the refill after it; times in s from the first media packet.

    Attributes:
        start_s: Last packet before the pause.
        end_s: First packet after it.
        refill_end_s: End of the faster stretch after it; ``end_s`` without one.
        refill_kbps: Mean IP rate of that stretch; None without one: the RTP clock stopped.
    """

    start_s: float
    end_s: float
    refill_end_s: float
    refill_kbps: float | None

    @property
    def duration_s(self) -> float:
        """Length of the pause, s."""
        return self.end_s - self.start_s


def find_stalls(
    view: SessionView, time_ns: IntArray, size_bytes: IntArray, *, zero_ns: int, tick_s: float
) -> tuple[Stall, ...]:
    """Find the stalls in the playout of a session.

    A pause is a stall if it lasts a second or more, is too long for the law of the other pauses
    (log-normal and Pareto tail, the larger probability counts), and either the RTP clock stopped
    for half of it or more, or a stretch faster than the rest follows (the test of buffering). An
    RTP clock that ran through the pause means loss or silence. Times, ascending, and IP sizes are
    those of the media packets of the playout, shape (n,); ``zero_ns`` is the session's first media
    packet.
    """
    rows = find_unusual_pauses(gaps_s(time_ns), tick_s=tick_s)
    stalls: list[Stall] = []
    for row, last in itertools.pairwise([*rows, time_ns.size - 1]):
        late = _measure_late_share(view, int(time_ns[row + 1]))
        if late is not None and late < _LIMITS.smallest_late_share:
            continue
        part = slice(row + 1, last + 1)
        refill = _find_refill(time_ns[part], size_bytes[part], tick_s=tick_s)
        start_s, end_s = (s_from_ns(int(at_ns) - zero_ns) for at_ns in time_ns[row : row + 2])
        if refill is not None:
            stalls.append(Stall(start_s, end_s, end_s + refill[0], refill[1]))
        elif late is not None:
            stalls.append(Stall(start_s, end_s, end_s, None))
    return tuple(stalls)


def find_unusual_pauses(gap_s: FloatArray, *, tick_s: float) -> list[int]:
    """Return the places of the gaps too long for the law of the other pauses.

    Outliers are tested from the largest set down, so that several stalls do not hide each other
    (Rosner 1983). Gaps are in order of time, shape (n,).
    """
    if not (gap_s >= _LIMITS.shortest_s).any():
        return []
    threshold_s = find_burst_threshold_s(gap_s, tick_s=tick_s) or 0.0
    pauses = np.flatnonzero(gap_s > threshold_s)
    ascending = pauses[np.argsort(gap_s[pauses], kind="stable")]
    long = int(np.count_nonzero(gap_s[pauses] >= _LIMITS.shortest_s))
    most = min(_LIMITS.most_stalls, ascending.size - _LIMITS.fewest_pauses, long)
    for count in range(most, 0, -1):
        others_s, candidates = gap_s[ascending[:-count]], ascending[-count:]
        if _count_expected(others_s, float(gap_s[candidates[0]])) < _LIMITS.largest_expected:
            return [int(row) for row in np.sort(candidates)]
    return []


def _count_expected(others_s: FloatArray, pause_s: float) -> float:
    """Return how many pauses this long the law of the others has among as many."""
    n = others_s.size
    ascending = np.maximum(others_s, 1e-9)
    np.log(ascending, out=ascending)
    spread = max(1e-3, float(ascending.std(ddof=1)))
    statistic = (np.log(pause_s) - float(ascending.mean())) / (spread * np.sqrt(1 + 1 / n))
    log_normal = float(special.stdtr(n - 1, -statistic))
    in_tail = min(n - 1, max(_LIMITS.fewest_in_tail, int(_LIMITS.tail_share * n)))
    start = ascending[-in_tail - 1]
    mean_excess = float(np.mean(ascending[-in_tail:] - start))
    # One standard error of Hill's estimator towards the heavier tail.
    mean_excess = max(1e-3, mean_excess * (1 + 1 / np.sqrt(in_tail)))
    pareto = in_tail / n * float(np.exp(-(np.log(pause_s) - start) / mean_excess))
    return n * max(log_normal, pareto)


def _find_refill(
    time_ns: IntArray, size_bytes: IntArray, *, tick_s: float
) -> tuple[float, float] | None:
    """Return length, s, and rate, kbit/s, of the faster stretch at the start of a part, or None."""
    if time_ns.size < _LIMITS.fewest_pauses:
        return None
    cycles = cut_into_cycles(time_ns, size_bytes, tick_s=tick_s)
    change = count_buffering_cycles(cycles)
    if change is None:
        return None
    end_ns = int(cycles.active_end_ns[change - 1])
    found = measure_fast_start(time_ns, size_bytes, end_ns, side="right")
    return found[1:] if found else None


def _measure_late_share(view: SessionView, after_ns: int) -> float | None:
    """Return the share of a pause by which the heaviest flow's RTP clock lags; None: no RTP.

    The pause is the one between the last packet before ``after_ns`` and the first one after it.
    """
    table, clock_hz = view.table, view.clock_hz(view.heaviest_flow)
    is_rtp = view.media & (table.flow == view.heaviest_flow) & table.is_known("rtp_timestamp")
    rows = np.flatnonzero(is_rtp)
    if not clock_hz or rows.size < 2:
        return None
    after = int(np.searchsorted(table.time_ns[rows], after_ns))
    if not 0 < after < rows.size or table.time_ns[rows[after - 1]] > after_ns:
        return None
    pair = rows[after - 1 : after + 1]
    timestamps = table.values("rtp_timestamp").astype(np.int64)[pair]
    step = int(np.diff(extend_sequence(timestamps, bits=32))[0])
    pause_s = s_from_ns(int(np.diff(table.time_ns[pair])[0]))
    return 1 - step / clock_hz / pause_s if pause_s > 0 else None
