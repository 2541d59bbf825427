"""Facts beside a model: indices of dispersion, autocorrelations and the variance-time curve."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.processes.hurst import autocorrelation
from trafficgen.flows import gaps_s, rate_series
from trafficgen.models import DispersionOfIntervals, Facts, FactsAtScale
from trafficgen.units import FloatArray, IntArray, ns_from_s

#: Bins from 10 ms, each scale twice the one before.
_SHORTEST_BIN_S = 0.01
#: A variance needs this many bins, or sums of gaps.
_FEWEST_BINS, _FEWEST_SUMS = 8, 16
_MOST_SCALES, _MOST_GAPS = 16, 4096
#: Beyond this many of the shortest bins, the scales begin higher.
_MOST_BINS = 1 << 22
_RATE_BIN_S = 0.5
_LAGS = 20


def measured_facts(time_ns: IntArray, ip_bytes: IntArray, *, start_ns: int) -> Facts | None:
    """Return second-order facts of packets, or None where there are fewer than two times.

    The index of dispersion for counts is the variance over the mean of the packets in a bin; that
    for intervals is the variance of the sum of k successive gaps over k times the squared mean gap.
    Both are 1 for a Poisson process at all scales, and grow with the scale where there is
    dependence.

    Args:
        time_ns: Times of the packets, ns, ascending, shape (n,).
        ip_bytes: IP total lengths, bytes, shape (n,).
        start_ns: Start of the first bin, ns.

    Source: Gusella, "Characterizing the variability of arrival processes with indexes of
    dispersion", IEEE JSAC 9 (1991) 203; variance-time curve: Leland et al., IEEE/ACM Trans.
    Networking 2 (1994) 1.
    """
    if time_ns.size < 2 or time_ns[0] == time_ns[-1]:
        return None
    gap_s = gaps_s(time_ns)
    rate = rate_series(time_ns, ip_bytes, bin_s=_RATE_BIN_S, start_ns=start_ns).size_bytes
    return Facts(
        scales=_scales(time_ns, ip_bytes, start_ns),
        dispersion_of_intervals=_dispersion_of_intervals(gap_s),
        gap_autocorrelation=_short(autocorrelation(gap_s, lags=min(_LAGS, gap_s.size // 4))),
        rate_autocorrelation=_short(autocorrelation(rate, lags=min(_LAGS, rate.size // 4))),
    )


def _scales(time_ns: IntArray, ip_bytes: IntArray, start_ns: int) -> tuple[FactsAtScale, ...]:
    bin_ns, end_ns = ns_from_s(_SHORTEST_BIN_S), int(time_ns[-1])
    while (end_ns - start_ns) // bin_ns > _MOST_BINS:
        bin_ns *= 2
    row = (time_ns - start_ns) // bin_ns
    row -= min(0, int(row.min()))
    whole = int((end_ns - start_ns) // bin_ns)
    counts = np.asarray(np.bincount(row, minlength=whole)[:whole], dtype=np.float64)
    size = np.asarray(np.bincount(row, weights=ip_bytes, minlength=whole)[:whole], dtype=np.float64)
    facts: list[FactsAtScale] = []
    while counts.size >= _FEWEST_BINS and len(facts) < _MOST_SCALES:
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
    while sums_s.size >= _FEWEST_SUMS and gaps <= _MOST_GAPS:
        value = float(sums_s.var(ddof=1)) / (gaps * mean_s**2)
        facts.append(DispersionOfIntervals(gaps=gaps, value=_digits(value)))
        sums_s, gaps = _paired(sums_s), gaps * 2
    return tuple(facts)


def _short(values: list[float]) -> tuple[float, ...]:
    return tuple(round(value, 4) for value in values)


def _digits(value: float) -> float:
    return float(f"{value:.4g}")
