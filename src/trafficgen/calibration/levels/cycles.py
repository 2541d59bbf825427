"""A media stream cut into cycles, over which its rate is a fair mean: whole ON/OFF periods, or
groups of bursts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trafficgen.flows import find_burst_threshold_s, gaps_s, segment_bursts
from trafficgen.units import FloatArray, IntArray, ns_from_s, s_from_ns

#: Pauses longer than this part ON from OFF where they make up this share of the time.
PAUSE_S = 1.0
_PAUSED_SHARE = 0.1
#: Cycles are at least this long, and not more than this many.
_SHORTEST_CYCLE_S = 0.25
_MOST_CYCLES = 2000
#: Without pauses, bursts that last longer are no bursts.
_LONGEST_BURST_S = 2.0
#: Periods shorter than this share of the mean one are joined with the next.
_SHORTEST_PERIOD = 0.5


@dataclass(frozen=True)
class Cycles:
    """Successive cycles of a stream.

    Attributes:
        edge_ns: Start of each cycle and end of the last, ns, shape (c + 1,).
        active_end_ns: Last packet of each cycle, ns, shape (c,).
        size_bytes: Bytes of each cycle, shape (c,).
        burst_rows: Rows of the packets that start a burst, every packet where there are no bursts,
            shape (b,).
        paused: Whether the cycles are ON/OFF periods.
    """

    edge_ns: IntArray
    active_end_ns: IntArray
    size_bytes: FloatArray
    burst_rows: IntArray
    paused: bool

    def __len__(self) -> int:
        return int(self.size_bytes.size)

    @property
    def duration_s(self) -> FloatArray:
        """Length of each cycle, s, shape (c,)."""
        return s_from_ns(np.diff(self.edge_ns))

    def first(self, count: int) -> Cycles:
        """Return the first ``count`` cycles."""
        return replace(
            self,
            edge_ns=self.edge_ns[: count + 1],
            active_end_ns=self.active_end_ns[:count],
            size_bytes=self.size_bytes[:count],
        )


def cut_into_cycles(time_ns: IntArray, size_bytes: IntArray, *, tick_s: float) -> Cycles:
    """Cut a stream into cycles, so that the mean over a cycle is a fair measure of the rate at the
    time.

    Where pauses of a second or more take a tenth of the time, a cycle is an ON period with the
    pause after it: the first ON alone is then no faster than the rest. Periods shorter than half
    the mean one are joined with the next, since players fetch audio and video in turn. Else cycles
    are groups of whole bursts, or of packets where there are no bursts, of at least 0.25 s. The
    last packet ends the stream and is in no cycle; with pauses, so is the last ON period.

    Args:
        time_ns: Times of the media packets, ns, ascending, shape (n,).
        size_bytes: Their IP sizes, bytes, shape (n,).
        tick_s: Granularity of the clock, s.
    """
    gaps = gaps_s(time_ns)
    duration_s = s_from_ns(int(time_ns[-1] - time_ns[0])) if time_ns.size else 0.0
    paused = bool(gaps[gaps > PAUSE_S].sum() >= _PAUSED_SHARE * duration_s > 0)
    bursts = _burst_rows(
        time_ns, size_bytes, threshold_s=find_burst_threshold_s(gaps, tick_s=tick_s) or 0.0
    )
    shortest_s = max(_SHORTEST_CYCLE_S, duration_s / _MOST_CYCLES)
    if not paused and s_from_ns(int(np.diff(time_ns[bursts]).max(initial=0))) > _LONGEST_BURST_S:
        bursts = np.arange(
            time_ns.size, dtype=np.int64
        )  # the gap that parts bursts is the spacing of a slower part
    periods = bursts
    if paused:
        periods = _burst_rows(time_ns, size_bytes, threshold_s=PAUSE_S)
        shortest_s = _SHORTEST_PERIOD * _mean_period_s(time_ns[periods])
        bursts = np.union1d(bursts, periods) if bursts.size < time_ns.size else periods
    starts = _grouped(time_ns, periods, shortest_ns=ns_from_s(shortest_s))
    if starts.size < 2:
        empty = np.zeros(0, dtype=np.int64)
        return Cycles(time_ns[:1], empty, np.zeros(0), empty, paused)
    total = np.concatenate(([0.0], np.cumsum(size_bytes, dtype=np.float64)))
    return Cycles(
        edge_ns=time_ns[starts],
        active_end_ns=time_ns[starts[1:] - 1],
        size_bytes=np.diff(total[starts]),
        burst_rows=bursts,
        paused=paused,
    )


def _mean_period_s(start_ns: IntArray) -> float:
    """Return the mean length of a period, s, without the longest: a fat first one must not join the
    others in pairs.
    """
    period_s = np.sort(s_from_ns(np.diff(start_ns)))
    return float(period_s[:-1].mean()) if period_s.size > 1 else float(period_s.sum())


def _burst_rows(time_ns: IntArray, size_bytes: IntArray, *, threshold_s: float) -> IntArray:
    """Return the rows of the packets that start a burst."""
    return segment_bursts(time_ns, size_bytes, threshold_s=threshold_s).first


def _grouped(time_ns: IntArray, first: IntArray, *, shortest_ns: int) -> IntArray:
    """Return the bursts' first packets that start a cycle: the next burst at least ``shortest_ns``
    after the last.
    """
    kept, start_ns = [], time_ns[first]
    row = 0
    while row < first.size:
        kept.append(row)
        row = max(row + 1, int(np.searchsorted(start_ns, start_ns[row] + shortest_ns)))
    return first[np.asarray(kept, dtype=np.int64)]
