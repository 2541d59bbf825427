"""Test whether a fall of the rate is more than the rate's own wandering, as a start-up burst is."""

from __future__ import annotations

import numpy as np
from scipy import special

from trafficgen.units import FloatArray

#: Scales with fewer degrees of freedom say nothing of the variance.
_FEWEST_DEGREES = 3
#: Empty blocks get this share of the mean rate, so that they have a logarithm.
_EMPTY_SHARE = 0.05
#: Variance of log-rates below which rates count as equal (relative differences of 1%).
_SMALLEST_VARIANCE = 1e-4


def rate_drop_p_value(duration_s: FloatArray, size_bytes: FloatArray, change: int) -> float:
    """Compute the probability of a fall like this one where the rate only wanders, one-sided.

    The log-rates before and after a change are compared. How far a mean over a time t wanders is
    learnt from blocks of the two parts: the variance of log-rates of blocks of length s falls as
    s ** (2 H - 2) (variance-time plot, Leland et al. 1994), with H from 1/2 where nothing is
    remembered to 1 where levels last; line and uncertainty of its slope are fitted by weighted
    least squares and carried to the lengths of the two parts. The difference is judged by Student's
    law, its degrees of freedom those of the largest scale that has three. Level switching, rates
    with long memory and heavy-tailed gaps wander on all scales, and so need a larger fall than
    independent gaps.

    Args:
        duration_s: Length of each cycle, s, shape (c,).
        size_bytes: Bytes of each cycle, shape (c,).
        change: Number of cycles before the fall, from 1 to c - 1.
    """
    edges_s = np.concatenate(([0.0], np.cumsum(duration_s)))
    total = np.concatenate(([0.0], np.cumsum(size_bytes)))
    before_s, after_s = float(edges_s[change]), float(edges_s[-1] - edges_s[change])
    before, after = float(total[change]) / before_s, float(total[-1] - total[change]) / after_s
    if after <= 0:
        return 0.0 if before > 0 else 1.0
    # Below the mean length of a cycle, as time sees it, a rate is that of a part of a cycle.
    shortest_s = float(np.average(duration_s, weights=duration_s))
    scale_s, variance, degrees = _variance_time(edges_s, total, change, shortest_s=shortest_s)
    if scale_s.size == 0:
        return 1.0
    intercept, slope = _fit_line(scale_s, variance, degrees)
    wander = [np.exp(intercept + slope * np.log(length_s)) for length_s in (before_s, after_s)]
    statistic = np.log(before / after) / np.sqrt(max(_SMALLEST_VARIANCE, float(sum(wander))))
    return float(special.stdtr(degrees[-1], -statistic))


def size_drop_p_value(size_bytes: FloatArray) -> float:
    """Compute the probability that the first of log-normal sizes is so much larger than the rest.

    One-sided; the prediction interval of a normal law (Student's with n - 2 degrees of freedom for
    n sizes). It serves the ON periods of ON/OFF streams with few of them, of which the first fills
    the player's buffer.
    """
    rest = np.log(np.maximum(size_bytes[1:], 1.0))
    if rest.size < _FEWEST_DEGREES + 1:
        return 1.0
    spread = max(float(np.sqrt(_SMALLEST_VARIANCE)), float(rest.std(ddof=1)))
    excess = np.log(max(1.0, float(size_bytes[0]))) - rest.mean()
    return float(special.stdtr(rest.size - 1, -excess / (spread * np.sqrt(1 + 1 / rest.size))))


def _variance_time(
    edges_s: FloatArray, total: FloatArray, change: int, *, shortest_s: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return scales, s, variance of log-rates about their part's mean, and degrees of freedom."""
    rows = []
    scale_s = shortest_s
    spans = [(0.0, float(edges_s[change])), (float(edges_s[change]), float(edges_s[-1]))]
    while True:
        squares, degrees = 0.0, 0
        for start_s, end_s in spans:
            blocks = int((end_s - start_s) / scale_s * (1 + 1e-9))
            if blocks < 2:
                continue
            at_s = start_s + scale_s * np.arange(blocks + 1)
            rate = np.diff(np.interp(at_s, edges_s, total)) / scale_s
            log_rate = np.log(rate + _EMPTY_SHARE * rate.mean())
            squares += float(((log_rate - log_rate.mean()) ** 2).sum())
            degrees += blocks - 1
        if degrees < _FEWEST_DEGREES:
            break
        rows.append((scale_s, max(_SMALLEST_VARIANCE / 10, squares / degrees), degrees))
        scale_s *= 2
    columns = np.asarray(rows, dtype=np.float64).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]


def _fit_line(
    scale_s: FloatArray, variance: FloatArray, degrees: FloatArray
) -> tuple[float, float]:
    """Return intercept and slope of log-variance on log-scale through the weighted mean.

    The slope is taken one standard error up and within [-1, 0]; of one scale alone it is -1/2.
    """
    weight = degrees / degrees.sum()
    log_scale, log_variance = np.log(scale_s), np.log(variance)
    centre, level = float(weight @ log_scale), float(weight @ log_variance)
    spread = float(weight @ (log_scale - centre) ** 2)
    if spread <= 0:
        return level + 0.5 * centre, -0.5
    slope = float(weight @ ((log_scale - centre) * (log_variance - level))) / spread
    slope += float(np.sqrt(2 / (degrees.sum() * spread)))
    slope = min(0.0, max(-1.0, slope))
    return level - slope * centre, slope
