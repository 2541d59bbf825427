"""A media stream cut into cycles, over which its rate is a fair mean: ON/OFF periods or bursts."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np

from trafficgen.flows import burst_starts, find_burst_threshold_s, gaps_s
from trafficgen.units import FloatArray, IntArray, ns_from_s, s_from_ns


class CycleLimits:
    """How a stream is cut into cycles."""

    #: Longer pauses separate ON from OFF where they make up this share of the time.
    pause_s: float = 1.0
    paused_share: float = 0.1
    #: Cycles are at least this long, and there are no more than this many.
    shortest_s: float = 0.25
    most: int = 2000
    #: Without pauses, bursts that last longer are not bursts.
    longest_burst_s: float = 2.0
    #: Periods shorter than this share of the mean one are joined with the next.
    shortest_period: float = 0.5


CYCLE_LIMITS = CycleLimits()


@dataclass(frozen=True)
class Cycles:
    """Successive cycles of a stream.

    Attributes:
        edge_ns: Start of each cycle and end of the last, ns, shape (c + 1,).
        active_end_ns: Last packet of each cycle, ns, shape (c,).
        size_bytes: Bytes of each cycle, shape (c,).
        burst_rows: Rows of the packets that start a burst, every packet without bursts, shape (b,).
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

    def keep_first(self, count: int) -> Cycles:
        """Drop all cycles after the first ``count``."""
        return replace(
            self,
            edge_ns=self.edge_ns[: count + 1],
            active_end_ns=self.active_end_ns[:count],
            size_bytes=self.size_bytes[:count],
        )


def cut_into_cycles(
    time_ns: IntArray, size_bytes: IntArray, *, tick_s: float, pause_s: float = CYCLE_LIMITS.pause_s
) -> Cycles:
    """Cut a stream into cycles, so that the mean over a cycle is a fair measure of the rate.

    Where pauses of ``pause_s`` or more take a tenth of the time, a cycle is an ON period with the
    pause after it: the first ON alone is then no faster than the rest. Periods shorter than half
    the mean one are joined with the next, since players fetch audio and video in turn. Else cycles
    are groups of whole bursts, or of packets where there are no bursts, of at least 0.25 s. The
    last packet ends the stream and is in no cycle; with pauses, so is the last ON period. Times
    ascend, sizes are of IP packets, both of shape (n,).
    """
    limits, paused = CYCLE_LIMITS, is_paused(time_ns, pause_s=pause_s)
    threshold_s = find_burst_threshold_s(gaps_s(time_ns), tick_s=tick_s) or 0.0
    bursts = burst_starts(time_ns, threshold_s=threshold_s)
    shortest_s = max(limits.shortest_s, _duration_s(time_ns) / limits.most)
    longest_s = s_from_ns(int(np.diff(time_ns[bursts]).max(initial=0)))
    if not paused and longest_s > limits.longest_burst_s:
        # The gap between bursts is the spacing of a slower part.
        bursts = np.arange(time_ns.size, dtype=np.int64)
    periods = bursts
    if paused:
        periods = burst_starts(time_ns, threshold_s=pause_s)
        shortest_s = limits.shortest_period * _mean_period_s(time_ns[periods])
        bursts = np.union1d(bursts, periods) if bursts.size < time_ns.size else periods
    starts = thin_starts(time_ns, periods, shortest_ns=ns_from_s(shortest_s))
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


def is_paused(time_ns: IntArray, *, pause_s: float) -> bool:
    """Return whether gaps longer than ``pause_s`` take a tenth of a stream's time."""
    gaps, duration_s = gaps_s(time_ns), _duration_s(time_ns)
    return bool(gaps[gaps > pause_s].sum() >= CYCLE_LIMITS.paused_share * duration_s > 0)


def _duration_s(time_ns: IntArray) -> float:
    return s_from_ns(int(time_ns[-1] - time_ns[0])) if time_ns.size else 0.0


def _mean_period_s(start_ns: IntArray) -> float:
    """Return the mean period without the longest: a fat first one must not join others in pairs."""
    period_s = np.sort(s_from_ns(np.diff(start_ns)))
    return float(period_s[:-1].mean()) if period_s.size > 1 else float(period_s.sum())


def thin_starts(time_ns: IntArray, first: IntArray, *, shortest_ns: int) -> IntArray:
    """Keep the rows of ``first`` that follow the last kept one by at least ``shortest_ns``."""
    start_ns = time_ns[first].data  # searched as it is: most starts are never looked at
    kept, row = [], 0
    while row < first.size:
        kept.append(row)
        row = bisect_left(start_ns, start_ns[row] + shortest_ns, row + 1)
    return first[np.asarray(kept, dtype=np.int64)]
