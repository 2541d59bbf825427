"""Fit fractional Gaussian noise to a rate with long memory.

A level shift, a trend or a period looks like long memory too. To decide, the local Whittle
estimator (Robinson, Annals of Statistics 23, 1995, 1630) with Qu's test (J. Business and Economic
Statistics 29, 2011, 423) is compared with the estimate by wavelets.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from trafficgen.critical_values import NORMAL_95
from trafficgen.distributions.fitting.empirical import find_root
from trafficgen.flows import rate_series
from trafficgen.model_parts.estimate import Estimate
from trafficgen.processes.fitting import FittedProcess, LawFitter, PhasePackets, Proposal
from trafficgen.processes.fractional_noise.hurst import Hurst, estimate_hurst
from trafficgen.processes.fractional_noise.model import FractionalNoiseProcess
from trafficgen.units import FloatArray, IntArray, ns_from_s

Verdict = Literal["long_memory", "level_shift", "periodic", "none", "undecided"]


@dataclass(frozen=True)
class NoiseLimits:
    """When the rate of a phase can be fractional noise."""

    #: Width of the bins, s. Fewer bins do not show long memory; more than ten days are a clock
    #: that jumped.
    bin_s: float = 0.1
    fewest_bins: int = 512
    most_bins: int = 8_640_000
    #: A bin has this many packets on average, and no more than this share of the bins is empty.
    fewest_packets: float = 2.0
    empty_share: float = 0.1
    #: Packets are placed evenly where gaps within bins have a smaller coefficient of variation.
    even_variation: float = 0.5
    largest_hurst: float = 0.999


@dataclass(frozen=True)
class LongRangeLimits:
    """When long memory is found, and what explains it away."""

    #: Fewer bins have too few frequencies; more are added up in pairs, for memory shows anywhere.
    fewest_bins: int = 128
    most_bins: int = 1 << 20
    #: The Whittle estimate uses this power of the number of bins as its number of frequencies.
    bandwidth_power: float = 0.65
    #: Qu's test leaves out this share of the frequencies; its 5% critical value for this share.
    trimmed: float = 0.05
    qu_critical: float = 1.155
    #: At most this many level shifts are removed: more would explain away long memory itself.
    most_shifts: int = 3
    #: A level has at least this share of the bins; a shift takes this share off the variance.
    shortest_level: float = 0.1
    explained: float = 0.4
    #: A frequency with this share of the variance, and this many times its neighbours, is a period.
    period_share: float = 0.2
    period_excess: float = 20.0
    neighbours: int = 16
    #: The Hurst parameter of independent values: an interval that holds it shows no memory.
    no_memory: float = 0.5


_LIMITS, _MEMORY = NoiseLimits(), LongRangeLimits()
_LOWEST_HURST, _HIGHEST_HURST = 0.01, 1.49
#: The placement of packets is measured in this many bins at most.
_BINS_OF_NOISE = 1 << 18
_METHOD = "wavelets, fractional Gaussian noise plus placement noise; profile likelihood"


def rate_and_noise(
    time_ns: IntArray, ip_bytes: IntArray, *, bin_s: float, start_ns: int
) -> tuple[FloatArray, float]:
    """Compute the bytes of bins, and the variance that the placement of packets gives a bin.

    The halves of a bin differ by it alone, as far as the rate does not change within a bin; packets
    at independent times (a Poisson process) have the sum of their squared sizes, which is the most
    that is taken. Times ascend, sizes are IP total lengths, both of shape (n,); bins begin at
    ``start_ns``.
    """
    bins = rate_series(time_ns, ip_bytes, bin_s=bin_s, start_ns=start_ns).size_bytes
    end = int(np.searchsorted(time_ns, start_ns + _BINS_OF_NOISE * ns_from_s(bin_s)))
    halves = rate_series(time_ns[:end], ip_bytes[:end], bin_s=bin_s / 2, start_ns=start_ns)
    half_bytes, sizes = halves.size_bytes, ip_bytes[:end].astype(np.float64)
    if half_bytes.size < 2:
        return bins, 0.0
    first, second = half_bytes[: half_bytes.size // 2 * 2].reshape(-1, 2).T
    whole = max(1, min(bins.size, _BINS_OF_NOISE))
    difference = float(np.mean((first - second) ** 2))
    return bins, min(difference, float(np.dot(sizes, sizes)) / whole)


def propose_fgn(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Fit fractional Gaussian noise where the byte rate of a phase has long memory, else None.

    :func:`judge_long_range` decides in bins of 0.1 s: wavelet and local Whittle estimates agree on
    it, and neither level shifts nor a period explain it.
    """
    start_ns, bin_s = packets.span_ns[0], _LIMITS.bin_s
    count = (int(packets.time_ns[-1]) - start_ns) // ns_from_s(bin_s)
    dense = packets.time_ns.size >= _LIMITS.fewest_packets * count
    if not dense or not _LIMITS.fewest_bins <= count <= _LIMITS.most_bins:
        return None
    bins, noise = rate_and_noise(packets.time_ns, packets.ip_bytes, bin_s=bin_s, start_ns=start_ns)
    bins = bins[:count]  # the last one is cut by the end of the phase
    if float(np.mean(bins == 0)) > _LIMITS.empty_share:
        return None
    if judge_long_range(bins, noise_variance=noise).verdict != "long_memory":
        return None
    hurst = estimate_hurst(bins, noise_variance=noise)
    if hurst is None:
        return None
    even = _variation_within(packets, start_ns) < _LIMITS.even_variation
    own = bins if even else _remove_noise(bins, noise)
    value, low = (min(end, _LIMITS.largest_hurst) for end in (hurst.value, hurst.low))
    process = FractionalNoiseProcess(
        bin_s=bin_s,
        hurst=Estimate(value=value, low=low, high=hurst.high, method=_METHOD),
        bin_bytes=fit.law("bin_bytes", np.rint(own), "bytes"),
        packet_bytes=fit.law("packet_bytes", packets.ip_bytes, "bytes"),
        placement="even" if even else "poisson",
    )
    return FittedProcess(process, fit.problems)


def _variation_within(packets: PhasePackets, start_ns: int) -> float:
    """Return the mean coefficient of variation of gaps in bins with three packets and more."""
    row = (packets.time_ns - start_ns) // ns_from_s(_LIMITS.bin_s)
    same = row[1:] == row[:-1]
    gap_s, number = packets.gap_s[same], row[:-1][same] - int(row.min())
    count = np.bincount(number)
    enough = count >= 2
    if not enough.any():
        return 1.0
    n = count[enough]
    mean = np.bincount(number, weights=gap_s)[enough] / n
    square = np.bincount(number, weights=gap_s**2)[enough] / n
    variance = np.maximum(square - mean**2, 0.0) * (n / (n - 1))
    return float(np.mean(np.sqrt(variance) / np.maximum(mean, 1e-12)))


def _remove_noise(bins: FloatArray, noise: float) -> FloatArray:
    """Draw the bytes of bins towards their mean, as far as the placement has spread them."""
    variance = float(bins.var())
    kept = np.sqrt(max(0.0, 1 - noise / variance)) if variance > 0 else 0.0
    return np.asarray(np.maximum(bins.mean() + kept * (bins - bins.mean()), 0.0))


@dataclass(frozen=True)
class LocalWhittle:
    """The local Whittle estimate of a series, with its 95% interval."""

    value: float  #: Hurst parameter; above 1 for series that are not stationary
    low: float
    high: float
    qu_statistic: float  #: Qu's; above 1.155, a shift or trend looks like long memory (5%)

    @property
    def looks_spurious(self) -> bool:
        """Whether a level shift or a smooth trend explains the series better, at the 5% level."""
        return self.qu_statistic > _MEMORY.qu_critical


def local_whittle(series: FloatArray) -> LocalWhittle | None:
    """Estimate the Hurst parameter from low frequencies; None for short or constant series.

    The series, shape (n,), has values in bins of equal width. The spectrum near frequency 0 is
    taken as G f**(1 - 2H); G is profiled out of the Whittle likelihood of the lowest m = n**0.65
    frequencies, and H maximises the rest, with standard error 1 / (2 sqrt(m)). Qu's statistic is
    the largest partial sum of the score: under long memory it behaves as a bridge, while a level
    shift or a trend puts its power into the very lowest frequencies.
    """
    count = series.size
    constant = 1e-12 * float(np.abs(series).max(initial=0.0))
    if count < _MEMORY.fewest_bins or float(np.std(series)) <= constant:
        return None
    m = min(int(count**_MEMORY.bandwidth_power), (count - 1) // 2)
    power = np.abs(np.fft.rfft(series - series.mean())[1 : m + 1]) ** 2
    log_frequency = np.log(2 * np.pi * np.arange(1, m + 1) / count)
    if float(power.sum()) == 0:
        return None
    power /= power.mean()
    mean_log = float(log_frequency.mean())

    def slope(hurst: float) -> float:
        weight = np.exp((2 * hurst - 1) * log_frequency) * power
        return float(np.dot(weight, log_frequency) / weight.sum()) - mean_log

    hurst = find_root(slope, _LOWEST_HURST, _HIGHEST_HURST)  # the likelihood is concave
    half = NORMAL_95 / (2 * np.sqrt(m))
    statistic = _qu_statistic(power, log_frequency, hurst)
    return LocalWhittle(hurst, hurst - half, hurst + half, statistic)


def _qu_statistic(power: FloatArray, log_frequency: FloatArray, hurst: float) -> float:
    """Return the largest partial sum of the score, from the trimmed share of frequencies on."""
    centred = np.log(np.arange(1, power.size + 1))
    centred = centred - centred.mean()
    flattened = np.exp((2 * hurst - 1) * log_frequency) * power
    partial = np.cumsum(centred * (flattened / flattened.mean() - 1))
    kept = partial[max(0, int(_MEMORY.trimmed * power.size) - 1) :]
    return float(np.max(np.abs(kept)) / float(np.sqrt(np.dot(centred, centred))))


@dataclass(frozen=True)
class LongRange:
    """What the memory of a rate is, and how that was decided."""

    #: long_memory: both estimators find it, and it stays when level shifts are removed;
    #: level_shift: it goes with them; periodic: one frequency has the variance; none: an
    #: estimator's interval holds 0.5; undecided: estimators disagree, or there are too few bins.
    verdict: Verdict
    whittle: LocalWhittle | None
    #: Wavelet estimate when the means of the levels are removed.
    without_shifts: Hurst | None
    #: Level shifts found.
    shifts: int
    method: str = (
        "wavelet and local Whittle estimates (m = n**0.65); Qu's test; both again without the means"
        " of at most three levels (binary segmentation, each a tenth of the series or more); share"
        " of the strongest frequency"
    )

    def to_json(self) -> dict[str, object]:
        """Return the parts as JSON-compatible values."""
        whittle, rest = self.whittle, self.without_shifts
        return {
            "verdict": self.verdict,
            "whittle": whittle.value if whittle else None,
            "whittle_low": whittle.low if whittle else None,
            "whittle_high": whittle.high if whittle else None,
            "qu_statistic": whittle.qu_statistic if whittle else None,
            "level_shifts": self.shifts,
            "hurst_without_shifts": rest.value if rest else None,
            "hurst_without_shifts_low": rest.low if rest else None,
            "hurst_without_shifts_high": rest.high if rest else None,
            "method": self.method,
        }


def judge_long_range(series: FloatArray, *, noise_variance: float | None = None) -> LongRange:
    """Decide whether a series has long memory.

    It has bytes in bins of equal width, shape (n,). ``noise_variance`` is what the placement of
    packets alone gives a bin, if it is known.
    """
    while series.size > _MEMORY.most_bins:
        series = series[: series.size // 2 * 2].reshape(-1, 2).sum(axis=1)
        noise_variance = None if noise_variance is None else 2 * noise_variance
    whittle, wavelet = local_whittle(series), estimate_hurst(series, noise_variance=noise_variance)
    levels = _number_levels(series)
    shifts = int(levels.max(initial=0))
    rest, calm = series, wavelet
    if shifts:
        rest = series - (np.bincount(levels, weights=series) / np.bincount(levels))[levels]
        calm = estimate_hurst(rest, noise_variance=noise_variance)
    verdict: Verdict
    if whittle is None:
        verdict = "undecided"
    elif _has_strict_period(series):
        verdict = "periodic"
    elif _is_short(whittle) or (wavelet is not None and _is_short(wavelet)):
        shifted = shifts and (whittle.looks_spurious or not _is_short(whittle))
        verdict = "level_shift" if shifted else "none"
    elif shifts and (_is_short(calm) or _is_short(local_whittle(rest))):
        verdict = "level_shift"
    elif wavelet is None or whittle.low > 1:
        verdict = "level_shift" if shifts else "undecided"
    else:
        agree = whittle.low <= wavelet.high and wavelet.low <= whittle.high
        verdict = "long_memory" if agree and not whittle.looks_spurious else "undecided"
    return LongRange(verdict, whittle, calm, shifts)


def _is_short(estimate: LocalWhittle | Hurst | None) -> bool:
    return estimate is None or estimate.low <= _MEMORY.no_memory


def _number_levels(series: FloatArray) -> IntArray:
    """Number the levels of a series from 0, shape (n,).

    Binary segmentation: the split that takes most off the variance within levels, again and again,
    as long as each of the splits takes the greater part of what a step of that size would.
    """
    count = series.size
    shortest = max(8, int(_MEMORY.shortest_level * count))
    bounds = [0, count]
    for _ in range(_MEMORY.most_shifts):
        splits = [_best_split(series[low:high], shortest) for low, high in pairwise(bounds)]
        best = int(np.argmax([gain for gain, _ in splits]))
        if splits[best][0] < _MEMORY.explained:
            break
        bounds = sorted([*bounds, bounds[best] + splits[best][1]])
    levels = np.zeros(count, dtype=np.int64)
    for bound in bounds[1:-1]:
        levels[bound:] += 1
    return levels


def _best_split(series: FloatArray, shortest: int) -> tuple[float, int]:
    """Return the largest share of the variance that one split explains, and where it is."""
    count = series.size
    if count < 2 * shortest:
        return 0.0, 0
    centred = series - series.mean()
    total = float(np.sum(centred**2))
    if total == 0:
        return 0.0, 0
    left = np.arange(shortest, count - shortest + 1)
    gain = np.cumsum(centred)[left - 1] ** 2 * (1 / left + 1 / (count - left))
    best = int(gain.argmax())
    return float(gain[best]) / total, int(left[best])


def _has_strict_period(series: FloatArray) -> bool:
    """Return whether one frequency has much of the variance, far beyond those around it."""
    near = _MEMORY.neighbours
    if series.size // 2 + 1 <= 2 * near:
        return False
    power = np.abs(np.fft.rfft(series - series.mean())) ** 2
    total = float(power.sum())
    if total == 0:
        return False
    row = int(power[near:].argmax()) + near
    peak = float(power[row - 1 : row + 2].sum())
    around = np.concatenate((power[row - near : row - 1], power[row + 2 : row + near]))
    usual = float(np.median(around))
    return peak > _MEMORY.period_share * total and peak > _MEMORY.period_excess * usual


#: What `fit` tries.
PROPOSALS = (Proposal("fgn", 3, propose_fgn, varies=True, follows_levels=True),)
