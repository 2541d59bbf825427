"""Series with a given law and a given power spectrum.

Amplitudes are those of the spectrum, phases are random, and ranks are mapped to the values in turn:
surrogate data (Theiler et al. 1992) with amplitudes adjusted (Schreiber and Schmitz 1996). A series
as long as the one that was measured then has nearly its autocorrelation, without the sampling error
of a free realisation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy import special

from trafficgen import _core
from trafficgen.models import ScoreSpectrum
from trafficgen.units import FloatArray, IntArray

#: Turns of mapping ranks and restoring amplitudes at most; values with a law far from normal need
#: many.
_MOST_TURNS = 30
#: No more turns are made where all but this share of the power is as it should be.
_NEAR = 1e-3
#: What depends on the length of a series alone is kept for those up to this.
_LONG_SERIES = 50_000
_FEWEST_VALUES = 8
#: A series is made at most so many times as long as it is needed, and a few values longer where it
#: is short.
_LONGER = 1.1
#: Sessions of a model have series of about the same length: what depends on it alone is kept for
#: this many lengths.
_KEPT = 64


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
        known = self._amplitudes.get(count)
        if known is not None:
            return known
        amplitudes = self._compute_amplitudes(count)
        if count <= _LONG_SERIES and len(self._amplitudes) < _KEPT:
            self._amplitudes[count] = amplitudes
        return amplitudes

    def _compute_amplitudes(self, count: int) -> FloatArray:
        frequency = np.arange(count // 2 + 1) / count
        band = np.minimum(np.searchsorted(self.upper, frequency - 1e-12), self.upper.size - 1)
        width = np.diff(self.upper, prepend=0.0)
        power = (self.share / np.maximum(width, 1e-12))[band] / count
        power[0] = 0.0
        line = np.rint(self.line_frequency * count).astype(np.int64)
        np.add.at(power, np.clip(line, 1, power.size - 1), self.line_share)
        return np.sqrt(power)


def spectrum_of(spectrum: ScoreSpectrum | None) -> Spectrum | None:
    """Return the spectrum of a model as arrays; None for independent values."""
    if spectrum is None:
        return None
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


def normal_scores(count: int) -> FloatArray:
    """Return the ascending normal scores of a sample, shape (count,); short ones are read only."""
    return _kept_scores(count) if count <= _LONG_SERIES else _scores(count)


@lru_cache(maxsize=_KEPT)
def _kept_scores(count: int) -> FloatArray:
    scores = _scores(count)
    scores.flags.writeable = False
    return scores


def _scores(count: int) -> FloatArray:
    return np.asarray(special.ndtri((np.arange(count) + 0.5) / count), dtype=np.float64)


def spectral_ranks(
    spectrum: Spectrum | None,
    count: int,
    generator: np.random.Generator,
    *,
    ascending: FloatArray | None = None,
) -> IntArray:
    """Draw the ranks, 0 to count - 1, of a series with a spectrum, shape (count,).

    The series is the beginning of a somewhat longer one, see :meth:`Spectrum.length`.

    Args:
        spectrum: Its spectrum; None for independent values.
        count: Length.
        generator: Source of the phases.
        ascending: Values of the series, ascending, shape (count,), where the spectrum is theirs
            rather than that of normal scores.
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
