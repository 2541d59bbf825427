"""Plateaus of a rate: a stream cut into short units, and the units at which its rate changes.

Change points are found exactly by dynamic programming with pruning (PELT: Killick, Fearnhead and
Eckley, "Optimal detection of changepoints with a linear computational cost", 2012). The cost is the
quasi-likelihood of a rate: that of a Poisson count, divided by the dispersion of the traffic
(Wedderburn, 1974). The dispersion is that of long stretches, so that correlated noise is not taken
for plateaus.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from trafficgen.flows import find_burst_threshold_s, gaps_s, segment_bursts
from trafficgen.units import FloatArray, IntArray, ns_from_s, s_from_ns

#: Units are at least this long and hold this many packets or bursts on average, and are not more
#: than this many.
_SHORTEST_UNIT_S = 0.25
_STARTS_OF_UNIT = 2.0
_MOST_UNITS = 6000
#: Pauses longer than this part ON from OFF where they make up this share of the time; a unit is
#: then a whole period.
_PAUSE_S = 1.0
_PAUSED_SHARE = 0.1
#: A plateau has this many units at least; more of them cost this many logarithms of their number.
_SHORTEST_PLATEAU = 3
_PENALTY = 2.0
#: Long gaps follow one another more than this many standard errors too often where the rate
#: switches.
_CLUSTERED_Z = 4.0
#: The dispersion is no smaller than that of rates that differ by this much from unit to unit.
_SMALLEST_VARIATION = 0.01
#: The dispersion is compared over so many units at a time at first, and within plateaus then.
_FIRST_BATCHES = (1, 2)
_LATER_BATCHES = (1, 2, 4, 8)
_FEWEST_BATCHES = 8
#: Beyond this factor at once it is raised no further: plateaus that were missed raise it too.
_MOST_INFLATED = 3.0
_SETTLED = 1.2
#: Share of the squared differences that is kept, and the mean of the smallest ones of a chi-squared
#: law of one degree.
_KEPT_SHARE = 0.8
_KEPT_MEAN = 0.4404
_CHI_SQUARED_MEDIAN = 0.4549


@dataclass(frozen=True)
class RateUnits:
    """Successive short pieces of a stream: groups of whole bursts or packets, or whole ON/OFF
    periods.

    Attributes:
        edge_ns: Start of each unit and end of the last, ns, shape (n + 1,).
        size_bytes: IP bytes of each unit, shape (n,), > 0.
        duration_s: Length of each unit, s, shape (n,), > 0.
    """

    edge_ns: IntArray
    size_bytes: FloatArray
    duration_s: FloatArray

    def __len__(self) -> int:
        return int(self.size_bytes.size)

    @property
    def log_rate(self) -> FloatArray:
        """Natural logarithm of each unit's rate in bytes/s, shape (n,)."""
        logs: FloatArray = np.log(self.size_bytes / self.duration_s)
        return logs

    def joined(self, count: int) -> RateUnits:
        """Return units of ``count`` units each; what is left over at the end is dropped."""
        kept = len(self) // count
        rows = slice(0, kept * count)
        return RateUnits(
            edge_ns=self.edge_ns[: kept * count + 1 : count],
            size_bytes=self.size_bytes[rows].reshape(kept, count).sum(axis=1),
            duration_s=self.duration_s[rows].reshape(kept, count).sum(axis=1),
        )


def cut_into_units(time_ns: IntArray, size_bytes: IntArray, *, tick_s: float) -> RateUnits:
    """Cut a stream into units, so that bytes over time in each is a fair measure of the rate.

    A unit begins with a packet or a burst and ends where the next one begins. Bursts are not those
    of the gaps'
    histogram alone: where long gaps follow one another, they come from times of a low rate, and
    packets are taken one by one. Where pauses of a second and more take a tenth of the time, a unit
    is a period of pause and packets.

    Args:
        time_ns: Times of the media packets, ns, ascending, shape (n,).
        size_bytes: Their IP sizes, bytes, shape (n,).
        tick_s: Granularity of the clock, s.
    """
    gap_s = gaps_s(time_ns)
    span_s = float(gap_s.sum())
    if gap_s[gap_s > _PAUSE_S].sum() >= _PAUSED_SHARE * span_s > 0:
        starts = segment_bursts(time_ns, size_bytes, threshold_s=_PAUSE_S).first
        shortest_s = span_s / min(max(1, starts.size), _MOST_UNITS)
    else:
        threshold_s = burst_threshold_s(gap_s, tick_s=tick_s)
        starts = segment_bursts(time_ns, size_bytes, threshold_s=threshold_s or 0.0).first
        shortest_s = max(
            _SHORTEST_UNIT_S, _STARTS_OF_UNIT * span_s / max(1, starts.size), span_s / _MOST_UNITS
        )
    rows = _grouped(time_ns, starts, shortest_ns=ns_from_s(shortest_s))
    total = np.concatenate(([0.0], np.cumsum(size_bytes, dtype=np.float64)))
    return RateUnits(time_ns[rows], np.diff(total[rows]), s_from_ns(np.diff(time_ns[rows])))


def burst_threshold_s(gap_s: FloatArray, *, tick_s: float) -> float | None:
    """Return the gap that parts bursts, s, or None where there is none, or where long gaps follow
    one another.

    Between bursts there is one long gap at a time, or as many as chance has; times of a low rate
    have many in a row.
    """
    threshold_s = find_burst_threshold_s(gap_s, tick_s=tick_s)
    if threshold_s is None:
        return None
    long = gap_s > threshold_s
    share, pairs = float(long.mean()), int(np.count_nonzero(long[:-1]))
    if pairs == 0 or not 0 < share < 1:
        return threshold_s
    again = float(long[1:][long[:-1]].mean())
    clustered = again - share > _CLUSTERED_Z * np.sqrt(share * (1 - share) / pairs)
    return None if clustered else threshold_s


def _grouped(time_ns: IntArray, first: IntArray, *, shortest_ns: int) -> IntArray:
    """Return the rows that start a unit: the next start at least ``shortest_ns`` after the last."""
    start_ns = time_ns[first]
    following = np.maximum(
        np.searchsorted(start_ns, start_ns + shortest_ns), np.arange(1, first.size + 1)
    ).tolist()
    kept, row = [], 0
    while row < first.size:
        kept.append(row)
        row = following[row]
    return first[np.asarray(kept, dtype=np.int64)]


@dataclass(frozen=True)
class Plateaus:
    """Plateaus of the rate.

    Attributes:
        edges: First unit of each plateau, and the number of units at the end, shape (p + 1,).
        dispersion_bytes: Variance of the bytes over their mean that was taken for noise, bytes.
    """

    edges: IntArray
    dispersion_bytes: float


def find_plateaus(units: RateUnits) -> list[Plateaus]:
    """Return the plateaus of the rate: by the noise from unit to unit, and by that of longer
    stretches if it is larger.

    Noise that is correlated has a larger dispersion over longer stretches, and makes false plateaus
    with the smaller one; but so do plateaus that were missed. Which is right is for the levels to
    tell.

    Args:
        units: The stream, cut into units.
    """
    if len(units) < 2 * _SHORTEST_PLATEAU:
        return []
    first = _dispersion_of_differences(units)
    found = [Plateaus(change_points(units, dispersion_bytes=first), first)]
    longer = min(dispersion_within(units, found[0].edges), _MOST_INFLATED * first)
    if longer > _SETTLED * first:
        found.append(Plateaus(change_points(units, dispersion_bytes=longer), longer))
    return [plateaus for plateaus in found if plateaus.edges.size > 2]


def change_points(units: RateUnits, *, dispersion_bytes: float) -> IntArray:
    """Return the best cut into plateaus by the penalised quasi-likelihood, shape (p + 1,), 0 and
    the end included.

    Args:
        units: The stream, cut into units.
        dispersion_bytes: Variance of the bytes in a long time over their mean, bytes.
    """
    n = len(units)
    total = np.concatenate(([0.0], np.cumsum(units.size_bytes))) / dispersion_bytes
    time_s = np.concatenate(([0.0], np.cumsum(units.duration_s)))
    penalty = _PENALTY * np.log(n)
    best, came_from = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
    best[0] = -penalty
    candidates = np.array([0], dtype=np.int64)
    for end in range(_SHORTEST_PLATEAU, n + 1):
        size = total[end] - total[candidates]
        cost = best[candidates] - size * np.log(size / (time_s[end] - time_s[candidates]))
        chosen = int(np.argmin(cost))
        best[end], came_from[end] = cost[chosen] + penalty, candidates[chosen]
        # A start that is worse by the penalty now is never the best again (PELT); the newest are
        # not eligible yet.
        candidates = np.append(candidates[cost <= best[end]], end - _SHORTEST_PLATEAU + 1)
    edges = [n]
    while edges[-1] > 0:
        edges.append(int(came_from[edges[-1]]))
    return np.array(edges[::-1], dtype=np.int64)


def dispersion_within(units: RateUnits, edges: IntArray) -> float:
    """Return the dispersion of bytes about the plateaus' rates over the stretches where it is
    largest, bytes.

    Args:
        units: The stream, cut into units.
        edges: First unit of each plateau and the number of units, shape (p + 1,).
    """
    found = [_smallest_dispersion(units)]
    for count in _LATER_BATCHES:
        squares = [
            _squared_excess(units, start, stop, count=count)
            for start, stop in itertools.pairwise(edges)
        ]
        together = np.concatenate(squares)
        if together.size >= _FEWEST_BATCHES:
            found.append(_mean_without_largest(together))
    return max(found)


def _squared_excess(units: RateUnits, start: int, stop: int, *, count: int) -> FloatArray:
    """Return the squared deviations of batches from the rate of their plateau over their expected
    bytes, bytes.
    """
    part = RateUnits(
        units.edge_ns[start : stop + 1], units.size_bytes[start:stop], units.duration_s[start:stop]
    )
    batches = part.joined(count)
    if len(batches) < 2:
        return np.zeros(0)
    expected = batches.duration_s * float(batches.size_bytes.sum() / batches.duration_s.sum())
    squares: FloatArray = (
        (batches.size_bytes - expected) ** 2 / expected * (len(batches) / (len(batches) - 1))
    )
    return squares


def _mean_without_largest(squares: FloatArray) -> float:
    """Return the mean of squares of normal values from the smallest four fifths: outliers and
    switches count little.
    """
    ordered = np.sort(squares)
    kept = ordered[: int(np.ceil(_KEPT_SHARE * ordered.size))]
    return max(float(np.median(ordered)) / _CHI_SQUARED_MEDIAN, float(kept.mean()) / _KEPT_MEAN)


def _dispersion_of_differences(units: RateUnits) -> float:
    """Return the dispersion from differences of neighbours, which few shifts of the rate do not
    change, bytes.
    """
    found = [_smallest_dispersion(units)]
    for count in _FIRST_BATCHES:
        batches = units.joined(count)
        if len(batches) < _FEWEST_BATCHES:
            break
        rate = batches.size_bytes / batches.duration_s
        each = rate / batches.duration_s
        found.append(_mean_without_largest(np.diff(rate) ** 2 / (each[:-1] + each[1:])))
    return max(found)


def _smallest_dispersion(units: RateUnits) -> float:
    return _SMALLEST_VARIATION**2 * float(units.size_bytes.mean())
