"""The spectrum of a series' normal scores, in few bands and lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.calibration.laws.ranks import mean_ranks
from trafficgen.models import ScoreSpectrum, SpectralLine
from trafficgen.units import FloatArray, IntArray


@dataclass(frozen=True)
class SpectrumLimits:
    """How a spectrum is summarised."""

    #: Shorter series have no spectrum to speak of.
    fewest_values: int = 16
    #: Bands to an octave of frequency, from the lowest Fourier frequency on.
    bands_per_octave: int = 3
    #: A line has this many times the median power of so many neighbours on either side, and this
    #: share of the variance; at most so many are kept.
    line_excess: float = 15.0
    line_share: float = 0.02
    neighbours: int = 8
    most_lines: int = 8


_LIMITS = SpectrumLimits()


def normal_scores_of(series: FloatArray) -> FloatArray:
    """Compute the normal scores of a series, ties sharing their mean rank, shape (n,)."""
    return np.asarray(special.ndtri((mean_ranks(series) - 0.5) / series.size), dtype=np.float64)


def scores_within_types(series: FloatArray, types: IntArray) -> FloatArray:
    """Compute normal scores of each value among those of its type, shape (n,)."""
    scores = np.zeros(series.size)
    for kind in np.unique(types):
        scores[types == kind] = normal_scores_of(series[types == kind])
    return scores


def score_spectrum(scores: FloatArray) -> ScoreSpectrum | None:
    """Estimate the spectrum of scores in order of time; None where they are few or constant.

    The periodogram is averaged in bands, three to an octave and of one frequency at the low end, so
    that slow changes keep their power. Frequencies that stand out are lines. Scores are normal, or
    the values themselves where sums of them matter.
    """
    count = scores.size
    if count < _LIMITS.fewest_values or float(np.ptp(scores)) == 0:
        return None
    power = np.abs(np.fft.rfft(scores - scores.mean())) ** 2
    power[1:] *= 2
    if count % 2 == 0:
        power[-1] /= 2
    power[0] = 0.0
    power /= power.sum()
    rows = _find_lines(power)
    background = power.copy()
    for row in rows:
        background[row] = _surroundings(power, row)
    edges = _band_edges(power.size, count)
    band = np.searchsorted(edges, np.arange(power.size) / count - 1e-9)
    share = np.bincount(band[1:], weights=background[1:], minlength=edges.size)
    lines = [(f"{row / count:.6g}", f"{power[row] - background[row]:.4g}") for row in rows]
    return ScoreSpectrum(
        upper_frequency=tuple(float(f"{edge:.6g}") for edge in edges),
        share=tuple(float(f"{part:.4g}") for part in share),
        lines=tuple(SpectralLine(frequency=float(f), share=float(part)) for f, part in lines),
    )


def _band_edges(size: int, count: int) -> FloatArray:
    """Return the upper ends of the bands, half-way between Fourier frequencies; the last is 0.5."""
    octaves = np.arange(0, np.log2(max(size - 1, 1)) + 1e-9, 1 / _LIMITS.bands_per_octave)
    last = np.unique(np.floor(2**octaves).astype(np.int64))
    edges = (last[last < size - 1] + 0.5) / count
    return np.append(edges[edges < 0.5], 0.5)


def _find_lines(power: FloatArray) -> list[int]:
    """Return the Fourier frequencies that stand out, strongest first."""
    strongest = [int(row) for row in np.argsort(-power)[: 2 * _LIMITS.most_lines]]
    found = [
        row
        for row in strongest
        if row > 2
        and power[row] > _LIMITS.line_share
        and power[row] > _LIMITS.line_excess * _surroundings(power, row)
    ]
    return found[: _LIMITS.most_lines]


def _surroundings(power: FloatArray, row: int) -> float:
    low, high = max(1, row - _LIMITS.neighbours), min(power.size, row + _LIMITS.neighbours + 1)
    return float(np.median(np.delete(power[low:high], row - low)))
