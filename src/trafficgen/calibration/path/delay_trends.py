"""Trends of one-way delays: PCT and PDT tests on three scales (findings LJM-D1 to LJM-D3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.units import FloatArray, IntArray

#: Windows of the three scales, packets (LJM-D3).
SCALES_PACKETS = (32, 64, 128)
#: Thresholds L and U of both tests (LJM-D2).
LOW, HIGH = 0.25, 0.5
#: Not in the paper: groups of a window, and the change of delay that still counts as none, s.
GROUPS = 8
EPSILON_S = 0.001
_MOST_WINDOWS = 20_000

INCREASING, STEADY, DECREASING = 1.0, 0.0, -1.0
#: Ambiguous, leaning up or down.
LEANING = 0.5


@dataclass(frozen=True)
class DelayTrends:
    """Trends of a series of one-way delays.

    Attributes:
        last_packet: Index of the last packet of each position's windows, shape (k,).
        trend: 1 increasing, -1 decreasing, 0 steady, +-0.5 ambiguous with its leaning, shape (k,).
        pct: Extended pairwise comparison test of each scale, shape (scales, k).
        pdt: Pairwise difference test of each scale, shape (scales, k).
    """

    last_packet: IntArray
    trend: FloatArray
    pct: FloatArray
    pdt: FloatArray


def find_delay_trends(
    delay_s: FloatArray,
    *,
    groups: int = GROUPS,
    epsilon_s: float = EPSILON_S,
    step_packets: int = 1,
    scales_packets: tuple[int, ...] = SCALES_PACKETS,
) -> DelayTrends:
    """Find the trends of one-way delays in windows that slide over them.

    In each window the delays are split into groups, each replaced by its median D_k (LJM-D1). The
    extended pairwise comparison test is the mean of the signs of D_k - D_(k-1), those within
    epsilon counting 0; the pairwise difference test is D_G - D_1 over the sum of absolute steps.
    Windows of all scales end at the same packet.

    Args:
        delay_s: One-way delays in the order of sending, s, shape (n,); a constant offset does not
            matter.
        groups: Groups G of a window, 2 up to the smallest window. Not in the paper.
        epsilon_s: Steps of up to this count as 0, s, >= 0. Not in the paper.
        step_packets: Packets from one position to the next, >= 1; more for over 20,000 positions.
        scales_packets: Windows, packets.

    Returns:
        Trends; no position if there are fewer delays than the largest window has.

    Raises:
        ValueError: If a parameter is out of its range.
    """
    if not 2 <= groups <= min(scales_packets) or epsilon_s < 0 or step_packets < 1:
        raise ValueError(
            f"groups {groups}, epsilon_s {epsilon_s} or step_packets {step_packets} is out of range"
        )
    longest = max(scales_packets)
    step = max(step_packets, -(-delay_s.size // _MOST_WINDOWS))
    last = np.arange(longest - 1, delay_s.size, step)
    pct, pdt = np.zeros((2, len(scales_packets), last.size))
    for scale, window in enumerate(scales_packets):
        medians = _group_medians(delay_s, last, window=window, groups=groups)
        steps = np.diff(medians, axis=1)
        pct[scale] = np.mean(np.sign(steps) * (np.abs(steps) > epsilon_s), axis=1)
        total = np.abs(steps).sum(axis=1)
        pdt[scale] = np.divide(
            medians[:, -1] - medians[:, 0], total, out=np.zeros(last.size), where=total > 0
        )
    return DelayTrends(
        last, combine_scales(classify(pct, pdt), leaning=(pct + pdt).sum(axis=0)), pct, pdt
    )


def classify(pct: FloatArray, pdt: FloatArray) -> FloatArray:
    """Combine the two tests (LJM-D2): 1, -1, 0, or NaN if they are ambiguous; any shape."""
    rising = ((pct > HIGH) & (pdt > LOW)) | ((pdt > HIGH) & (pct > LOW))
    falling = ((pct < -HIGH) & (pdt < -LOW)) | ((pdt < -HIGH) & (pct < -LOW))
    steady = (np.abs(pct) < LOW) & (np.abs(pdt) < LOW)
    return np.select([rising, falling, steady], [INCREASING, DECREASING, STEADY], np.nan)


def combine_scales(trends: FloatArray, *, leaning: FloatArray) -> FloatArray:
    """Combine the scales (LJM-D3).

    Increasing if any scale is and none decreases, decreasing likewise, steady if neither and at
    least two scales are steady, else ambiguous.

    Args:
        trends: Trend of each scale, as :func:`classify` returns it, shape (scales, k).
        leaning: Sign of ambiguous trends, shape (k,); 0 leans up.

    Returns:
        1, -1, 0 or +-0.5, shape (k,).
    """
    rises, falls = (trends == INCREASING).any(axis=0), (trends == DECREASING).any(axis=0)
    steady = ~rises & ~falls & (np.count_nonzero(trends == STEADY, axis=0) >= 2)
    ambiguous = np.where(leaning < 0, -LEANING, LEANING)
    found = [rises & ~falls, falls & ~rises, steady]
    return np.select(found, [INCREASING, DECREASING, STEADY], ambiguous)


def _group_medians(delay_s: FloatArray, last: IntArray, *, window: int, groups: int) -> FloatArray:
    """Return the medians of the groups of each window, shape (k, groups)."""
    edges = np.rint(np.linspace(0, window, groups + 1)).astype(np.int64)
    values = delay_s[last[:, np.newaxis] - (window - 1) + np.arange(window)]
    parts = np.split(values, edges[1:-1], axis=1)
    return np.stack([np.median(part, axis=1) for part in parts], axis=1)
