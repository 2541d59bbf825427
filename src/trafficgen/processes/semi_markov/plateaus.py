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

from trafficgen import _core
from trafficgen.flows import burst_starts, find_burst_threshold_s, gaps_s
from trafficgen.flows.cycles import CYCLE_LIMITS, thin_starts
from trafficgen.units import FloatArray, IntArray, ns_from_s, s_from_ns


class PlateauLimits:
    """How long units and plateaus are, and how much of the noise the dispersion covers."""

    #: Units are at least this long, hold this many packets or bursts on average, and are at most
    #: this many.
    shortest_unit_s: float = 0.25
    starts_of_unit: float = 2.0
    most_units: int = 6000
    #: A plateau has this many units at least; each more costs this many logarithms of their number.
    shortest: int = 3
    penalty: float = 2.0
    #: Long gaps that follow one another this many standard errors too often mean a switching rate.
    clustered_z: float = 4.0
    #: The dispersion is at least that of rates that differ by this much from unit to unit.
    smallest_variation: float = 0.01
    #: The dispersion is compared over this many units at a time, at first and then within plateaus.
    first_batches: tuple[int, ...] = (1, 2)
    later_batches: tuple[int, ...] = (1, 2, 4, 8)
    fewest_batches: int = 8
    #: It rises by no more than this factor, as missed plateaus raise it too; a rise below the
    #: second is ignored.
    most_inflated: float = 3.0
    settled: float = 1.2


_LIMITS = PlateauLimits()
#: Share of the squared differences that is kept, and the mean of the smallest ones of a chi-squared
#: law of one degree, with its median.
_KEPT_SHARE = 0.8
_KEPT_MEAN = 0.4404
_CHI_SQUARED_MEDIAN = 0.4549


@dataclass(frozen=True)
class RateUnits:
    """Successive short pieces of a stream: groups of bursts or packets, or ON/OFF periods.

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
        return np.asarray(np.log(self.size_bytes / self.duration_s))

    def join(self, count: int) -> RateUnits:
        """Return units of ``count`` units each; the rest at the end is dropped."""
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
    of the gaps' histogram alone: where long gaps follow one another, they come from times of a low
    rate, and packets are taken one by one. Where pauses of a second and more take a tenth of the
    time, a unit is a period of pause and packets. Times ascend, sizes are of IP packets, both of
    shape (n,).
    """
    gap_s = gaps_s(time_ns)
    span_s, pause_s = float(gap_s.sum()), CYCLE_LIMITS.pause_s
    if gap_s[gap_s > pause_s].sum() >= CYCLE_LIMITS.paused_share * span_s > 0:
        starts = burst_starts(time_ns, threshold_s=pause_s)
        shortest_s = span_s / min(max(1, starts.size), _LIMITS.most_units)
    else:
        threshold_s = burst_threshold_s(gap_s, tick_s=tick_s) or 0.0
        del gap_s  # as long as the session
        starts = burst_starts(time_ns, threshold_s=threshold_s)
        dense_s = _LIMITS.starts_of_unit * span_s / max(1, starts.size)
        shortest_s = max(_LIMITS.shortest_unit_s, dense_s, span_s / _LIMITS.most_units)
    rows = thin_starts(time_ns, starts, shortest_ns=ns_from_s(shortest_s))
    total = np.zeros(size_bytes.size + 1)
    np.cumsum(size_bytes, dtype=np.float64, out=total[1:])
    return RateUnits(time_ns[rows], np.diff(total[rows]), s_from_ns(np.diff(time_ns[rows])))


def burst_threshold_s(gap_s: FloatArray, *, tick_s: float) -> float | None:
    """Find the gap that separates bursts, s; None without bursts, or where long gaps cluster.

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
    excess = float(long[1:][long[:-1]].mean()) - share
    clustered = excess > _LIMITS.clustered_z * np.sqrt(share * (1 - share) / pairs)
    return None if clustered else threshold_s


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
    """Find the plateaus of the rate, by the noise from unit to unit and by that over longer times.

    Noise that is correlated has a larger dispersion over longer stretches, and makes false plateaus
    with the smaller one; but so do plateaus that were missed. The levels decide which is right.
    """
    if len(units) < 2 * _LIMITS.shortest:
        return []
    first = _dispersion_of_differences(units)
    found = [Plateaus(change_points(units, dispersion_bytes=first), first)]
    longer = min(_dispersion_within(units, found[0].edges), _LIMITS.most_inflated * first)
    if longer > _LIMITS.settled * first:
        found.append(Plateaus(change_points(units, dispersion_bytes=longer), longer))
    return [plateaus for plateaus in found if plateaus.edges.size > 2]


def change_points(units: RateUnits, *, dispersion_bytes: float) -> IntArray:
    """Find the best cut by the penalised quasi-likelihood, with 0 and the end, shape (p + 1,).

    The dispersion is the variance of the bytes in a long time over their mean.
    """
    n = len(units)
    total = np.concatenate(([0.0], np.cumsum(units.size_bytes))) / dispersion_bytes
    time_s = np.concatenate(([0.0], np.cumsum(units.duration_s)))
    penalty = _LIMITS.penalty * np.log(n)
    # Ours: `ruptures` finds the same cuts of the shipped captures, far slower.
    return _core.change_points(total, time_s, _LIMITS.shortest, penalty)


def _dispersion_within(units: RateUnits, edges: IntArray) -> float:
    """Return the dispersion about the plateaus' rates over the stretches where it is largest."""
    found = [_smallest_dispersion(units)]
    for count in _LIMITS.later_batches:
        pairs = itertools.pairwise(edges)
        squares = np.concatenate([_squared_excess(units, *pair, count=count) for pair in pairs])
        if squares.size >= _LIMITS.fewest_batches:
            found.append(_mean_without_largest(squares))
    return max(found)


def _squared_excess(units: RateUnits, start: int, stop: int, *, count: int) -> FloatArray:
    """Return squared deviations of batches from their plateau's rate over their expected bytes."""
    batches = RateUnits(
        units.edge_ns[start : stop + 1], units.size_bytes[start:stop], units.duration_s[start:stop]
    ).join(count)
    n = len(batches)
    if n < 2:
        return np.zeros(0)
    expected = batches.duration_s * float(batches.size_bytes.sum() / batches.duration_s.sum())
    return np.asarray((batches.size_bytes - expected) ** 2 / expected * (n / (n - 1)))


def _mean_without_largest(squares: FloatArray) -> float:
    """Return the mean of squares of normal values from the smallest: outliers count little."""
    ordered = np.sort(squares)
    kept = ordered[: int(np.ceil(_KEPT_SHARE * ordered.size))]
    return max(float(np.median(ordered)) / _CHI_SQUARED_MEDIAN, float(kept.mean()) / _KEPT_MEAN)


def _dispersion_of_differences(units: RateUnits) -> float:
    """Return the dispersion from differences of neighbours, which few shifts do not change."""
    found = [_smallest_dispersion(units)]
    for count in _LIMITS.first_batches:
        batches = units.join(count)
        if len(batches) < _LIMITS.fewest_batches:
            break
        rate = batches.size_bytes / batches.duration_s
        each = rate / batches.duration_s
        found.append(_mean_without_largest(np.diff(rate) ** 2 / (each[:-1] + each[1:])))
    return max(found)


def _smallest_dispersion(units: RateUnits) -> float:
    return _LIMITS.smallest_variation**2 * float(units.size_bytes.mean())
