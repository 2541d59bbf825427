"""Distances of two samples or rates over time, and how large they get by chance alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen.critical_values import KOLMOGOROV_95, NORMAL_95
from trafficgen.flows import rate_series
from trafficgen.processes.autocorrelated_series import dot_product, sample_autocorrelation
from trafficgen.units import FloatArray, IntArray, s_from_ns

#: Mean of the integral of a Brownian bridge's absolute value is sqrt(pi / 32); its 95% point is
#: 1.85 times that (Johnson and Killeen, "An explicit formula for the c.d.f. of the L1 norm of the
#: Brownian bridge", 1983).
_BRIDGE_95_OVER_MEAN = 1.85
#: Bins of the variance-time curve are this times powers of two, s.
_SHORTEST_BIN_S = 0.1
#: The longest bins fit this often into the shorter side.
_FEWEST_BINS = 10
#: Two days of the shortest bins and more: a clock that jumps by years must not fill the memory with
#: empty bins, each of which is compared a dozen times.
MOST_BINS = 2_000_000
#: Values of two samples that are compared at once: of millions, what is between would take as much
#: memory as the samples do.
_BLOCK = 1 << 18
#: Normal quantile of the largest of 20 two-sided deviations (Bonferroni).
_NORMAL_LARGEST_OF_20 = 3.02


@dataclass(frozen=True)
class Distances:
    """How far two samples are apart; NaN where it is undefined.

    Attributes:
        ks: Two-sample Kolmogorov-Smirnov distance, NaN where a sample is empty.
        wasserstein: Wasserstein-1 distance over the reference's standard deviation, NaN where that
            is 0.
    """

    ks: float
    wasserstein: float


def sample_distances(reference: FloatArray, candidate: FloatArray) -> Distances:
    """Compute the distances of two samples in one pass, several times faster than scipy's two.

    Samples ascend, shapes (n,) and (m,).
    """
    if reference.size == 0 or candidate.size == 0:
        return Distances(math.nan, math.nan)
    values = np.concatenate((reference, candidate))
    values.sort(kind="stable")  # merges two ascending runs in linear time
    largest, area = 0.0, 0.0
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK + 1]  # with the first one of the next
        difference = np.searchsorted(reference, block, side="right") / reference.size
        difference -= np.searchsorted(candidate, block, side="right") / candidate.size
        np.abs(difference, out=difference)
        largest = max(largest, float(difference.max()))
        area += dot_product(difference[:-1], np.diff(block))
    deviation = _deviation(reference)
    return Distances(largest, area / deviation if deviation > 0 else math.nan)


def ks_noise(n: int, m: int) -> float:
    """Compute the KS distance that two samples of one law exceed once in 20; NaN if one is empty.

    It is 1.36 sqrt(1/n + 1/m), exact for large samples of a continuous law and too large for one
    with atoms.
    """
    return KOLMOGOROV_95 * _root_of_inverse_sizes(n, m)


def are_too_few(n: int, m: int) -> bool:
    """Return whether no KS distance of samples of these sizes can exceed chance.

    The largest distance, 1, exceeds chance (:func:`ks_noise`) from 4 values on both sides on, or 3
    on one and 5 on the other, or 2 and 25; with one value never.
    """
    return not ks_noise(n, m) < 1.0


def wasserstein_noise(reference: FloatArray, candidate_size: int) -> float:
    """Approximate the Wasserstein distance that two samples of one law exceed once in 20.

    The mean distance of two samples of a law F is sqrt(2 / pi) sqrt(1/n + 1/m) times the integral
    of sqrt(F (1 - F)) (del Barrio, Gine and Matran, "Central limit theorems for the Wasserstein
    distance", 1999); the 95% point is taken as 1.85 times the mean, which is exact for the uniform
    law. The reference ascends; m is ``candidate_size``.
    """
    deviation = _deviation(reference)
    if not deviation > 0:
        return math.nan
    n = reference.size
    below = np.arange(1, n) / n
    integral = float(np.sum(np.sqrt(below * (1 - below)) * np.diff(reference)))
    mean = math.sqrt(2 / math.pi) * _root_of_inverse_sizes(n, candidate_size) * integral
    return _BRIDGE_95_OVER_MEAN * mean / deviation


def _deviation(sample: FloatArray) -> float:
    """Return the standard deviation of an ascending sample, 0 for a constant one, NaN if empty."""
    if sample.size == 0:
        return math.nan
    if sample[0] == sample[-1]:
        return 0.0  # the mean of equal numbers may be off by a rounding
    return float(np.std(sample))


def _root_of_inverse_sizes(n: int, m: int) -> float:
    return math.sqrt(1 / n + 1 / m) if n and m else math.nan


def autocorrelation(rates: FloatArray, *, lags: int) -> FloatArray:
    """Compute the sample autocorrelation at lags 1 to ``lags``, shape (lags,).

    A constant series gives 0; one that is not longer than ``lags`` gives NaN.
    """
    if rates.size <= lags:
        return np.full(lags, math.nan)
    return sample_autocorrelation(rates, lags)


def autocorrelation_noise(n: int, m: int) -> float:
    """Approximate the largest difference at 20 lags that independent rates exceed once in 20."""
    return _NORMAL_LARGEST_OF_20 * _root_of_inverse_sizes(n, m)


def variance_time_bins_s(*, reference_s: float, candidate_s: float) -> list[float]:
    """Choose the variance-time bins, s: 0.1 s times powers of 2, to a tenth of the shorter side."""
    longest_s = min(reference_s, candidate_s) / _FEWEST_BINS
    if longest_s < _SHORTEST_BIN_S:
        return []
    count = math.floor(math.log2(longest_s / _SHORTEST_BIN_S)) + 1
    return [_SHORTEST_BIN_S * 2**k for k in range(count)]


def rate_variances(time_ns: IntArray, ip_bytes: IntArray, *, bins_s: list[float]) -> FloatArray:
    """Compute the variance of the rate, (bit/s)**2, by scale, shape (k,); NaN without a bin.

    Scales are whole multiples of the first.
    """
    if not bins_s or span_s(time_ns) > MOST_BINS * bins_s[0]:
        return np.full(len(bins_s), math.nan)
    # Packets are counted once: whole bytes add up to the same in longer bins.
    finest = rate_series(time_ns, ip_bytes, bin_s=bins_s[0])
    rates_bps = [finest.join_bins(round(bin_s / bins_s[0])).rate_bps for bin_s in bins_s]
    return np.array([np.var(rate_bps) if rate_bps.size else math.nan for rate_bps in rates_bps])


def largest_log10_ratio(reference: FloatArray, candidate: FloatArray) -> float:
    """Compute the largest absolute log10 of the ratio of two variance-time curves.

    Infinite where one of the two does not vary at some scale, NaN without a scale. Variances are at
    the same scales, shape (k,).
    """
    if reference.size == 0:
        return math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.abs(np.log10(candidate / reference))
    return float(np.max(np.where(reference == candidate, 0.0, ratios)))


def variance_time_noise(*, reference_s: float, candidate_s: float) -> float:
    """Approximate the log10 ratio that independent rates exceed once in 20 at the longest bins.

    The logarithm of a variance of k rates has the variance 2 / (k - 1).
    """
    bins_s = variance_time_bins_s(reference_s=reference_s, candidate_s=candidate_s)
    if not bins_s:
        return math.nan
    spread = sum(2 / (math.floor(side_s / bins_s[-1]) - 1) for side_s in (reference_s, candidate_s))
    return NORMAL_95 * math.sqrt(spread) / math.log(10)


def span_s(time_ns: IntArray) -> float:
    """Return the time from the first to the last packet, s; 0 without packets."""
    return s_from_ns(int(time_ns[-1] - time_ns[0])) if time_ns.size else 0.0
