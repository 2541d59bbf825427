"""Distances between two samples, and how large they get when both come from one law."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.units import FloatArray

#: Mean of the integral of a Brownian bridge's absolute value is sqrt(pi / 32); its 95% point is
#: 1.85 times that (Johnson and Killeen, "An explicit formula for the c.d.f. of the L1 norm of the
#: Brownian bridge", 1983).
_BRIDGE_95_OVER_MEAN = 1.85


@dataclass(frozen=True)
class Distances:
    """How far two samples are apart; NaN where it is undefined.

    Attributes:
        ks: Two-sample Kolmogorov-Smirnov distance, NaN where a sample is empty.
        wasserstein: Wasserstein-1 distance over the reference's standard deviation, NaN where that
            is 0.
    """

    ks: float
    wasserstein: float


def sample_distances(reference: FloatArray, candidate: FloatArray) -> Distances:
    """Compute the distances of two samples in one pass, several times faster than scipy's two.

    Args:
        reference: Sample, ascending, shape (n,).
        candidate: Sample, ascending, shape (m,).
    """
    if reference.size == 0 or candidate.size == 0:
        return Distances(math.nan, math.nan)
    values = np.concatenate((reference, candidate))
    values.sort(kind="stable")  # merges two ascending runs in linear time
    difference = np.searchsorted(reference, values, side="right") / reference.size
    difference -= np.searchsorted(candidate, values, side="right") / candidate.size
    np.abs(difference, out=difference)
    deviation = _deviation(reference)
    wasserstein = (
        float(np.dot(difference[:-1], np.diff(values))) / deviation if deviation > 0 else math.nan
    )
    return Distances(float(difference.max()), wasserstein)


def ks_noise(n: int, m: int) -> float:
    """Compute the KS distance that two samples of one law exceed once in 20; NaN if one is empty.

    It is 1.36 sqrt(1/n + 1/m), exact for large samples of a continuous law and too large for one
    with atoms.
    """
    return KOLMOGOROV_95 * _root_of_inverse_sizes(n, m)


def are_too_few(n: int, m: int) -> bool:
    """Return whether no KS distance of samples of these sizes can exceed chance.

    The largest distance, 1, exceeds chance (:func:`ks_noise`) from 4 values on both sides on, or 3
    on one and 5 on the other, or 2 and 25; with one value never.
    """
    return not ks_noise(n, m) < 1.0


def wasserstein_noise(reference: FloatArray, candidate_size: int) -> float:
    """Approximate the Wasserstein distance that two samples of one law exceed once in 20.

    The mean distance of two samples of a law F is sqrt(2 / pi) sqrt(1/n + 1/m) times the integral
    of sqrt(F (1 - F)) (del Barrio, Gine and Matran, "Central limit theorems for the Wasserstein
    distance", 1999); the 95% point is taken as 1.85 times the mean, which is exact for the uniform
    law.

    Args:
        reference: Sample, ascending, shape (n,).
        candidate_size: Size m of the other sample.
    """
    deviation = _deviation(reference)
    if not deviation > 0:
        return math.nan
    n = reference.size
    below = np.arange(1, n) / n
    integral = float(np.sum(np.sqrt(below * (1 - below)) * np.diff(reference)))
    mean = math.sqrt(2 / math.pi) * _root_of_inverse_sizes(n, candidate_size) * integral
    return _BRIDGE_95_OVER_MEAN * mean / deviation


def _deviation(sample: FloatArray) -> float:
    """Return the standard deviation of an ascending sample, 0 for a constant one, NaN if empty."""
    if sample.size == 0:
        return math.nan
    if sample[0] == sample[-1]:
        return 0.0  # the mean of equal numbers may be off by a rounding
    return float(np.std(sample))


def _root_of_inverse_sizes(n: int, m: int) -> float:
    return math.sqrt(1 / n + 1 / m) if n and m else math.nan
