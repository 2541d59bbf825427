"""Bursts: maximal runs of packets with small gaps, and the gap that separates them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np

from trafficgen.errors import CalibrationError
from trafficgen.units import BLOCK, BoolArray, FloatArray, IntArray, WholeArray, s_from_ns


class BurstLimits:
    """When gaps are of two kinds, so that the longer ones separate bursts.

    Chosen on the captures of the verification data: stricter limits leave chunked streams in one
    burst, laxer ones find bursts in renewal streams.

    Attributes:
        fewest_gaps: Fewer gaps say nothing about two kinds of gaps.
        window_decades: Widths of the windows in which gaps are counted, powers of ten: narrow for
            sharp clocks, wide for scattered pauses.
        bin_decades: Width of the bins that windows are made of, powers of ten.
        least_share_within: With a smaller share of gaps within bursts, most bursts would be single
            packets.
        least_ratio: Factor by which the two kinds of gaps differ at least.
        valley_share: A valley holds at most this share of the lower of its two peaks,
        valley_deviations: and is below it by this many standard deviations of Poisson counts.
        pause_s: Pauses of at least this length separate bursts even without a valley, s, if there
            are
        fewest_pauses: at least this many, which make up
        largest_pause_share: at most this share of the gaps and
        least_paused_time: at least this share of the time, and are regular: the likelihood ratio of
            a gamma to an exponential law of the packets between them exceeds
        regular_ratio: the 95% quantile of chi-squared with one degree.
        decades_below_tick: Gaps that the clock shows as 0 are spread so far below half a tick.
    """

    fewest_gaps: int = 20
    window_decades: tuple[float, ...] = (0.125, 0.25, 0.5, 1.0)
    bin_decades: float = 0.025
    least_share_within: float = 0.2
    least_ratio: float = 3.0
    valley_share: float = 0.5
    valley_deviations: float = 3.0
    pause_s: float = 1.0
    fewest_pauses: int = 5
    largest_pause_share: float = 0.02
    least_paused_time: float = 0.2
    regular_ratio: float = 3.841
    decades_below_tick: float = 2.0


_LIMITS = BurstLimits()


@dataclass(frozen=True)
class Bursts:
    """A packet stream cut into bursts.

    Attributes:
        threshold_s: Largest gap within a burst, s.
        first: Index of each burst's first packet, shape (b,).
        packets: Packets of each burst, shape (b,).
        start_ns: Time of each burst's first packet, ns, shape (b,).
        end_ns: Time of each burst's last packet, ns, shape (b,).
        within: Whether each gap lies within a burst, shape (n - 1,).
    """

    threshold_s: float
    first: IntArray
    packets: IntArray
    size_bytes: FloatArray
    start_ns: IntArray
    end_ns: IntArray
    within: BoolArray

    @property
    def spacing_s(self) -> FloatArray:
        """Start of each burst to the start of the next, s, shape (b - 1,)."""
        return s_from_ns(np.diff(self.start_ns))

    @property
    def idle_s(self) -> FloatArray:
        """End of each burst to the start of the next, s, shape (b - 1,)."""
        return s_from_ns(self.start_ns[1:] - self.end_ns[:-1])

    @property
    def last(self) -> IntArray:
        """Index of each burst's last packet, shape (b,)."""
        return self.first + self.packets - 1


def segment_bursts(time_ns: IntArray, size_bytes: WholeArray, *, threshold_s: float) -> Bursts:
    """Cut a stream into bursts: maximal runs of packets with gaps of at most ``threshold_s``.

    Times ascend; both arrays have shape (n,).
    """
    begins = _begins_burst(time_ns, threshold_s=threshold_s)
    first = np.flatnonzero(begins)
    packets = np.diff(np.append(first, time_ns.size))
    return Bursts(
        threshold_s=threshold_s,
        first=first,
        packets=packets,
        size_bytes=np.add.reduceat(size_bytes, first).astype(np.float64),
        start_ns=time_ns[first],
        end_ns=time_ns[first + packets - 1],
        within=~begins[1:],
    )


def burst_starts(time_ns: IntArray, *, threshold_s: float) -> IntArray:
    """Return the index of the first packet of each burst, shape (b,), as :class:`Bursts` has it."""
    return np.flatnonzero(_begins_burst(time_ns, threshold_s=threshold_s))


def _begins_burst(time_ns: IntArray, *, threshold_s: float) -> BoolArray:
    """Return which packets are the first of a burst, shape (n,)."""
    begins = np.ones(time_ns.size, dtype=np.bool_)
    for row in range(0, max(0, time_ns.size - 1), BLOCK):
        gap_s = s_from_ns(np.diff(time_ns[row : row + BLOCK + 1]))
        np.greater(gap_s, threshold_s, out=begins[1:][row : row + BLOCK])
    return begins


def find_burst_threshold_s(gap_s: FloatArray, *, tick_s: float = 1e-9) -> float | None:
    """Return the gap that parts bursts, s, or None where the gaps are of one kind.

    Gaps are counted on a logarithmic scale in windows of several widths. A valley parts two kinds
    of gaps when it holds at most half of the lower of its two peaks, is below both by three
    standard deviations of the (Poisson) counts, and the peaks are at least a factor of 3 apart. Of
    several valleys the one is taken that explains most of the variance of the logarithm, each gap
    weighted by its length (Otsu's criterion, 1979, on the time that a stream spends in gaps), so
    that pauses between chunks win over the spacing of packets within them. All families of
    :mod:`trafficgen.distributions` have log-gaps of one mode, so a renewal stream has no threshold.
    Where there is no valley, pauses of a second and more part bursts if they take a fifth of the
    time and come regularly. Gaps are in order of time, shape (n,). Equal gaps are spread over one
    tick so that rounding makes no valleys.

    Raises:
        CalibrationError: If a gap is negative or not finite, or the tick not above 0.
    """
    bad = np.flatnonzero(~((gap_s >= 0) & np.isfinite(gap_s)))
    if bad.size:
        raise CalibrationError(
            f"gap {bad[0]} is {gap_s[bad[0]]:g} s; give finite gaps of at least 0, of packets in"
            " order of time"
        )
    if not tick_s > 0:
        raise CalibrationError(f"tick_s is {tick_s:g}; give the step of the clock, above 0")
    if gap_s.size < _LIMITS.fewest_gaps:
        return None
    gaps = _spread_in_place(np.sort(gap_s), tick_s=tick_s)
    best_s, best_score = None, 0.0
    for log_threshold in _valleys(gaps).tolist():
        score = _between_class_variance(gaps, log_threshold)
        if score > best_score:
            best_s, best_score = _middle_of_widest_step(gaps, log_threshold), score
    return best_s if best_s is not None else _pause_threshold_s(gap_s)


def _pause_threshold_s(gap_s: FloatArray) -> float | None:
    """Return a threshold between few but regular pauses from the other gaps, or None.

    A player that fetches chunks may pause too seldom for a valley in the counts. Its pauses then
    show by their share of the time and by their order: between the rare gaps of a renewal stream
    lies a geometric number of packets, between pauses a more regular one.
    """
    pause = np.flatnonzero(gap_s >= _LIMITS.pause_s)
    rare = _LIMITS.fewest_pauses <= pause.size <= _LIMITS.largest_pause_share * gap_s.size
    if not rare or gap_s[pause].sum() < _LIMITS.least_paused_time * gap_s.sum():
        return None
    between = np.diff(pause).astype(np.float64)
    if gamma_to_exponential(between, regular=True) < _LIMITS.regular_ratio:
        return None
    return float(np.sqrt(gap_s[pause].min() * gap_s[gap_s < _LIMITS.pause_s].max()))


def gamma_to_exponential(values: FloatArray, *, regular: bool = False) -> float:
    """Test whether values are exponential: how much better a gamma law fits them, as chi-squared.

    It is twice the log-likelihood ratio of the two laws, about 0 to 4 for exponential values, and
    larger for more regular or more variable ones. The gamma law's shape is the closed-form
    approximation of Minka (2002), which is within 1.5% of the maximum. Values are positive; there
    is at least one. With ``regular`` only a shape above 1 counts, of values more regular than
    exponential ones; else it is 0.
    """
    n, mean, mean_log = values.size, float(values.mean()), float(np.log(values).mean())
    s = max(np.log(mean) - mean_log, 1e-9)
    shape = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    if regular and shape <= 1:
        return 0.0
    from trafficgen.imports import special  # noqa: PLC0415 - looking into a capture should not wait for it

    gamma = (shape - 1) * mean_log - shape * np.log(mean / shape) - special.gammaln(shape) - shape
    return float(2 * n * (gamma + np.log(mean) + 1))


def spread_over_tick(sorted_values: FloatArray, *, tick_s: float) -> FloatArray:
    """Spread equal values evenly over one clock tick around them; ascending, all positive.

    A gap of 0 is anything below half a tick. It is spread evenly in the logarithm over the two
    powers of ten below that: a law's tail thins out slowly there, and must not look like a kind of
    gaps. Where the values are not multiples of the tick, those spread of neighbours overlap.
    """
    return _spread_in_place(sorted_values.copy(), tick_s=tick_s)


def _spread_in_place(sorted_values: FloatArray, *, tick_s: float) -> FloatArray:
    n = sorted_values.size
    steps = [np.zeros(1, dtype=np.intp)]
    for row in range(0, n - 1, BLOCK):
        part = np.diff(sorted_values[row : row + BLOCK + 1])
        steps.append(np.flatnonzero(part > 0.25 * tick_s) + (row + 1))
    starts = np.concatenate((*steps, [n]), dtype=np.uint32, casting="unsafe")
    below = int(np.searchsorted(sorted_values, 0.5 * tick_s))
    for row in range(0, n, BLOCK):
        end = min(row + BLOCK, n)
        first, last = np.searchsorted(starts, np.array([row, end - 1], np.uint32), side="right")
        ends = starts[first - 1 : last + 1].astype(np.int64)
        clipped = np.clip(ends, row, end)
        count, inside = ends[1:] - ends[:-1], clipped[1:] - clipped[:-1]
        place = np.arange(row + 0.5, end)
        place -= np.repeat(ends[:-1], inside)
        place /= np.repeat(count, inside)
        zeros = min(max(0, below - row), place.size)
        place[:zeros] = 0.5 * 10 ** (_LIMITS.decades_below_tick * (place[:zeros] - 1))
        place[zeros:] -= 0.5
        place *= tick_s
        place[zeros:] += sorted_values[row + zeros : end]
        sorted_values[row:end] = place
    sorted_values.sort()
    return sorted_values


def _valleys(gaps: FloatArray) -> FloatArray:
    """Return the logarithms (base 10) of thresholds between two kinds of gaps, over all windows."""
    low, high = np.log10(gaps[[0, -1]])
    bins = int(np.ceil((high - low) / _LIMITS.bin_decades)) + 1
    count = np.zeros(bins)
    for row in range(0, gaps.size, BLOCK):
        place = (np.log10(gaps[row : row + BLOCK]) - low) / _LIMITS.bin_decades
        count += np.bincount(place.astype(np.int64), minlength=bins)
    found: list[FloatArray] = []
    for width in _LIMITS.window_decades:
        span = round(width / _LIMITS.bin_decades)
        windows = np.convolve(np.pad(count, span), np.ones(span), mode="valid")
        index = _significant_valleys(
            windows, apart=max(span, int(np.log10(_LIMITS.least_ratio) / _LIMITS.bin_decades))
        )
        found.append(low + (index - span / 2) * _LIMITS.bin_decades)
    return np.concatenate(found)


def _significant_valleys(windows: FloatArray, *, apart: int) -> IntArray:
    """Return the middle of each stretch of least counts well below a peak on both sides."""
    n = windows.size
    half = max(1, apart // 2)
    left = np.concatenate((np.zeros(half), np.maximum.accumulate(windows)))[:n]
    right = np.concatenate((np.maximum.accumulate(windows[::-1])[::-1], np.zeros(half)))[half:]
    lower_peak = np.minimum(left, right)
    deep = (windows <= _LIMITS.valley_share * lower_peak) & (
        lower_peak - windows
        >= _LIMITS.valley_deviations * np.sqrt(np.maximum(lower_peak + windows, 1.0))
    )
    edges = np.flatnonzero(np.diff(np.concatenate(([False], deep, [False])).astype(np.int8)))
    middles = []
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        least = np.flatnonzero(windows[start:stop] == windows[start:stop].min())
        middles.append(start + int(least[least.size // 2]))
    return np.asarray(middles, dtype=np.int64)


def _between_class_variance(gaps: FloatArray, log_threshold: float) -> float:
    """Return the variance between the sides of a threshold; log-gaps are weighted by length."""
    parted = bisect_right(gaps, log_threshold, key=np.log10)
    if parted < _LIMITS.least_share_within * gaps.size or parted == gaps.size:
        return 0.0
    below, sum_below = _sum_logs(gaps[:parted])
    above, sum_above = _sum_logs(gaps[parted:])
    share = below / (below + above)
    return share * (1 - share) * (sum_above / above - sum_below / below) ** 2


def _sum_logs(gaps: FloatArray) -> tuple[float, float]:
    """Return the sum of gaps and that of their logarithms, weighted by length."""
    parts = [gaps[row : row + BLOCK] for row in range(0, gaps.size, BLOCK)]
    return float(gaps.sum()), sum(float(np.dot(part, np.log10(part))) for part in parts)


def _middle_of_widest_step(gaps: FloatArray, log_threshold: float) -> float:
    """Return the geometric middle, s, of the widest gap within 0.1 decades of a threshold."""
    first = bisect_left(gaps, log_threshold - 0.1, key=np.log10)
    last = bisect_left(gaps, log_threshold + 0.1, key=np.log10)
    near = np.log10(gaps[max(0, first - 1) : last + 1])
    widest = int(np.argmax(np.diff(near)))
    return float(10 ** (0.5 * (near[widest] + near[widest + 1])))
