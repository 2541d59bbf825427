"""The encoder of RFC 8593 and haptics of 3GPP, derived a second time.

Written before the entries `video_rfc8593` and `haptics_3gpp` had been opened. No text of the RFC or
of the liaison statement was at hand; what they say is taken from programs and summaries that cite
them: for RFC 8593 the statistical codec of pion (its defaults and its draws, read in full) and the
video conference of a simulator of SCION; for haptics a summary of the liaison statement
R1-2509596. Formulas are closed, without the laws of scipy.
"""

from __future__ import annotations

import math

#: RFC 8593, steady state: R_v (bit/s) at F (frame/s); noise of a frame and of an interval is
#: relative, Laplace with SCALE_B and SCALE_t. Both programs draw the difference of two exponentials
#: of that mean, so that the scale is the Laplace law's own, not its standard deviation.
TARGET_BPS, FRAME_RATE_HZ, SCALE = 1_000_000, 30, 0.15
#: Least and largest target rate, bit/s: pion has 150 kbit/s and, a slip, 150 Mbit/s for 1.5.
LEAST_BPS, MOST_BPS = 150_000, 1_500_000

#: Haptics, downlink: sizes of 504 to 1736 bits (the table's head says bytes), Pareto of shape 7;
#: gaps exponential with 0.015 per ms, at least M and whole multiples of it; M is 32 ms.
SHAPE, LEAST_BYTES, MOST_BYTES = 7, 504 / 8, 1736 / 8
GAP_RATE_HZ, STEP_S = 15.0, 0.032
#: Its delay budget, s, and the share of packets that has to keep it; its jitter is that of
#: TR 38.838: normal, SD 2 ms, within 4 ms on either side.
BUDGET_S, SUCCESS = 0.030, 0.90
JITTER_SD_S, JITTER_END_S = 0.002, 0.004


def encoder_quantile(p: float, usual: float) -> float:
    """Return a quantile of the size (or the interval) whose value without noise is ``usual``."""
    noise = math.log(2 * p) if p < 0.5 else -math.log(2 * (1 - p))
    return max(usual * (1 + SCALE * noise), 0.0)


def share_below_nothing() -> float:
    """Return how often the noise would make a size or an interval negative."""
    return 0.5 * math.exp(-1 / SCALE)


def haptics_size_quantile(p: float) -> float:
    """Return a quantile of the size, bytes: P(X > x) = (low / x)^shape, within both ends."""
    mass = 1 - (LEAST_BYTES / MOST_BYTES) ** SHAPE
    return LEAST_BYTES * math.pow(1 - p * mass, -1 / SHAPE)


def haptics_gap_quantile(p: float) -> float:
    """Return a quantile of the gap, s: an exponential one rounded up to whole steps."""
    return STEP_S * math.ceil(-math.log(1 - p) / (GAP_RATE_HZ * STEP_S))


def haptics_mean_gap_s() -> float:
    """Return the mean of the gap: rounding up makes 83.9 ms of 66.7 ms."""
    return STEP_S / (1 - math.exp(-GAP_RATE_HZ * STEP_S))


def haptics_mean_bytes() -> float:
    """Return the mean size: that of the Pareto law less what is beyond the upper end."""
    ratio = LEAST_BYTES / MOST_BYTES
    partial = SHAPE / (SHAPE - 1) * (LEAST_BYTES - MOST_BYTES * ratio**SHAPE)
    return partial / (1 - ratio**SHAPE)
