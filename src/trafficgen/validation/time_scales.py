"""How the rate moves over time: autocorrelation, and variance against the time scale."""

from __future__ import annotations

import math

import numpy as np

from trafficgen.critical_values import NORMAL_95
from trafficgen.flows import rate_series
from trafficgen.processes.autocorrelated_series import sample_autocorrelation
from trafficgen.units import FloatArray, IntArray, s_from_ns

#: Bins of the variance-time curve are this times powers of two, s.
_SHORTEST_BIN_S = 0.1
#: The longest bins fit this often into the shorter side.
_FEWEST_BINS = 10
#: Two days of the shortest bins and more: a clock that jumps by years must not fill the memory with
#: empty bins, each of which is compared a dozen times.
MOST_BINS = 2_000_000
#: Normal quantile of the largest of 20 two-sided deviations (Bonferroni).
_NORMAL_LARGEST_OF_20 = 3.02


def autocorrelation(rates: FloatArray, *, lags: int) -> FloatArray:
    """Compute the sample autocorrelation at lags 1 to ``lags``, shape (lags,).

    A constant series gives 0; one that is not longer than ``lags`` gives NaN.
    """
    if rates.size <= lags:
        return np.full(lags, math.nan)
    return sample_autocorrelation(rates, lags)


def autocorrelation_noise(n: int, m: int) -> float:
    """Approximate the largest difference at 20 lags that independent rates exceed once in 20."""
    return _NORMAL_LARGEST_OF_20 * math.sqrt(1 / n + 1 / m) if n and m else math.nan


def variance_time_bins_s(*, reference_s: float, candidate_s: float) -> list[float]:
    """Choose the variance-time bins, s: 0.1 s times powers of 2, to a tenth of the shorter side."""
    longest_s = min(reference_s, candidate_s) / _FEWEST_BINS
    if longest_s < _SHORTEST_BIN_S:
        return []
    count = math.floor(math.log2(longest_s / _SHORTEST_BIN_S)) + 1
    return [_SHORTEST_BIN_S * 2**k for k in range(count)]


def rate_variances(time_ns: IntArray, ip_bytes: IntArray, *, bins_s: list[float]) -> FloatArray:
    """Compute the variance of the rate, (bit/s)**2, by scale, shape (k,); NaN without a bin."""
    if bins_s and span_s(time_ns) > MOST_BINS * bins_s[0]:
        return np.full(len(bins_s), math.nan)
    rates_bps = [rate_series(time_ns, ip_bytes, bin_s=bin_s).rate_bps for bin_s in bins_s]
    return np.array([np.var(rate_bps) if rate_bps.size else math.nan for rate_bps in rates_bps])


def largest_log10_ratio(reference: FloatArray, candidate: FloatArray) -> float:
    """Compute the largest absolute log10 of the ratio of two variance-time curves.

    Infinite where one of the two does not vary at some scale, NaN without a scale.

    Args:
        reference: Variances, shape (k,).
        candidate: Variances at the same scales, shape (k,).
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
