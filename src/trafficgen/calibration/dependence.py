"""Dependence over time: the Hurst parameter of the rate by wavelets, and the autocorrelation of the gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.units import FloatArray

#: Fewer bins than this span too few octaves.
FEWEST_BINS = 256
#: Octaves with fewer coefficients are left out; the slope needs three octaves.
_FEWEST_COEFFICIENTS = 4
_FEWEST_OCTAVES = 3
_Z = 1.959963984540054
#: The regression starts at the first octave from which on a straight line is not rejected at this level.
_LEVEL = 0.01
#: The first octaves are biased, since the bins themselves stand in for the first approximation.
_FIRST_OCTAVE = 3

#: Daubechies' wavelet with two vanishing moments (1988), which is blind to a linear trend.
_ROOT = np.sqrt(3.0)
_LOW_PASS = np.array([1 + _ROOT, 3 + _ROOT, 3 - _ROOT, 1 - _ROOT]) / (4 * np.sqrt(2.0))
_HIGH_PASS = _LOW_PASS[::-1] * np.array([1, -1, 1, -1])


@dataclass(frozen=True)
class Hurst:
    """The Hurst parameter of a series.

    Attributes:
        value: Estimate; 0.5 for a series without long memory.
        low: Lower end of the 95% interval.
        high: Upper end.
        first_octave: Octave at which the regression starts (1 is twice the bin).
    """

    value: float
    low: float
    high: float
    first_octave: int


def estimate_hurst(series: FloatArray) -> Hurst | None:
    """Return the Hurst parameter by the wavelet estimator, or None where the series does not have one.

    It has none where it is too short or constant, or where the whole interval lies outside [0, 1]: a level shift, a
    strict period or a strictly constant rate.

    The logarithm of the mean squared wavelet coefficient grows with the octave by 2 H - 1; the slope is found by
    weighted least squares with the known bias and variance of the logarithm, from the first octave from which on a
    straight line is not rejected.
    An interval that reaches beyond [0, 1] is cut to that range.

    Args:
        series: Stationary increments, such as bytes in bins of equal width, shape (n,).

    Source: Veitch and Abry, "A wavelet-based joint estimator of the parameters of long-range dependence" (1999).
    """
    if series.size < FEWEST_BINS or float(np.std(series)) == 0:
        return None
    energy, counts = _octaves(series - series.mean())
    if np.any(energy <= 0) or energy.size < _FIRST_OCTAVE - 1 + _FEWEST_OCTAVES:
        return None
    octave = np.arange(1, energy.size + 1, dtype=np.float64)
    half = counts / 2
    log_energy = np.log2(energy) - (special.digamma(half) / np.log(2) - np.log2(half))
    variance = special.zeta(2, half) / np.log(2) ** 2
    first = 0
    for start in range(_FIRST_OCTAVE - 1, energy.size - _FEWEST_OCTAVES + 1):
        first = start
        slope, _, excess = _weighted_line(octave[start:], log_energy[start:], variance[start:])
        if special.chdtrc(octave.size - start - 2, excess) > _LEVEL:
            break
    slope, slope_variance, _ = _weighted_line(octave[first:], log_energy[first:], variance[first:])
    value, half_width = (slope + 1) / 2, _Z * float(np.sqrt(slope_variance)) / 2
    if value + half_width <= 0 or value - half_width >= 1:
        return None
    low, value, high = np.clip([value - half_width, value, value + half_width], 0.0, 1.0).tolist()
    return Hurst(value=value, low=low, high=high, first_octave=first + 1)


def _octaves(series: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean squared coefficient of each octave and how many there are; those at the edges are left out."""
    energy: list[float] = []
    counts: list[int] = []
    approximation = series
    while True:
        detail = np.convolve(approximation, _HIGH_PASS, mode="valid")[::2]
        approximation = np.convolve(approximation, _LOW_PASS, mode="valid")[::2]
        if detail.size < _FEWEST_COEFFICIENTS:
            return np.array(energy), np.array(counts, dtype=np.float64)
        energy.append(float(np.mean(detail**2)))
        counts.append(detail.size)
        if approximation.size < _LOW_PASS.size:
            return np.array(energy), np.array(counts, dtype=np.float64)


def _weighted_line(x: FloatArray, y: FloatArray, variance: FloatArray) -> tuple[float, float, float]:
    """Return the slope of a weighted least-squares line, its variance, and the weighted sum of squared residuals."""
    weight = 1 / variance
    total = float(weight.sum())
    mean_x, mean_y = float(np.dot(weight, x)) / total, float(np.dot(weight, y)) / total
    spread = float(np.dot(weight, (x - mean_x) ** 2))
    slope = float(np.dot(weight, (x - mean_x) * (y - mean_y))) / spread
    residual = y - mean_y - slope * (x - mean_x)
    return slope, 1 / spread, float(np.dot(weight, residual**2))


def autocorrelation(series: FloatArray, *, lags: int) -> list[float]:
    """Return the sample autocorrelation at lags 1 to ``lags``; empty where the series is constant or too short."""
    if series.size <= lags + 1:
        return []
    centred = series - series.mean()
    power = float(np.dot(centred, centred))
    if power <= (1e-12 * float(np.abs(series).max())) ** 2 * series.size:
        return []
    return [float(np.dot(centred[:-lag], centred[lag:])) / power for lag in range(1, lags + 1)]
