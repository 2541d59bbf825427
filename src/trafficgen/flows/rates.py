"""Gaps between packets, and rates of a packet stream in bins of equal width."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen.tables import PacketTable, RateCurve
from trafficgen.units import (
    BLOCK,
    NS_PER_S,
    BoolArray,
    FloatArray,
    IntArray,
    WholeArray,
    bps_from_bytes,
    kbps_from_bytes,
    ns_from_s,
    s_from_ns,
)

#: Parts of a curve that is drawn: more than most drawings have room for.
CURVE_BINS = 480
_COARSEST_TICK_NS = 1_000_000

#: The pace of packets is the mean of so many gaps around one, none longer than this, s.
_PACED_GAPS, _LONGEST_PACED_S = 16, 0.1


def gaps_s(time_ns: IntArray) -> FloatArray:
    """Return the gaps between packets, s, shape (n - 1,), of times in ns, shape (n,)."""
    gap_s = np.empty(max(0, time_ns.size - 1))
    for row in range(0, gap_s.size, BLOCK):
        np.divide(np.diff(time_ns[row : row + BLOCK + 1]), NS_PER_S, out=gap_s[row : row + BLOCK])
    return gap_s


def pace_around_s(time_ns: IntArray) -> FloatArray:
    """Return the mean gap around each packet, s, shape (n,), of times in ns, shape (n,).

    It is that of up to 16 gaps, of which none counts for more than 0.1 s: a pause is no pace.
    """
    total_s = np.concatenate(([0.0], np.cumsum(np.minimum(gaps_s(time_ns), _LONGEST_PACED_S))))
    row = np.arange(time_ns.size)
    first = np.maximum(row - _PACED_GAPS // 2, 0)
    last = np.minimum(row + _PACED_GAPS // 2, time_ns.size - 1)
    return np.asarray((total_s[last] - total_s[first]) / np.maximum(last - first, 1))


def gaps_within_flows_s(table: PacketTable, rows: BoolArray) -> tuple[FloatArray, IntArray]:
    """Return the gaps between successive packets of the same flow, pooled over flows.

    Of the packets, which are in order of time, ``rows``, shape (n,), count (the media packets).

    Returns:
        The gaps, s, and the row of ``table`` of the packet that ends each gap; both of shape (k,),
        ordered by flow and then by time.
    """
    index = np.flatnonzero(rows)
    order = index[np.argsort(table.flow[index], kind="stable")]
    flow, time_ns = table.flow[order], table.time_ns[order]
    same_flow = flow[1:] == flow[:-1]
    return s_from_ns(np.diff(time_ns)[same_flow]), order[1:][same_flow]


def clock_tick_ns(time_ns: IntArray) -> int:
    """Return the tick of a clock: the largest power of ten ns, at most 1 ms, that divides all gaps.

    A clock that counts in other steps (1/90000 s, 4 ms) is seen at the decimal digit to which it
    was written.
    """
    if time_ns.size < 2:
        return 1
    common = int(np.gcd.reduce(np.diff(time_ns)))
    tick = 1
    while tick < _COARSEST_TICK_NS and common and common % (tick * 10) == 0:
        tick *= 10
    return tick


@dataclass(frozen=True)
class RateSeries:
    """Rate in successive bins of equal width.

    Attributes:
        start_ns: Start of the first bin, ns from the table's origin.
        size_bytes: Bytes in each bin, shape (n,).
    """

    start_ns: int
    bin_ns: int
    size_bytes: FloatArray

    @property
    def bin_s(self) -> float:
        """Width of a bin, s."""
        return s_from_ns(self.bin_ns)

    @property
    def rate_bps(self) -> FloatArray:
        """Mean rate in each bin, bit/s, shape (n,)."""
        return self.size_bytes * bps_from_bytes(1.0, self.bin_s)

    @property
    def rate_kbps(self) -> FloatArray:
        """Mean rate in each bin, kbit/s, shape (n,)."""
        return self.size_bytes * kbps_from_bytes(1.0, self.bin_s)

    def join_bins(self, count: int) -> RateSeries:
        """Return the rate in bins ``count`` times as long; an incomplete last one is dropped."""
        whole = self.size_bytes[: self.size_bytes.size // count * count]
        return RateSeries(self.start_ns, self.bin_ns * count, whole.reshape(-1, count).sum(axis=1))


def rate_curve(time_ns: IntArray, size_bytes: IntArray, *, bins: int = CURVE_BINS) -> RateCurve:
    """Return the bytes in equal parts of the time from first to last packet, for drawings.

    Times ascend; the curve counts its time from the first packet.
    """
    span_ns = int(time_ns[-1] - time_ns[0]) if time_ns.size else 0
    if span_ns == 0:
        return RateCurve(
            start_s=0.0, end_s=0.0, bin_s=1.0, size_bytes=np.array([float(size_bytes.sum())])
        )
    # The last packet ends the last part, it does not begin another.
    index = np.minimum((time_ns - time_ns[0]) * (bins / span_ns), bins - 1).astype(np.int64)
    binned = np.bincount(index, weights=size_bytes, minlength=bins)
    span_s = s_from_ns(span_ns)
    return RateCurve(
        start_s=0.0,
        end_s=span_s,
        bin_s=span_s / bins,
        size_bytes=np.asarray(binned, dtype=np.float64),
    )


def widen_bin(bin_s: float, *, span_s: float, most_bins: int) -> float:
    """Return a whole multiple of ``bin_s``, s, of which ``most_bins`` cover ``span_s``.

    The smallest such: memory goes by the number of bins and not by that of the packets.
    """
    return bin_s * max(1, math.ceil(span_s / (bin_s * most_bins)))


def rate_series(
    time_ns: IntArray,
    size_bytes: WholeArray,
    *,
    bin_s: float,
    start_ns: int | None = None,
    end_ns: int | None = None,
) -> RateSeries:
    """Return the bytes in successive bins; empty bins count as 0, a last partial bin is dropped.

    Times ascend; both arrays have shape (n,). Bins lie from ``start_ns`` (default the first packet)
    to ``end_ns`` (default the last).

    Raises:
        ValueError: If ``bin_s`` is not positive.
    """
    bin_ns = ns_from_s(bin_s)
    if bin_ns <= 0:
        raise ValueError(f"bin_s must be positive, got {bin_s}")
    if time_ns.size == 0:
        return RateSeries(start_ns=start_ns or 0, bin_ns=bin_ns, size_bytes=np.zeros(0))
    start = int(time_ns[0]) if start_ns is None else start_ns
    end = int(time_ns[-1]) if end_ns is None else end_ns
    bins = max(0, (end - start) // bin_ns)
    first, last = np.searchsorted(time_ns, [start, start + bins * bin_ns], side="left")
    binned = sum_in_bins(
        time_ns[first:last], size_bytes[first:last], start_ns=start, bin_ns=bin_ns, bins=bins
    )
    return RateSeries(start_ns=start, bin_ns=bin_ns, size_bytes=binned)


def sum_in_bins(
    time_ns: IntArray, weights: WholeArray | None, *, start_ns: int, bin_ns: int, bins: int
) -> FloatArray:
    """Sum weights, or count, in each of some bins of equal width, shape (bins,).

    Times ascend from ``start_ns`` on; they and the weights have shape (n,).
    """
    total = np.zeros(bins)
    for row in range(0, time_ns.size, BLOCK):
        rows = slice(row, row + BLOCK)
        place = (time_ns[rows] - start_ns) // bin_ns
        place = place[: np.searchsorted(place, bins)]
        if not place.size:
            break
        part = None if weights is None else weights[rows][: place.size]
        total[place[0] : place[-1] + 1] += np.bincount(place - place[0], part)
    return total
