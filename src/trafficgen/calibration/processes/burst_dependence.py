"""How the bursts of a stream hang together: autocorrelations and rank correlations."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.laws.ranks import rank_correlation
from trafficgen.calibration.processes.phase_packets import PhasePackets
from trafficgen.flows import Bursts
from trafficgen.models import BurstDependence
from trafficgen.processes.autocorrelated_series import sample_autocorrelation
from trafficgen.processes.burst_dependence import normal_scores
from trafficgen.units import FloatArray, IntArray

#: Fewer bursts than this say nothing about dependence.
_FEWEST_BURSTS = 16
_LARGEST_LAG_SHARE = 1 / 3
_MOST_LAGS = 24
#: Correlations within this many standard errors of 0 are taken for 0.
_STANDARD_ERRORS = 2.0
_DIGITS = 4


def burst_dependence(bursts: Bursts, packets: PhasePackets) -> BurstDependence | None:
    """Return how bursts hang together, or None where they are too few or look independent.

    Autocorrelations and correlations are those of the ranks (normal scores), which is what playing
    restores; those of no more than two standard errors are 0. Gaps of one burst resemble one
    another where chunks come at different rates, by the path and by the level that was fetched.

    Args:
        bursts: The bursts.
        packets: The packets that they were cut from.
    """
    count = bursts.packets.size
    if count < _FEWEST_BURSTS:
        return None
    sizes = normal_scores(bursts.packets.astype(np.float64))
    spacings = normal_scores(bursts.spacing_s)
    limit = _STANDARD_ERRORS / np.sqrt(count)
    gap_correlation, of_burst, gap_score = _gap_correlation(bursts, packets)
    found = BurstDependence(
        packets_autocorrelation=_autocorrelation(sizes, limit=limit),
        spacing_autocorrelation=_autocorrelation(spacings, limit=limit),
        packets_to_spacing=_rank_correlation(
            bursts.packets[:-1].astype(np.float64), bursts.spacing_s
        ),
        gap_correlation=gap_correlation,
        packets_to_gap=_rank_correlation(bursts.packets[of_burst].astype(np.float64), gap_score),
    )
    return None if found == BurstDependence() else found


def _autocorrelation(scores: FloatArray, *, limit: float) -> tuple[float, ...]:
    """Return the sample autocorrelation, empty where no lag stands out."""
    lags = min(_MOST_LAGS, int(scores.size * _LARGEST_LAG_SHARE))
    found = sample_autocorrelation(scores, lags)
    if np.max(np.abs(found), initial=0.0) <= limit:
        return ()
    return tuple(round(float(value), _DIGITS) for value in found)


def _rank_correlation(one: FloatArray, other: FloatArray) -> float:
    if one.size < _FEWEST_BURSTS or np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    found = rank_correlation(one, other)
    return round(found, _DIGITS) if abs(found) > _STANDARD_ERRORS / np.sqrt(one.size) else 0.0


def _gap_correlation(bursts: Bursts, packets: PhasePackets) -> tuple[float, IntArray, FloatArray]:
    """Return the correlation of the ranks of gaps of one burst, the bursts with gaps, and the mean
    score of each.

    The intraclass correlation by the analysis of variance with one factor (Fisher 1925; Donner
    1986).
    """
    with_gaps = np.flatnonzero(bursts.packets > 1)
    counts = bursts.packets[with_gaps] - 1
    if with_gaps.size < _FEWEST_BURSTS or counts.sum() <= 2 * with_gaps.size:
        return 0.0, with_gaps[:0], np.zeros(0)
    scores = normal_scores(packets.gap_s[bursts.within])
    first = np.cumsum(counts) - counts
    mean = np.add.reduceat(scores, first) / counts
    between = float(np.dot(counts, (mean - scores.mean()) ** 2)) / (with_gaps.size - 1)
    within = float(((scores - np.repeat(mean, counts)) ** 2).sum()) / (scores.size - with_gaps.size)
    typical = (scores.size - float(np.dot(counts, counts)) / scores.size) / (with_gaps.size - 1)
    found = (between - within) / (between + (typical - 1) * within)
    return round(float(np.clip(found, 0.0, 1.0)), _DIGITS), with_gaps, mean
