"""The Hurst parameter of a rate by wavelets, and the autocorrelation of a series."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from trafficgen.critical_values import NORMAL_95
from trafficgen.imports import special
from trafficgen.processes.autocorrelated_series import sample_autocorrelation
from trafficgen.processes.fractional_noise.sample import noise_autocovariance
from trafficgen.units import FloatArray

#: Values of H that are tried; those outside (0, 1) show that a series is not such noise.
_HURST_STEP = 0.01
_HURST_GRID = np.round(np.arange(-0.5, 1.75, _HURST_STEP), 10)
#: Octaves up to here have their exact energy, further ones by the power law.
_EXACT_OCTAVES = 7
#: White noise over the variance of fractional noise, and the scale of the latter over that of the
#: series.
_NOISE_RANGE = (1e-3, 1e2)
_SCALE_RANGE = (1e-4, 10.0)
_COARSE_POINTS, _FINE_TURNS = 25, 4
#: Where the bins of the source may begin within ours, as a share of a bin.
_BIN_OFFSETS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)

#: Daubechies' wavelet with two vanishing moments (1988), which is blind to a linear trend.
_ROOT = np.sqrt(3.0)
_LOW_PASS = np.array([1 + _ROOT, 3 + _ROOT, 3 - _ROOT, 1 - _ROOT]) / (4 * np.sqrt(2.0))
_HIGH_PASS = _LOW_PASS[::-1] * np.array([1, -1, 1, -1])


class OctaveLimits:
    """Which octaves the fit uses, and when noise is part of it."""

    #: Fewer bins have too few octaves.
    fewest_bins: int = 256
    #: Octaves with fewer coefficients are left out; the slope needs three octaves.
    fewest_coefficients: int = 4
    fewest: int = 3
    #: The fit starts at the first octave from which on it is not rejected at this level.
    level: float = 0.001
    #: The first octaves show where bins begin, not memory, when a rate changes at other times
    #: than the bins: long series start at the third octave, shorter ones at the second.
    first: int = 3
    first_of_short: int = 2
    short_series: int = 4096
    #: Squares of neighbouring coefficients, which correlate, count this much less (for H = 0.9).
    correlated: float = 1.04
    #: The Hurst parameter of independent values.
    no_memory: float = 0.5
    #: Likelihood ratios: 95% and 99.9% points of chi-squared with one degree of freedom.
    significant: float = 3.84
    contradicted: float = 10.83


_LIMITS = OctaveLimits()


@dataclass(frozen=True)
class Hurst:
    """The Hurst parameter of a series, 0.5 without long memory, with its 95% interval."""

    value: float
    low: float
    high: float
    first_octave: int  #: where the fit starts (1 is twice the bin)
    p_value: float  #: of the octaves' energies under the fitted noise


def estimate_hurst(series: FloatArray, *, noise_variance: float | None = None) -> Hurst | None:
    """Estimate the Hurst parameter by wavelets; None where the series does not have one.

    It has none where it is too short or constant, where the estimate is not above 0 and its
    interval below 0.5 (a strict period, a strictly constant rate), or where the whole interval is
    above 1 (a level shift).

    The mean squared wavelet coefficients of the octaves are compared with those of fractional
    Gaussian noise, alone or with white noise added, by their likelihood (they are taken as
    independent; each octave's sum is then in proportion to a chi-squared variable). The fit starts
    at the first octave from which on it is not rejected. White noise has the variance that was
    given, unless the octaves contradict it (a likelihood ratio at the 0.1% level); where they do
    not decide, the interval reaches over both readings. Where no variance was given, it is free if
    that fits better than no white noise (at the 5% level). The interval is that of the profile
    likelihood, cut to [0, 1]. The series has stationary increments, such as bytes in bins of equal
    width, shape (n,); ``noise_variance`` is what the placement of packets alone gives a bin, if it
    is known.

    Source: Abry and Veitch, IEEE Trans. Information Theory 44 (1998) 2; Veitch and Abry, "A
    wavelet-based joint estimator of the parameters of long-range dependence" (1999); the likelihood
    as in Wornell and Oppenheim, IEEE Trans. Signal Processing 40 (1992) 611.
    """
    if series.size < _LIMITS.fewest_bins or float(np.std(series)) == 0:
        return None
    energy, counts = _octaves(series - series.mean())
    skipped = (_LIMITS.first_of_short if series.size < _LIMITS.short_series else _LIMITS.first) - 1
    if np.any(energy <= 0) or energy.size < skipped + _LIMITS.fewest:
        return None
    known = None if noise_variance is None else noise_variance / float(series.var())
    energy, counts = energy / float(series.var()), counts / _LIMITS.correlated
    evidence = 0.0 if known is None else _evidence_of_noise(energy, counts, known)
    fit = _find_start(energy, counts, known if evidence >= 0 else None)
    if known is not None and abs(evidence) < _LIMITS.contradicted:
        other = _find_start(energy, counts, None if evidence >= 0 else known)
        fit = replace(fit, low=min(fit.low, other.low), high=max(fit.high, other.high))
    if (fit.value <= 0 and fit.high < _LIMITS.no_memory) or fit.low >= 1:
        return None
    low, value, high = np.clip([fit.low, fit.value, fit.high], 0.0, 1.0).tolist()
    return replace(fit, value=value, low=low, high=high)


def _find_start(energy: FloatArray, counts: FloatArray, known: float | None) -> Hurst:
    """Return the fit from the first octave from which on it is not rejected, else the last."""
    last = energy.size - _LIMITS.fewest
    for start in range(_LIMITS.first - 1, last):
        fit = _fit_octaves(energy, counts, start, known)
        if fit.p_value > _LIMITS.level:
            return fit
    return _fit_octaves(energy, counts, last, known)


def _evidence_of_noise(energy: FloatArray, counts: FloatArray, known: float) -> float:
    """Return twice the log-likelihood ratio of white noise of a known variance to none.

    Packets at random places in their bins need not come in random numbers: a source may draw the
    numbers. The finest octaves show that, although they depend too much on where bins begin to
    give H: both sides are taken at the offset of the bins that makes them likeliest.
    """
    shape = octave_energies(energy.size)
    without, given = -np.inf, -np.inf
    for offset in _BIN_OFFSETS:
        seen = shape * _offset_gain(energy.size, offset)
        without = max(without, float(_profile(energy, counts, seen).max()))
        noisy = _profile(energy, counts, seen, _SCALE_RANGE, noise=known)
        given = max(given, float(noisy.max()))
    return 2 * (given - without)


def _offset_gain(octaves: int, offset: float) -> FloatArray:
    """Return how much energy of an octave is left when a rate's bins begin at this share of ours.

    Each bin then holds this much of one value and the rest of the next: a filter whose gain is 1 -
    2 f (1 - f) (1 - cos w), here averaged over the octave's band.
    """
    edges = np.pi / 2.0 ** np.arange(octaves + 1)
    mean_cosine = (np.sin(edges[:-1]) - np.sin(edges[1:])) / (edges[:-1] - edges[1:])
    return np.asarray(1 - 2 * offset * (1 - offset) * (1 - mean_cosine))


def _fit_octaves(energy: FloatArray, counts: FloatArray, start: int, known: float | None) -> Hurst:
    """Return the best fit from an octave on, with no noise, known noise, or significant noise."""
    shape = octave_energies(energy.size)[:, start:]
    energy, counts = energy[start:], counts[start:]
    best, parameters = _profile(energy, counts, shape), 2
    if known is not None and known > 0:
        given = _profile(energy, counts, shape, _SCALE_RANGE, noise=known)
        # Noise that was measured is there, unless the octaves clearly contradict it. Where white
        # noise is all that there is, though, nothing is left that could have a memory.
        white = float(best[int(np.argmin(np.abs(_HURST_GRID - 0.5)))])
        contradicted = 2 * (best.max() - given.max()) >= _LIMITS.contradicted
        if not contradicted and 2 * (given.max() - white) > _LIMITS.significant:
            best = given
    if energy.size > _LIMITS.fewest:
        free = _profile(energy, counts, shape, _NOISE_RANGE)
        beyond = _LIMITS.significant if known is None else _LIMITS.contradicted
        if 2 * (free.max() - best.max()) > beyond:
            best, parameters = free, 3
    deviance = -2 * float(best.max())
    p_value = float(special.chdtrc(max(1, energy.size - parameters), deviance))
    low, value, high = _profile_interval(best)
    return Hurst(value, low, high, start + 1, p_value)


def _log_likelihood(energy: FloatArray, counts: FloatArray, expected: FloatArray) -> FloatArray:
    """Return the log-likelihood less that of the energies themselves; octaves are the last axis."""
    quotient = energy / expected
    return np.asarray(-0.5 * np.sum(counts * (quotient - 1 - np.log(quotient)), axis=-1))


def _profile(
    energy: FloatArray,
    counts: FloatArray,
    shape: FloatArray,
    bounds: tuple[float, float] | None = None,
    *,
    noise: float | None = None,
) -> FloatArray:
    """Return the likelihood of each H with a parameter within bounds at its best, shape (h,).

    With known white noise the parameter is the scale of fractional noise, whose energies have the
    ``shape`` (h, o); else it is white noise over the variance of fractional noise, 0 without
    bounds, and the scale of both is the best one.
    """

    def likelihood(parameter: FloatArray) -> FloatArray:
        if noise is not None:
            return _log_likelihood(energy, counts, parameter[:, None] * shape + noise)
        mixed = shape + parameter[:, None]
        scale = np.sum(counts * energy / mixed, axis=1, keepdims=True) / counts.sum()
        return _log_likelihood(energy, counts, scale * mixed)

    value = np.zeros(shape.shape[0])
    if bounds is None:
        return likelihood(value)
    best = np.full(shape.shape[0], -np.inf)
    for number in np.geomspace(*bounds, _COARSE_POINTS):
        best, value = _keep_better(likelihood, best, value, np.full(value.size, number))
    width = (bounds[1] / bounds[0]) ** (1 / (_COARSE_POINTS - 1))
    for _ in range(_FINE_TURNS):
        centre, width = value, width**0.25
        for power in (-3, -2, -1, 1, 2, 3):
            best, value = _keep_better(likelihood, best, value, centre * width**power)
    return best


def _keep_better(
    likelihood: Callable[[FloatArray], FloatArray],
    best: FloatArray,
    value: FloatArray,
    parameter: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Replace likelihood and parameter of each H where another parameter is better."""
    other = likelihood(parameter)
    better = other > best
    return np.where(better, other, best), np.where(better, parameter, value)


def _profile_interval(likelihood: FloatArray) -> tuple[float, float, float]:
    """Return the 95% profile interval with the maximum between its ends."""
    top = int(likelihood.argmax())
    value = float(_HURST_GRID[top])
    if 0 < top < likelihood.size - 1:  # a parabola through the three points at the top
        below, at, above = likelihood[top - 1 : top + 2]
        curvature = below - 2 * at + above
        value += float(0.5 * (below - above) / curvature * _HURST_STEP) if curvature < 0 else 0.0
    level = float(likelihood[top]) - 0.5 * NORMAL_95**2
    inside = likelihood >= level
    first, last = int(inside.argmax()), int(likelihood.size - 1 - inside[::-1].argmax())
    low, high = float(_HURST_GRID[first]), float(_HURST_GRID[last])
    if first > 0:
        fall = likelihood[first] - likelihood[first - 1]
        low -= _HURST_STEP * float((likelihood[first] - level) / fall)
    if last < likelihood.size - 1:
        fall = likelihood[last] - likelihood[last + 1]
        high += _HURST_STEP * float((likelihood[last] - level) / fall)
    return min(low, value), value, max(high, value)


@cache
def octave_energies(octaves: int) -> FloatArray:
    """Compute the energies of fractional Gaussian noise of variance 1 by H and octave.

    Within (0, 1) they are exact up to octave 7: the autocovariance, weighted with the
    autocorrelation of the wavelet's filter; beyond, an octave has 2**(2H - 1) times the energy of
    the one before. Outside of (0, 1) that is all.
    """
    exact = min(octaves, _EXACT_OCTAVES)
    energies = np.empty((_HURST_GRID.size, octaves))
    low, filters = np.ones(1), []
    for octave in range(exact):
        step = 1 << octave
        filters.append(np.convolve(low, _upsample(_HIGH_PASS, step)))
        low = np.convolve(low, _upsample(_LOW_PASS, step))
    for row, hurst in enumerate(_HURST_GRID):
        within = 0 < hurst < 1
        for octave in range(octaves):
            if within and octave < exact:
                taps = filters[octave]
                weight = np.correlate(taps, taps, mode="full")[taps.size - 1 :]
                covariance = noise_autocovariance(float(hurst), weight.size - 1)
                later = 2 * float(np.dot(weight[1:], covariance[1:]))
                energies[row, octave] = weight[0] * covariance[0] + later
            else:
                before = energies[row, octave - 1] if octave else 1.0
                energies[row, octave] = before * 2 ** (2 * hurst - 1)
    return energies


def _upsample(taps: FloatArray, step: int) -> FloatArray:
    spaced = np.zeros((taps.size - 1) * step + 1)
    spaced[::step] = taps
    return spaced


def _octaves(series: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean squared coefficient of each octave and their number, edges left out."""
    energy: list[float] = []
    counts: list[int] = []
    approximation = series
    while approximation.size >= _LOW_PASS.size:
        detail = np.convolve(approximation, _HIGH_PASS, mode="valid")[::2]
        approximation = np.convolve(approximation, _LOW_PASS, mode="valid")[::2]
        if detail.size < _LIMITS.fewest_coefficients:
            break
        energy.append(float(np.mean(detail**2)))
        counts.append(detail.size)
    return np.array(energy), np.array(counts, dtype=np.float64)


def autocorrelation(series: FloatArray, *, lags: int) -> list[float]:
    """Compute the autocorrelation at lags 1 to ``lags``; empty for constant or short series."""
    if series.size <= lags + 1:
        return []
    largest = max(abs(float(series.min())), abs(float(series.max())))
    if series.var() <= (1e-12 * largest) ** 2:
        return []
    return [float(value) for value in sample_autocorrelation(series, lags)]
