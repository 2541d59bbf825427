"""Series with a given law and a given autocorrelation or power spectrum.

The method is that of surrogate data: amplitudes of the spectrum are those that are wanted,
phases are random, and ranks are mapped to the values of the law in turn (Theiler et al. 1992;
Schreiber and Schmitz 1996). A series as long as the one that was measured then has nearly its
sample autocorrelation, rather than one that is off by the sampling error of two realisations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from trafficgen import _core
from trafficgen.imports import special
from trafficgen.processes.base import to_playable
from trafficgen.processes.process import ScoreSpectrum
from trafficgen.units import FloatArray, IntArray

#: Turns of mapping ranks and restoring amplitudes at most; the autocorrelation hardly moves beyond.
_TURNS = 15
#: What the autocorrelation of a long series may be off, in standard deviations, to be faster.
_MOVED = 1e-3
#: Draws among which the best order is taken, for series up to a length: the longer, the more
#: alike orders are.
_ORDERS = ((512, 8), (2048, 3))
#: Fewer values have no autocorrelation to speak of.
_FEWEST_VALUES = 8
#: OpenBLAS starts threads for the dot product of more than 10,000 numbers.
_DOT_PART = 8192
#: Keeps the autoregression stable where the autocorrelation is that of a strict period.
_RIDGE = 1e-3
#: The same for a spectrum: values with a law far from normal need many.
_MOST_TURNS = 6
#: No more turns are made where all but this share of the power is as it should be.
_NEAR = 1e-3
#: What depends on the length of a series alone is kept for those up to this.
_LONG_SERIES = 50_000
#: A series is made at most this many times as long as it is needed, and a few values longer where
#: it is short.
_LONGER = 1.1
#: Sessions of a model have series of about the same length: what depends on it alone is kept for
#: this many lengths.
_KEPT = 64
#: The same for long series, which take some MB each.
_KEPT_LONG = 4


def draw_correlated_scores(
    autocorrelation: FloatArray, count: int, generator: np.random.Generator
) -> FloatArray:
    """Draw normal scores with nearly a given autocorrelation at lags 1 to k, shape (count,).

    A long series has the spectrum that is wanted and random phases, whose number makes it normal
    (Theiler et al. 1992). It is the beginning of one of a length without large prime factors, which
    is fast, where that moves the autocorrelation by a thousandth at most: where its power is spread
    over many frequencies.
    """
    if count <= _LONG_SERIES or not autocorrelation.size:
        return draw_correlated_order(normal_scores(count), autocorrelation, generator)
    length = int(_fast_lengths(count)[0])
    power = _long_spectrum(autocorrelation.tobytes(), length)
    if (length - count) / count * np.sum(power**2) > _MOVED**2:
        length, power = count, spectrum(autocorrelation, count)
    phase = 2 * np.pi * generator.random(power.size)
    series = np.fft.irfft(np.sqrt(power) * np.exp(1j * phase), n=length)[:count]
    series /= series.std()
    return np.asarray(series, dtype=np.float64)


@lru_cache(maxsize=_KEPT_LONG)
def _long_spectrum(autocorrelation: bytes, count: int) -> FloatArray:
    power = spectrum(np.frombuffer(autocorrelation), count)
    power.flags.writeable = False
    return power


def draw_correlated_order(
    ascending: FloatArray, autocorrelation: FloatArray, generator: np.random.Generator
) -> FloatArray:
    """Order values at random with nearly a given sample autocorrelation, shape (n,).

    Beyond the given lags the autocorrelation is continued by the autoregression that they define
    (maximum entropy; Burg 1967). Of several such orders of a short series the one is taken whose
    own sample autocorrelation is nearest: a trend or a shift of level looks different at each of
    its phases. ``autocorrelation`` is that at lags 1 to k, empty for independent values.
    """
    count = ascending.size
    if not count:
        return ascending
    lags = min(autocorrelation.size, count - 1)
    if count < _FEWEST_VALUES or lags == 0 or ascending[0] == ascending[-1]:
        return generator.permutation(ascending)
    wanted = autocorrelation[:lags]
    amplitude = np.sqrt(spectrum(wanted, count))
    draws = next((draws for longest, draws in _ORDERS if count <= longest), 1)
    mean = float(ascending.mean())
    orders = [
        _core.correlated_order(
            generator.permutation(ascending), ascending, mean, amplitude, most_turns=_TURNS
        )
        for _ in range(draws)
    ]
    if len(orders) == 1:
        return orders[0]
    return min(
        orders,
        key=lambda series: float(np.max(np.abs(sample_autocorrelation(series, lags) - wanted))),
    )


def sample_autocorrelation(series: FloatArray, lags: int) -> FloatArray:
    """Compute the autocorrelation at lags 1 to ``lags``, 0 for a constant series, shape (lags,).

    The series is longer than ``lags``.
    """
    # Ours: statsmodels' acf gives the same to rounding, but takes seconds to import.
    centred = series - series.mean()
    power = dot_product(centred, centred)
    if power <= np.finfo(np.float64).eps * dot_product(series, series):
        return np.zeros(lags)
    return np.array(
        [dot_product(centred[:-lag], centred[lag:]) / power for lag in range(1, lags + 1)]
    )


def dot_product(one: FloatArray, other: FloatArray) -> float:
    """Return a dot product, in parts that BLAS gives to one thread.

    Its threads wait for each other on a busy machine, and how they round a sum goes by the number
    of processors.
    """
    parts = range(0, one.size, _DOT_PART)
    return sum(float(np.dot(one[at : at + _DOT_PART], other[at : at + _DOT_PART])) for at in parts)


def spectrum(autocorrelation: FloatArray, count: int) -> FloatArray:
    """Compute the power at the Fourier frequencies, none at frequency 0, shape (count // 2 + 1,).

    The autocorrelation is that at lags 1 to k, shape (k,), of a series of ``count`` values.
    """
    lags = min(autocorrelation.size, count - 1)
    first_row = np.concatenate(([1.0 + _RIDGE], autocorrelation[: lags - 1]))
    coefficients = _core.solve_toeplitz(first_row, np.ascontiguousarray(autocorrelation[:lags]))
    transfer = np.abs(np.fft.rfft(np.concatenate(([1.0], -coefficients)), n=count)) ** 2
    power = 1 / np.maximum(transfer, 1e-12)
    power[0] = 0.0
    return np.asarray(power / power.sum(), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """A :class:`~trafficgen.models.ScoreSpectrum` as arrays.

    Attributes:
        upper: Upper ends of the bands, cycles per value, shape (b,).
        share: Share of variance of each band, shape (b,).
        line_frequency: Frequencies of strict periods, shape (l,).
        line_share: Their shares of variance, shape (l,).
    """

    upper: FloatArray
    share: FloatArray
    line_frequency: FloatArray
    line_share: FloatArray
    _amplitudes: dict[int, FloatArray] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def length(self, count: int) -> int:
        """Choose how long a series is made of which ``count`` values are used.

        Its transforms are fast, and strict periods fit into it as well as they can: where none of
        the Fourier frequencies is that of a line, the line is shifted to the one that is next.
        """
        lengths = _fast_lengths(count)
        cycles = np.outer(lengths, self.line_frequency)
        return int(lengths[np.argmin(np.abs(cycles - np.rint(cycles)) @ self.line_share)])

    def amplitudes(self, count: int) -> FloatArray:
        """Return amplitudes at the Fourier frequencies, none at 0, shape (count // 2 + 1,)."""
        if count in self._amplitudes:
            return self._amplitudes[count]
        frequency = np.arange(count // 2 + 1) / count
        band = np.minimum(np.searchsorted(self.upper, frequency - 1e-12), self.upper.size - 1)
        width = np.diff(self.upper, prepend=0.0)
        power = (self.share / np.maximum(width, 1e-12))[band] / count
        power[0] = 0.0
        line = np.rint(self.line_frequency * count).astype(np.int64)
        np.add.at(power, np.clip(line, 1, power.size - 1), self.line_share)
        amplitudes: FloatArray = np.sqrt(power)
        if count <= _LONG_SERIES and len(self._amplitudes) < _KEPT:
            self._amplitudes[count] = amplitudes
        return amplitudes


@to_playable.register
def _spectrum_of(spectrum: ScoreSpectrum) -> Spectrum:
    return Spectrum(
        upper=np.array(spectrum.upper_frequency),
        share=np.array(spectrum.share),
        line_frequency=np.array([line.frequency for line in spectrum.lines]),
        line_share=np.array([line.share for line in spectrum.lines]),
    )


@lru_cache(maxsize=_KEPT)
def _fast_lengths(count: int) -> IntArray:
    """Return even numbers from ``count`` on, up to somewhat more, without prime factors above 5."""
    most = int(count * _LONGER) + _FEWEST_VALUES
    numbers = np.array([2])
    for prime in (2, 3, 5):
        powers = prime ** np.arange(int(np.log(most) / np.log(prime)) + 1)
        numbers = np.outer(numbers, powers).ravel()
        numbers = numbers[numbers <= most]
    return np.sort(numbers[numbers >= count])


def fast_length_below(count: int) -> int:
    """Return the largest even number up to ``count`` without prime factors above 5."""
    lengths = _fast_lengths(int(count / _LONGER))
    return int(lengths[lengths <= count][-1])


def normal_scores(count: int) -> FloatArray:
    """Compute the ascending normal scores of a sample, read only, shape (count,)."""
    return _scores(count) if count <= _LONG_SERIES else _scores.__wrapped__(count)


@lru_cache(maxsize=_KEPT)
def _scores(count: int) -> FloatArray:
    scores: FloatArray = special.ndtri((np.arange(count) + 0.5) / count)
    scores.flags.writeable = False
    return scores


def spectral_ranks(
    spectrum: Spectrum | None,
    count: int,
    generator: np.random.Generator,
    *,
    ascending: FloatArray | None = None,
) -> IntArray:
    """Draw the ranks, 0 to count - 1, of a series with a spectrum, shape (count,).

    The series is the beginning of a somewhat longer one, see :meth:`Spectrum.length`. Without a
    spectrum values are independent. ``ascending`` are the values of the series, shape (count,),
    where the spectrum is theirs rather than that of normal scores.
    """
    if spectrum is None or count < _FEWEST_VALUES:
        return generator.permutation(count)
    length = spectrum.length(count)
    amplitude = spectrum.amplitudes(length)
    ascending = normal_scores(length) if ascending is None else _stretch(ascending, length)
    if not amplitude.any() or ascending[0] == ascending[-1]:
        return generator.permutation(count)
    phase = 2 * np.pi * generator.random(amplitude.size)
    ranks = _core.spectral_ranks(ascending, amplitude, phase, most_turns=_MOST_TURNS, near=_NEAR)
    return ranks if length == count else _ranks_of(ranks[:count], length)


def _stretch(ascending: FloatArray, length: int) -> FloatArray:
    """Return as many ascending values of the same law, less their mean."""
    if length != ascending.size:
        place = (np.arange(length) + 0.5) / length * ascending.size - 0.5
        ascending = np.asarray(
            np.interp(place, np.arange(ascending.size), ascending), dtype=np.float64
        )
    return ascending - float(ascending.mean())


def _ranks_of(numbers: IntArray, below: int) -> IntArray:
    """Return the ranks of different numbers from 0 on, all below a bound."""
    present = np.zeros(below, dtype=np.int64)
    present[numbers] = 1
    return (np.cumsum(present) - 1)[numbers]
