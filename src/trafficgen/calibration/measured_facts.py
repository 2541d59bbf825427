"""Second-order facts of packets: dispersion, autocorrelations and the variance-time curve."""

from __future__ import annotations

import numpy as np

from trafficgen.flows import gaps_s, rate_series
from trafficgen.models import DispersionOfIntervals, Facts, FactsAtScale
from trafficgen.processes.fractional_noise.hurst import autocorrelation
from trafficgen.units import FloatArray, IntArray, ns_from_s


class FactLimits:
    """Scales and lags of the facts."""

    #: Shortest bins, s; each scale has twice the one before.
    shortest_bin_s: float = 0.01
    #: With more of the shortest bins, the scales begin higher: memory is bounded.
    most_bins: int = 1 << 22
    #: A variance of counts needs this many bins,
    fewest_bins: int = 8
    #: one of intervals this many sums of gaps.
    fewest_sums: int = 16
    #: More scales, and sums of more gaps, than these are not kept in a model.
    most_scales: int = 16
    most_gaps: int = 4096
    #: Bins of the rate's autocorrelation, s, and lags of both autocorrelations.
    rate_bin_s: float = 0.5
    lags: int = 20


_LIMITS = FactLimits()


def measure_facts(time_ns: IntArray, ip_bytes: IntArray, *, start_ns: int) -> Facts | None:
    """Measure second-order facts of packets; None for fewer than two times.

    The index of dispersion for counts is the variance over the mean of the packets in a bin; that
    for intervals is the variance of the sum of k successive gaps over k times the squared mean gap.
    Both are 1 for a Poisson process at all scales; dependence makes them grow with the scale. Times
    ascend, ``ip_bytes`` are total lengths, both of shape (n,); the first bin begins at
    ``start_ns``.

    Source: Gusella, "Characterizing the variability of arrival processes with indexes of
    dispersion", IEEE JSAC 9 (1991) 203; variance-time curve: Leland et al., IEEE/ACM Trans.
    Networking 2 (1994) 1.
    """
    if time_ns.size < 2 or time_ns[0] == time_ns[-1]:
        return None
    gap_s = gaps_s(time_ns)
    rate = rate_series(time_ns, ip_bytes, bin_s=_LIMITS.rate_bin_s, start_ns=start_ns).size_bytes
    return Facts(
        scales=_scales(time_ns, ip_bytes, start_ns),
        dispersion_of_intervals=_dispersion_of_intervals(gap_s),
        gap_autocorrelation=_short(autocorrelation(gap_s, lags=min(_LIMITS.lags, gap_s.size // 4))),
        rate_autocorrelation=_short(autocorrelation(rate, lags=min(_LIMITS.lags, rate.size // 4))),
    )


def _scales(time_ns: IntArray, ip_bytes: IntArray, start_ns: int) -> tuple[FactsAtScale, ...]:
    bin_ns, end_ns = ns_from_s(_LIMITS.shortest_bin_s), int(time_ns[-1])
    while (end_ns - start_ns) // bin_ns > _LIMITS.most_bins:
        bin_ns *= 2
    row = (time_ns - start_ns) // bin_ns
    row -= min(0, int(row.min()))
    whole = int((end_ns - start_ns) // bin_ns)
    counts = np.asarray(np.bincount(row, minlength=whole)[:whole], dtype=np.float64)
    size = np.asarray(np.bincount(row, weights=ip_bytes, minlength=whole)[:whole], dtype=np.float64)
    facts: list[FactsAtScale] = []
    while counts.size >= _LIMITS.fewest_bins and len(facts) < _LIMITS.most_scales:
        mean, mean_bytes = float(counts.mean()), float(size.mean())
        if mean > 0 and mean_bytes > 0:
            facts.append(
                FactsAtScale(
                    bin_s=bin_ns / ns_from_s(1),
                    dispersion_of_counts=_digits(float(counts.var(ddof=1)) / mean),
                    relative_variance=_digits(float(size.var(ddof=1)) / mean_bytes**2),
                )
            )
        counts, size, bin_ns = _paired(counts), _paired(size), bin_ns * 2
    return tuple(facts)


def _paired(series: FloatArray) -> FloatArray:
    return np.asarray(series[: series.size // 2 * 2].reshape(-1, 2).sum(axis=1))


def _dispersion_of_intervals(gap_s: FloatArray) -> tuple[DispersionOfIntervals, ...]:
    facts: list[DispersionOfIntervals] = []
    mean_s, sums_s, gaps = float(gap_s.mean()), gap_s, 1
    while sums_s.size >= _LIMITS.fewest_sums and gaps <= _LIMITS.most_gaps:
        value = float(sums_s.var(ddof=1)) / (gaps * mean_s**2)
        facts.append(DispersionOfIntervals(gaps=gaps, value=_digits(value)))
        sums_s, gaps = _paired(sums_s), gaps * 2
    return tuple(facts)


def _short(values: list[float]) -> tuple[float, ...]:
    return tuple(round(value, 4) for value in values)


def _digits(value: float) -> float:
    return float(f"{value:.4g}")
