"""Kolmogorov-Smirnov distance of a sample to a fitted law, and its p-value by parametric bootstrap."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.families import FamilyFit, fit_family
from trafficgen.calibration.truncated_families import fit_truncated_family
from trafficgen.distributions import Distribution
from trafficgen.flows import spread_over_tick
from trafficgen.units import FloatArray

#: Size of the subsample and number of bootstrap samples of a p-value.
SUBSAMPLE = 1000
REPLICATES = 99
#: Sampling error moves the parameters of a replicate far more than this.
_REPLICATE_TOLERANCE = 1e-3
P_VALUE_METHOD = (
    f"parametric bootstrap of the KS distance with refitting, {REPLICATES} replicates, on a subsample of at most"
    f" {SUBSAMPLE} values"
)


def ks_distance(sorted_sample: FloatArray, law: Distribution) -> float:
    """Return the largest distance of a sample's distribution function to a law's.

    Args:
        sorted_sample: Sample, ascending, shape (n,), n > 0.
        law: A law with a density.
    """
    n = sorted_sample.size
    expected = law.cdf(sorted_sample)
    above = np.arange(1, n + 1) / n - expected
    below = expected - np.arange(n) / n
    return float(min(1.0, max(above.max(), below.max(), 0.0)))


def bootstrap_p_value(
    sample: FloatArray, fit: FamilyFit, *, tick: float, generator: np.random.Generator
) -> float | None:
    """Return the p-value of the KS distance when the parameters were estimated from the same sample.

    The test is made on a random subsample of at most 1000 values: fit and distance there, against the distances of
    samples of the same size, drawn from that fit, rounded to the clock tick and fitted anew (Stute, Gonzalez-Manteiga
    and Presedo-Quindimil 1993; Lilliefors 1967 for why the classical table does not apply).

    Args:
        sample: The sample, shape (n,).
        fit: The family that was chosen on the whole sample.
        tick: Granularity of the values.
        generator: Source of the subsample and the bootstrap samples.

    Returns:
        The p-value, or None where the subsample cannot be fitted.
    """
    part = sample if sample.size <= SUBSAMPLE else generator.choice(sample, SUBSAMPLE, replace=False)
    part = np.sort(part)
    refitted = _refit(fit, part)
    if refitted is None:
        return None
    law = refitted.distribution
    distance = ks_distance(part, law)
    further, used = 0, 0
    for _ in range(REPLICATES):
        drawn = np.sort(np.rint(law.sample(generator, part.size) / tick) * tick)
        drawn = spread_over_tick(drawn, tick_s=tick)
        again = _refit(fit, drawn)
        if again is not None:
            used += 1
            further += ks_distance(drawn, again.distribution) >= distance
    return (1 + further) / (1 + used)


def _refit(fit: FamilyFit, values: FloatArray) -> FamilyFit | None:
    """Fit the same family, with the same bounds, to other values."""
    if fit.minimum is None and fit.maximum is None:
        return fit_family(fit.family, values)
    return fit_truncated_family(
        fit.family, values, minimum=fit.minimum, maximum=fit.maximum, tolerance=_REPLICATE_TOLERANCE
    )
