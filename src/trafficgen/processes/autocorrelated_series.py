"""Series with a given law and a given autocorrelation: the slow ups and downs of a rate.

The method is that of surrogate data: amplitudes of the spectrum are those that the autocorrelation
asks for, phases are random, and ranks are mapped to the values of the law in turn (Theiler et al.
1992; Schreiber and Schmitz 1996). A series as long as the one that was measured then has nearly its
sample autocorrelation, rather than one that is off by the sampling error of two realisations.
"""

from __future__ import annotations

import numpy as np
from scipy import fft, linalg, special

from trafficgen.units import FloatArray

#: Turns of mapping ranks and restoring amplitudes at most; the autocorrelation hardly moves beyond.
_TURNS = 15
#: Draws among which the best order is taken, for series up to so many values: the longer, the more
#: alike orders are.
_ORDERS = ((512, 8), (2048, 3))
_TINY = 1e-300
#: Fewer values have no autocorrelation to speak of.
_FEWEST_VALUES = 8
#: Keeps the autoregression stable where the autocorrelation is that of a strict period.
_RIDGE = 1e-3


def draw_correlated_scores(
    autocorrelation: FloatArray, count: int, generator: np.random.Generator
) -> FloatArray:
    """Draw normal scores with nearly a given autocorrelation at lags 1 to k, shape (count,)."""
    scores = special.ndtri((np.arange(count) + 0.5) / count)
    return draw_correlated_order(scores, autocorrelation, generator)


def draw_correlated_order(
    ascending: FloatArray, autocorrelation: FloatArray, generator: np.random.Generator
) -> FloatArray:
    """Order values at random with nearly a given sample autocorrelation, shape (n,).

    Beyond the given lags the autocorrelation is continued by the autoregression that they define
    (maximum entropy; Burg 1967). Of several such orders of a short series the one is taken whose
    own sample autocorrelation is nearest: a trend or a shift of level looks different at each of
    its phases.

    Args:
        ascending: The values, ascending, shape (n,).
        autocorrelation: Autocorrelation at lags 1 to k, shape (k,); empty for independent values.
        generator: Source of the phases.
    """
    count = ascending.size
    lags = min(autocorrelation.size, count - 1)
    if count < _FEWEST_VALUES or lags == 0 or ascending[0] == ascending[-1]:
        return generator.permutation(ascending)
    wanted = autocorrelation[:lags]
    amplitude = np.sqrt(spectrum(wanted, count))
    draws = next((draws for longest, draws in _ORDERS if count <= longest), 1)
    orders = [_order(ascending, amplitude, generator) for _ in range(draws)]
    if len(orders) == 1:
        return orders[0]
    return min(
        orders,
        key=lambda series: float(np.max(np.abs(sample_autocorrelation(series, lags) - wanted))),
    )


def _order(
    ascending: FloatArray, amplitude: FloatArray, generator: np.random.Generator
) -> FloatArray:
    """Return values in an order whose spectrum has about these amplitudes and random phases."""
    count, mean = ascending.size, float(ascending.mean())
    series = generator.permutation(ascending)
    before = None
    for _ in range(_TURNS):
        bent = fft.rfft(series - mean)
        bent *= amplitude / np.maximum(np.abs(bent), _TINY)
        order = np.argsort(fft.irfft(bent, n=count), kind="stable")
        if before is not None and np.array_equal(order, before):
            break
        series[order], before = ascending, order
    return series


def sample_autocorrelation(series: FloatArray, lags: int) -> FloatArray:
    """Compute the autocorrelation at lags 1 to ``lags``, 0 for a constant series, shape (lags,).

    The series is longer than ``lags``.
    """
    # Ours: statsmodels' acf gives the same to rounding, but takes seconds to import.
    centred = series - series.mean()
    power = float(np.dot(centred, centred))
    if power <= np.finfo(np.float64).eps * float(np.dot(series, series)):
        return np.zeros(lags)
    return np.array([np.dot(centred[:-lag], centred[lag:]) / power for lag in range(1, lags + 1)])


def spectrum(autocorrelation: FloatArray, count: int) -> FloatArray:
    """Compute the power at the Fourier frequencies, none at frequency 0, shape (count // 2 + 1,).

    The autocorrelation is that at lags 1 to k, shape (k,), of a series of ``count`` values.
    """
    lags = min(autocorrelation.size, count - 1)
    first_row = np.concatenate(([1.0 + _RIDGE], autocorrelation[: lags - 1]))
    coefficients = linalg.solve_toeplitz(first_row, autocorrelation[:lags])
    angle = 2 * np.pi * np.arange(count // 2 + 1) / count
    transfer = np.abs(1 - np.exp(-1j * np.outer(angle, np.arange(1, lags + 1))) @ coefficients) ** 2
    power = 1 / np.maximum(transfer, 1e-12)
    power[0] = 0.0
    return np.asarray(power / power.sum(), dtype=np.float64)
