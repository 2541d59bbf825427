"""The Hurst parameter in the frequency domain: the local Whittle estimator, and Qu's test of what
it says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from trafficgen.critical_values import NORMAL_95
from trafficgen.units import FloatArray

#: The estimator uses this power of the length as its number of frequencies.
_BANDWIDTH_POWER = 0.65
#: Fewer bins have too few frequencies.
FEWEST_BINS = 128
_LOWEST_HURST, _HIGHEST_HURST = 0.01, 1.49
#: Qu's test leaves out this share of the frequencies; its 5% critical value for this share.
_TRIMMED, _CRITICAL = 0.05, 1.155


@dataclass(frozen=True)
class LocalWhittle:
    """The local Whittle estimate of a series.

    Attributes:
        value: Hurst parameter; above 1 for series that are not stationary.
        low: Lower end of the 95% interval.
        high: Upper end.
        frequencies: Number of Fourier frequencies used.
        qu_statistic: Qu's statistic; above 1.155, a level shift or trend looks like long memory (5%
            level).
    """

    value: float
    low: float
    high: float
    frequencies: int
    qu_statistic: float

    @property
    def looks_spurious(self) -> bool:
        """Whether long memory is rejected in favour of a level shift or a smooth trend, at the 5%
        level.
        """
        return self.qu_statistic > _CRITICAL


def local_whittle(series: FloatArray, *, frequencies: int | None = None) -> LocalWhittle | None:
    """Return the local Whittle estimate of the Hurst parameter, or None where a series is too short
    or constant.

    The spectrum near frequency 0 is taken as G f**(1 - 2H); G is profiled out of the Whittle
    likelihood of the lowest frequencies, and H maximises the rest, with standard error 1 / (2
    sqrt(m)) for m frequencies. Qu's statistic is the
    largest partial sum of the score: under long memory it behaves as a bridge, while a level shift
    or a trend puts its power into the very lowest frequencies.

    Args:
        series: Values in bins of equal width, shape (n,).
        frequencies: Number of frequencies m; n**0.65 without.

    Source: Robinson, Annals of Statistics 23 (1995) 1630; Qu, J. Business and Economic Statistics
    29 (2011) 423.
    """
    count = series.size
    if count < FEWEST_BINS or float(np.std(series)) <= 1e-12 * float(np.abs(series).max()):
        return None
    m = min(int(count**_BANDWIDTH_POWER) if frequencies is None else frequencies, (count - 1) // 2)
    power = np.abs(np.fft.rfft(series - series.mean())[1 : m + 1]) ** 2
    log_frequency = np.log(2 * np.pi * np.arange(1, m + 1) / count)
    if float(power.sum()) == 0:
        return None
    power /= power.mean()
    mean_log = float(log_frequency.mean())

    def objective(hurst: float) -> float:
        memory = 2 * hurst - 1
        return float(np.log(np.mean(np.exp(memory * log_frequency) * power))) - memory * mean_log

    found = optimize.minimize_scalar(
        objective, bounds=(_LOWEST_HURST, _HIGHEST_HURST), method="bounded"
    )
    hurst = float(found.x)
    half = NORMAL_95 / (2 * np.sqrt(m))
    statistic = _qu_statistic(power, log_frequency, hurst)
    return LocalWhittle(
        value=hurst, low=hurst - half, high=hurst + half, frequencies=m, qu_statistic=statistic
    )


def _qu_statistic(power: FloatArray, log_frequency: FloatArray, hurst: float) -> float:
    """Return the largest partial sum of the score, from the trimmed share of the frequencies on."""
    centred = np.log(np.arange(1, power.size + 1))
    centred = centred - centred.mean()
    flattened = np.exp((2 * hurst - 1) * log_frequency) * power
    partial = np.cumsum(centred * (flattened / flattened.mean() - 1))
    scale = float(np.sqrt(np.dot(centred, centred)))
    kept = partial[max(0, int(_TRIMMED * power.size) - 1) :]
    return float(np.max(np.abs(kept)) / scale)
