"""The spectrum of a series' normal scores, in few bands and lines."""

from __future__ import annotations

import numpy as np
from scipy import special

from trafficgen.calibration.laws.ranks import mean_ranks
from trafficgen.models import ScoreSpectrum, SpectralLine
from trafficgen.units import FloatArray, IntArray

#: Shorter series have no spectrum to speak of.
FEWEST_VALUES = 16
#: Bands to an octave of frequency, from the lowest Fourier frequency on.
_BANDS_PER_OCTAVE = 3
#: A line has this many times the median power of its surroundings, and this share of the variance.
_LINE_EXCESS, _LINE_SHARE = 15.0, 0.02
_MOST_LINES = 8
_SURROUNDINGS = 8


def normal_scores_of(series: FloatArray) -> FloatArray:
    """Compute the normal scores of a series, ties sharing their mean rank, shape (n,)."""
    ranks = mean_ranks(series)
    return np.asarray(special.ndtri((ranks - 0.5) / series.size), dtype=np.float64)


def scores_within_types(series: FloatArray, types: IntArray) -> FloatArray:
    """Compute normal scores of each value among those of its type, shape (n,)."""
    scores = np.zeros(series.size)
    for kind in np.unique(types):
        mine = types == kind
        scores[mine] = normal_scores_of(series[mine])
    return scores


def score_spectrum(scores: FloatArray) -> ScoreSpectrum | None:
    """Estimate the spectrum of a series of scores; None where it is too short or constant.

    The periodogram is averaged in bands, three to an octave and of one frequency at the low end, so
    that slow changes keep their power. Frequencies that stand out are lines.

    Args:
        scores: Normal scores, or values where sums of them matter, in order of time, shape (n,).
    """
    count = scores.size
    if count < FEWEST_VALUES or float(np.ptp(scores)) == 0:
        return None
    power = np.abs(np.fft.rfft(scores - scores.mean())) ** 2
    power[1:] *= 2
    if count % 2 == 0:
        power[-1] /= 2
    power[0] = 0.0
    power /= power.sum()
    lines = _lines(power)
    background = power.copy()
    for line in lines:
        background[line] = float(np.median(_around(power, line)))
    edges = _edges(power.size, count)
    frequency = np.arange(power.size) / count
    band = np.searchsorted(edges, frequency - 1e-9)
    share = np.bincount(band[1:], weights=background[1:], minlength=edges.size)
    return ScoreSpectrum(
        upper_frequency=tuple(float(f"{edge:.6g}") for edge in edges),
        share=tuple(float(f"{part:.4g}") for part in share),
        lines=tuple(
            SpectralLine(
                frequency=float(f"{line / count:.6g}"),
                share=float(f"{power[line] - background[line]:.4g}"),
            )
            for line in lines
        ),
    )


def _edges(size: int, count: int) -> FloatArray:
    """Return the upper ends of the bands, half-way between Fourier frequencies; the last is 0.5."""
    octaves = np.log2(max(size - 1, 1))
    last = np.unique(
        np.floor(2 ** np.arange(0, octaves + 1e-9, 1 / _BANDS_PER_OCTAVE)).astype(np.int64)
    )
    edges = (last[last < size - 1] + 0.5) / count
    return np.append(edges[edges < 0.5], 0.5)


def _lines(power: FloatArray) -> IntArray:
    """Return the Fourier frequencies that stand out, strongest first."""
    strong = [
        int(row)
        for row in np.argsort(-power)[: 2 * _MOST_LINES]
        if row > 2 and power[row] > _LINE_SHARE
    ]
    found = [
        row for row in strong if power[row] > _LINE_EXCESS * float(np.median(_around(power, row)))
    ]
    return np.array(found[:_MOST_LINES], dtype=np.int64)


def _around(power: FloatArray, row: int) -> FloatArray:
    low, high = max(1, row - _SURROUNDINGS), min(power.size, row + _SURROUNDINGS + 1)
    return np.delete(power[low:high], row - low)
