"""Fit fractional Gaussian noise to the rate of a stream's phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.processes.hurst import estimate_hurst, placement_noise
from trafficgen.calibration.processes.long_range import judge_long_range
from trafficgen.calibration.processes.phase_packets import FittedProcess, LawFitter, PhasePackets
from trafficgen.flows import rate_series
from trafficgen.models import Estimate, FractionalNoiseProcess
from trafficgen.units import FloatArray, IntArray, ns_from_s


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


_LIMITS = NoiseLimits()
#: The placement of packets is measured in this many bins at most.
_BINS_OF_NOISE = 1 << 18
_METHOD = "wavelets, fractional Gaussian noise beside the placement noise; profile likelihood"


def rate_and_noise(
    time_ns: IntArray, ip_bytes: IntArray, *, bin_s: float, start_ns: int
) -> tuple[FloatArray, float]:
    """Return the bytes of bins, and the variance that the placement of packets gives a bin.

    Args:
        time_ns: Times, ns, ascending, shape (n,).
        ip_bytes: IP total lengths, bytes, shape (n,).
        bin_s: Width of a bin, s.
        start_ns: Start of the first bin, ns.
    """
    bins = rate_series(time_ns, ip_bytes, bin_s=bin_s, start_ns=start_ns).size_bytes
    end = int(np.searchsorted(time_ns, start_ns + _BINS_OF_NOISE * ns_from_s(bin_s)))
    sizes = ip_bytes[:end]
    halves = rate_series(time_ns[:end], sizes, bin_s=bin_s / 2, start_ns=start_ns).size_bytes
    whole = max(1, min(bins.size, _BINS_OF_NOISE))
    return bins, placement_noise(sizes.astype(np.float64), halves, bins=whole)


def propose_fgn(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Fit fractional Gaussian noise where the byte rate of a phase has long memory, else None.

    :func:`~trafficgen.calibration.processes.long_range.judge_long_range` decides in bins of 0.1 s:
    wavelet and local Whittle estimates agree on it, and neither level shifts nor a period explain
    it.
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
        packet_bytes=fit.law("packet_bytes", packets.sizes, "bytes"),
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
