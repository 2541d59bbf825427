"""Fit fractional Gaussian noise to the rate of a stream's phase."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.processes.hurst import estimate_hurst, placement_noise
from trafficgen.calibration.processes.long_range import judge_long_range
from trafficgen.calibration.processes.phase_packets import FittedProcess, LawFitter, PhasePackets
from trafficgen.flows import rate_series
from trafficgen.models import Estimate, FractionalNoiseProcess
from trafficgen.units import FloatArray, IntArray, ns_from_s

_BIN_S = 0.1
#: Fewer bins do not tell long memory; more than ten days are a clock that jumped.
_FEWEST_BINS, _MOST_BINS = 512, 8_640_000
#: A bin has this many packets on average at least, and no more than this share of the bins is
#: empty.
_FEWEST_PACKETS, _EMPTY_SHARE = 2.0, 0.1
#: Where the coefficient of variation of the gaps within bins is below this, packets are placed
#: evenly.
_EVEN_VARIATION = 0.5
_LARGEST_HURST = 0.999
#: The placement of packets is measured in this many bins at most.
_BINS_OF_NOISE = 1 << 18


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
    seen = slice(0, int(np.searchsorted(time_ns, start_ns + _BINS_OF_NOISE * ns_from_s(bin_s))))
    halves = rate_series(
        time_ns[seen], ip_bytes[seen], bin_s=bin_s / 2, start_ns=start_ns
    ).size_bytes
    whole = max(1, min(bins.size, _BINS_OF_NOISE))
    return bins, placement_noise(ip_bytes[seen].astype(np.float64), halves, bins=whole)


def propose_fgn(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Fit fractional Gaussian noise where the byte rate of a phase has long memory, else None.

    :func:`~trafficgen.calibration.processes.long_range.judge_long_range` decides in bins of 0.1 s:
    wavelet and local Whittle estimates agree on it, and neither level shifts nor a period explain
    it.

    Args:
        packets: The stream's media packets in the phase.
        fit: Fits the laws.
    """
    start_ns = packets.span_ns[0]
    count = (int(packets.time_ns[-1]) - start_ns) // ns_from_s(_BIN_S)
    if not _FEWEST_BINS <= count <= _MOST_BINS or packets.time_ns.size < _FEWEST_PACKETS * count:
        return None
    bins, noise = rate_and_noise(packets.time_ns, packets.ip_bytes, bin_s=_BIN_S, start_ns=start_ns)
    bins = bins[:count]  # the last one is cut by the end of the phase
    if float(np.mean(bins == 0)) > _EMPTY_SHARE:
        return None
    if judge_long_range(bins, noise_variance=noise).verdict != "long_memory":
        return None
    hurst = estimate_hurst(bins, noise_variance=noise)
    if hurst is None:
        return None
    even = _variation_within(packets, start_ns) < _EVEN_VARIATION
    rate = bins if even else _without_noise(bins, noise)
    process = FractionalNoiseProcess(
        bin_s=_BIN_S,
        hurst=Estimate(
            value=min(hurst.value, _LARGEST_HURST),
            low=min(hurst.low, _LARGEST_HURST),
            high=hurst.high,
            method=(
                "wavelets, fractional Gaussian noise beside the placement noise; profile likelihood"
            ),
        ),
        bin_bytes=fit.law("bin_bytes", np.rint(rate), "bytes"),
        packet_bytes=fit.law("packet_bytes", packets.ip_bytes.astype(np.float64), "bytes"),
        placement="even" if even else "poisson",
    )
    return FittedProcess(process, fit.problems)


def _variation_within(packets: PhasePackets, start_ns: int) -> float:
    """Return the mean coefficient of variation of gaps in bins with three packets and more."""
    row = (packets.time_ns - start_ns) // ns_from_s(_BIN_S)
    same = row[1:] == row[:-1]
    gap_s, number = packets.gap_s[same], row[:-1][same] - int(row.min())
    count = np.bincount(number)
    enough = count >= 2
    mean = np.bincount(number, weights=gap_s)[enough] / count[enough]
    square = np.bincount(number, weights=gap_s**2)[enough] / count[enough]
    variance = np.maximum(square - mean**2, 0.0) * (count[enough] / (count[enough] - 1))
    return float(np.mean(np.sqrt(variance) / np.maximum(mean, 1e-12))) if enough.any() else 1.0


def _without_noise(bins: FloatArray, noise: float) -> FloatArray:
    """Draw the bytes of bins towards their mean, as far as the placement has spread them."""
    variance = float(bins.var())
    kept = np.sqrt(max(0.0, 1 - noise / variance)) if variance > 0 else 0.0
    return np.asarray(np.maximum(bins.mean() + kept * (bins - bins.mean()), 0.0))
