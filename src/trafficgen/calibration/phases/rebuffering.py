"""Stalls: pauses out of a source's rhythm, followed by a refill at a higher rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from trafficgen.calibration.levels.cycles import cut_into_cycles
from trafficgen.calibration.phases.buffering_end import SMALLEST_RATIO, buffering_cycles
from trafficgen.flows import SessionView, find_burst_threshold_s, gaps_s
from trafficgen.units import FloatArray, IntArray, kbps_from_bytes, s_from_ns

#: Shorter pauses are no stalls, nor are pauses that the law of the others expects this often in the
#: session.
_SHORTEST_S = 1.0
_LARGEST_EXPECTED = 0.01
#: A law of pauses needs this many; its tail is the upper tenth of them.
_FEWEST_PAUSES = 8
_TAIL_SHARE = 0.1
_FEWEST_IN_TAIL = 5
#: More pauses than this are a rhythm of their own.
_MOST_STALLS = 5
#: Of an RTP pause that stalls the source, this share at least is not in the timestamps.
_SMALLEST_LATE_SHARE = 0.5
_TIMESTAMP_BITS = 32


@dataclass(frozen=True)
class Stall:
    """A pause of the source and the refill after it; times in s from the session's first media
    packet.

    Attributes:
        start_s: Last packet before the pause.
        end_s: First packet after it.
        refill_end_s: Where the faster stretch after it ends; ``end_s`` where none was seen.
        refill_kbps: Mean IP rate of that stretch; None where none was seen.
        expected: How many pauses this long the law of the others has in such a session.
        evidence: ``"refill"``: a faster stretch follows; ``"rtp"``: the RTP clock stood still
            meanwhile.
    """

    start_s: float
    end_s: float
    refill_end_s: float
    refill_kbps: float | None
    expected: float
    evidence: Literal["refill", "rtp"]

    @property
    def duration_s(self) -> float:
        """Length of the pause, s."""
        return self.end_s - self.start_s


def find_stalls(
    view: SessionView, time_ns: IntArray, size_bytes: IntArray, *, zero_ns: int, tick_s: float
) -> tuple[Stall, ...]:
    """Return the stalls of the playout of a session.

    A pause is a stall when it lasts a second or more, is out of the law of the other pauses
    (log-normal and Pareto tail, the larger probability counts), and either the RTP clock stood
    still for half of it or more, or a stretch faster than the rest follows (the test of buffering).
    An RTP clock that ran on through the pause tells of loss or silence.

    Args:
        view: The session, for its RTP timestamps.
        time_ns: Times of the media packets of the playout, ns, ascending, shape (n,).
        size_bytes: Their IP sizes, bytes, shape (n,).
        zero_ns: The session's first media packet.
        tick_s: Granularity of the clock, s.
    """
    gap_s = gaps_s(time_ns)
    unusual = unusual_pauses(gap_s, tick_s=tick_s)
    stalls: list[Stall] = []
    rows = [*(row for row, _ in unusual), time_ns.size - 1]
    for number, (row, expected) in enumerate(unusual):
        part = slice(row + 1, rows[number + 1] + 1)
        late = _late_share(view, int(time_ns[row]), int(time_ns[row + 1]))
        if late is not None and late < _SMALLEST_LATE_SHARE:
            continue
        refill = _refill(time_ns[part], size_bytes[part], tick_s=tick_s)
        start_s, end_s = (s_from_ns(int(at_ns) - zero_ns) for at_ns in time_ns[row : row + 2])
        if refill is not None:
            stalls.append(Stall(start_s, end_s, end_s + refill[0], refill[1], expected, "refill"))
        elif late is not None:
            stalls.append(Stall(start_s, end_s, end_s, None, expected, "rtp"))
    return tuple(stalls)


def unusual_pauses(gap_s: FloatArray, *, tick_s: float) -> list[tuple[int, float]]:
    """Return place and expected number of the gaps out of the law of the other pauses, in order of
    time.

    Outliers are sought from the largest set down, so that several stalls do not hide each other
    (Rosner 1983).

    Args:
        gap_s: Gaps between packets, s, in order of time, shape (n,).
        tick_s: Granularity of the clock, s.
    """
    threshold_s = find_burst_threshold_s(gap_s, tick_s=tick_s) or 0.0
    pauses = np.flatnonzero(gap_s > threshold_s)
    ascending = pauses[np.argsort(gap_s[pauses], kind="stable")]
    most = min(
        _MOST_STALLS,
        ascending.size - _FEWEST_PAUSES,
        int(np.count_nonzero(gap_s[pauses] >= _SHORTEST_S)),
    )
    for count in range(most, 0, -1):
        others_s, candidates = gap_s[ascending[:-count]], ascending[-count:]
        if _expected(others_s, float(gap_s[candidates[0]])) < _LARGEST_EXPECTED:
            return [
                (int(row), _expected(others_s, float(gap_s[row]))) for row in np.sort(candidates)
            ]
    return []


def _expected(others_s: FloatArray, pause_s: float) -> float:
    """Return how many pauses this long the law of the others has among as many; the larger of two
    laws.
    """
    n = others_s.size
    ascending = np.log(np.maximum(others_s, 1e-9))
    spread = max(1e-3, float(ascending.std(ddof=1)))
    statistic = (np.log(pause_s) - float(ascending.mean())) / (spread * np.sqrt(1 + 1 / n))
    log_normal = float(special.stdtr(n - 1, -statistic))
    in_tail = min(n - 1, max(_FEWEST_IN_TAIL, int(_TAIL_SHARE * n)))
    start, mean_excess = (
        ascending[-in_tail - 1],
        float(np.mean(ascending[-in_tail:] - ascending[-in_tail - 1])),
    )
    # one standard error of Hill's estimator towards the heavier tail
    mean_excess = max(1e-3, mean_excess * (1 + 1 / np.sqrt(in_tail)))
    pareto = in_tail / n * float(np.exp(-(np.log(pause_s) - start) / mean_excess))
    return n * max(log_normal, pareto)


def _refill(
    time_ns: IntArray, size_bytes: IntArray, *, tick_s: float
) -> tuple[float, float] | None:
    """Return length, s, and rate, kbit/s, of the faster stretch at the start of a part, or None."""
    if time_ns.size < _FEWEST_PAUSES:
        return None
    cycles = cut_into_cycles(time_ns, size_bytes, tick_s=tick_s)
    change = buffering_cycles(cycles)
    if change is None:
        return None
    end_ns = int(cycles.active_end_ns[change - 1])
    inside = int(np.searchsorted(time_ns, end_ns, side="right"))
    duration_s = s_from_ns(end_ns - int(time_ns[0]))
    rest_s = s_from_ns(int(time_ns[-1]) - end_ns)
    if duration_s <= 0 or rest_s <= 0:
        return None
    fast = kbps_from_bytes(float(size_bytes[:inside].sum()), duration_s)
    slow = kbps_from_bytes(float(size_bytes[inside:].sum()), rest_s)
    return (duration_s, fast) if fast >= SMALLEST_RATIO * slow else None


def _late_share(view: SessionView, before_ns: int, after_ns: int) -> float | None:
    """Return the share of a pause that the heaviest flow's RTP timestamps do not have; None where
    it is not RTP.
    """
    table = view.table
    clocks = dict(
        zip(*(table.flows.column(name).to_pylist() for name in ("flow", "clock_hz")), strict=True)
    )
    clock_hz = clocks.get(view.heaviest_flow)
    rows = np.flatnonzero(
        view.media & (table.flow == view.heaviest_flow) & table.is_known("rtp_timestamp")
    )
    if not clock_hz or rows.size < 2:
        return None
    after = int(np.searchsorted(table.time_ns[rows], after_ns))
    if not 0 < after < rows.size or table.time_ns[rows[after - 1]] > after_ns:
        return None
    first, second = rows[after - 1], rows[after]
    timestamps = table.values("rtp_timestamp")
    space = 1 << _TIMESTAMP_BITS
    step = (int(timestamps[second]) - int(timestamps[first]) + space // 2) % space - space // 2
    pause_s = s_from_ns(int(table.time_ns[second] - table.time_ns[first]))
    return 1 - step / clock_hz / pause_s if pause_s > 0 else None
