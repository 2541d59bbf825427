"""What is counted of all media packets of a session while they pass by, in memory that does not
grow.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from trafficgen.flows.rates import CURVE_BINS
from trafficgen.tables import RateCurve
from trafficgen.units import FloatArray, IntArray, s_from_ns

#: IP lengths that are told apart; longer ones (of offload) count as the longest.
_SIZES = 1 << 16
#: Gaps are counted in bins whose width is 1/64 of an octave, about 1%; the first one has those of 0
#: ns.
_BINS_PER_OCTAVE = 64
_GAP_BINS = 2 + 63 * _BINS_PER_OCTAVE
#: Width of the first bins of the rate: 2^20 ns, doubled whenever the session outgrows them.
_FIRST_SHIFT = 20


@dataclass
class MediaSketch:
    """Counts, sizes, gaps and the rate of media packets, exact but for the bins of gaps (1%).

    Attributes:
        packets: Media packets.
        ip_bytes: Their IP lengths, summed.
        first_ns: Time of the first, ns from the table's origin; meaningless without packets.
        last_ns: Time of the last.
        gaps: Gaps within flows.
        gap_sum_ns: Their sum.
        size_counts: Packets by IP length, shape (65536,).
        gap_counts: Gaps by bin, see :func:`gap_bins`.
    """

    packets: int = 0
    ip_bytes: int = 0
    first_ns: int = 0
    last_ns: int = 0
    gaps: int = 0
    gap_sum_ns: int = 0
    size_counts: IntArray = field(default_factory=lambda: np.zeros(_SIZES, dtype=np.int64))
    gap_counts: IntArray = field(default_factory=lambda: np.zeros(_GAP_BINS, dtype=np.int64))
    _latest_ns: dict[int, int] = field(default_factory=dict)
    _rate_bytes: FloatArray = field(default_factory=lambda: np.zeros(2 * CURVE_BINS))
    _rate_shift: int = _FIRST_SHIFT

    def add(self, time_ns: IntArray, flow: npt.NDArray[np.uint32], ip_bytes: IntArray) -> None:
        """Count media packets, in order of time and not before those that were counted already;
        shape (n,) each.
        """
        if not time_ns.size:
            return
        if not self.packets:
            self.first_ns = int(time_ns[0])
        self.last_ns = int(time_ns[-1])
        self.packets += int(time_ns.size)
        self.ip_bytes += int(ip_bytes.sum())
        self.size_counts += np.bincount(np.minimum(ip_bytes, _SIZES - 1), minlength=_SIZES)
        self._add_rate(time_ns, ip_bytes)
        for number in np.unique(flow).tolist():
            self._add_gaps(number, time_ns[flow == number])

    def _add_gaps(self, flow: int, time_ns: IntArray) -> None:
        latest_ns = self._latest_ns.get(flow)
        gap_ns = np.diff(time_ns, prepend=time_ns[:1] if latest_ns is None else latest_ns)[
            latest_ns is None :
        ]
        self._latest_ns[flow] = int(time_ns[-1])
        self.gaps += int(gap_ns.size)
        self.gap_sum_ns += int(gap_ns.sum())
        self.gap_counts += np.bincount(gap_bins(gap_ns), minlength=_GAP_BINS)

    def _add_rate(self, time_ns: IntArray, ip_bytes: IntArray) -> None:
        bins = self._rate_bytes.size
        while (self.last_ns - self.first_ns) >> self._rate_shift >= bins:
            self._rate_bytes = np.concatenate(
                (self._rate_bytes.reshape(-1, 2).sum(axis=1), np.zeros(bins // 2))
            )
            self._rate_shift += 1
        index = (time_ns - self.first_ns) >> self._rate_shift
        self._rate_bytes += np.bincount(index, weights=ip_bytes, minlength=bins)

    @property
    def duration_s(self) -> float:
        """First to last media packet, s."""
        return s_from_ns(self.last_ns - self.first_ns)

    @property
    def rate(self) -> RateCurve:
        """IP bytes over time, s from the first media packet."""
        used = ((self.last_ns - self.first_ns) >> self._rate_shift) + 1
        return RateCurve(
            start_s=0.0,
            end_s=self.duration_s,
            bin_s=s_from_ns(1 << self._rate_shift),
            size_bytes=self._rate_bytes[:used].copy(),
        )


def gap_bins(gap_ns: IntArray) -> IntArray:
    """Return the bin of each gap: 0 for none at all, then 64 to an octave; shape (n,)."""
    octaves = np.log2(np.maximum(gap_ns, 1).astype(np.float64))
    return np.where(gap_ns > 0, 1 + (octaves * _BINS_PER_OCTAVE).astype(np.int64), 0)


def largest_distance(one: IntArray, other: IntArray) -> float:
    """Return the largest distance of the distribution functions that two histograms with the same
    bins have.
    """
    if not one.sum() or not other.sum():
        return 0.0
    return float(np.abs(np.cumsum(one) / one.sum() - np.cumsum(other) / other.sum()).max())
