"""Whether a rate has long memory, or a level shift, a trend or a strict period only looks like
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from trafficgen.calibration.processes.hurst import Hurst, estimate_hurst
from trafficgen.calibration.processes.whittle import LocalWhittle, local_whittle
from trafficgen.units import FloatArray

Verdict = Literal["long_memory", "level_shift", "periodic", "none", "undecided"]

#: More bins are added up in pairs.
_MOST_BINS = 1 << 20
#: No more levels than this are removed: with more of them, long memory itself would be explained
#: away.
_MOST_SHIFTS = 3
#: Bins of each level at least, as a share of all.
_SHORTEST_LEVEL = 0.1
#: A shift is one where the variance within levels falls by this share at least.
_EXPLAINED = 0.4
#: A single frequency with this share of the variance, and this many times its surroundings, is a
#: strict period.
_PERIOD_SHARE, _PERIOD_EXCESS, _SURROUNDINGS = 0.2, 20.0, 16
#: Memory below this is not told from none.
_SHORTEST_MEMORY = 0.5


@dataclass(frozen=True)
class LongRange:
    """What the memory of a rate was found to be.

    Attributes:
        verdict: long_memory: both estimators find it, and it stays when level shifts are removed;
            level_shift: it goes with them; periodic: one frequency has the variance; none: an
            estimator's interval holds 0.5; undecided: estimators disagree, or there are too few
            bins.
        whittle: Local Whittle estimate of the series.
        without_shifts: Wavelet estimate when the means of the levels are taken off.
        shifts: Level shifts found.
        method: What was done.
    """

    verdict: Verdict
    whittle: LocalWhittle | None
    without_shifts: Hurst | None
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
    """Return whether a series has long memory.

    Args:
        series: Bytes in bins of equal width, shape (n,).
        noise_variance: Variance that the placement of packets alone gives a bin, where it was
            measured.
    """
    while series.size > _MOST_BINS:  # memory shows at any scale
        series = series[: series.size // 2 * 2].reshape(-1, 2).sum(axis=1)
        noise_variance = None if noise_variance is None else 2 * noise_variance
    whittle, wavelet = local_whittle(series), estimate_hurst(series, noise_variance=noise_variance)
    levels = level_shifts(series)
    shifts = int(levels[-1]) if levels.size else 0
    rest = without_levels(series, levels) if shifts else series
    calm, calm_whittle = estimate_hurst(rest, noise_variance=noise_variance), local_whittle(rest)
    verdict: Verdict
    if whittle is None:
        verdict = "undecided"
    elif has_strict_period(series):
        verdict = "periodic"
    elif whittle.low <= _SHORTEST_MEMORY or (
        wavelet is not None and wavelet.low <= _SHORTEST_MEMORY
    ):
        verdict = (
            "level_shift"
            if shifts and (whittle.looks_spurious or whittle.low > _SHORTEST_MEMORY)
            else "none"
        )
    elif shifts and (calm is None or calm.low <= _SHORTEST_MEMORY or _is_short(calm_whittle)):
        verdict = "level_shift"
    elif wavelet is None or whittle.low > 1:
        verdict = "level_shift" if shifts else "undecided"
    else:
        agree = whittle.low <= wavelet.high and wavelet.low <= whittle.high
        verdict = "long_memory" if agree and not whittle.looks_spurious else "undecided"
    return LongRange(verdict, whittle, calm, shifts)


def _is_short(whittle: LocalWhittle | None) -> bool:
    return whittle is None or whittle.low <= _SHORTEST_MEMORY


def level_shifts(series: FloatArray) -> FloatArray:
    """Return the number of the level, from 0, of each bin, shape (n,).

    Binary segmentation: the split that takes most off the variance within levels, again and again,
    as long as each of the splits takes the greater part of what a step of that size would.

    Args:
        series: Values, shape (n,).
    """
    count = series.size
    shortest = max(8, int(_SHORTEST_LEVEL * count))
    bounds = [0, count]
    for _ in range(_MOST_SHIFTS):
        splits = [_best_split(series[low:high], shortest) for low, high in pairwise(bounds)]
        gains = [gain for gain, _ in splits]
        best = int(np.argmax(gains))
        if gains[best] < _EXPLAINED:
            break
        bounds = sorted([*bounds, bounds[best] + splits[best][1]])
    levels = np.zeros(count)
    for bound in bounds[1:-1]:
        levels[bound:] += 1
    return levels


def _best_split(series: FloatArray, shortest: int) -> tuple[float, int]:
    """Return the largest share of the variance that one split explains, and where it is."""
    count = series.size
    if count < 2 * shortest:
        return 0.0, 0
    total = float(np.sum((series - series.mean()) ** 2))
    if total == 0:
        return 0.0, 0
    left = np.arange(shortest, count - shortest + 1)
    below = np.cumsum(series - series.mean())[left - 1]
    gain = below**2 * (1 / left + 1 / (count - left))
    best = int(gain.argmax())
    return float(gain[best]) / total, int(left[best])


def without_levels(series: FloatArray, levels: FloatArray) -> FloatArray:
    """Return a series without the means of its levels, shape (n,)."""
    level = levels.astype(np.int64)
    means = np.bincount(level, weights=series) / np.bincount(level)
    return np.asarray(series - means[level])


def has_strict_period(series: FloatArray) -> bool:
    """Return whether one frequency has much of the variance, far beyond those around it."""
    if series.size // 2 + 1 <= 2 * _SURROUNDINGS:
        return False
    power = np.abs(np.fft.rfft(series - series.mean())) ** 2
    if float(power.sum()) == 0:
        return False
    row = int(power[_SURROUNDINGS:].argmax()) + _SURROUNDINGS
    peak = float(power[row - 1 : row + 2].sum())
    around = np.concatenate(
        (power[row - _SURROUNDINGS : row - 1], power[row + 2 : row + _SURROUNDINGS])
    )
    return peak > _PERIOD_SHARE * float(power.sum()) and peak > _PERIOD_EXCESS * float(
        np.median(around)
    )
