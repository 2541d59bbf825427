"""The law of one quantity: atoms, then the best family of the rest, and how well it fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trafficgen.calibration.atoms import Split, split_atoms
from trafficgen.calibration.empirical import quantile_points
from trafficgen.calibration.families import FamilyFit, fit_families
from trafficgen.calibration.goodness_of_fit import P_VALUE_METHOD, bootstrap_p_value, ks_distance
from trafficgen.calibration.truncated_families import fit_truncated_family
from trafficgen.distributions import Quantiles
from trafficgen.errors import TooFewObservationsError
from trafficgen.flows import spread_over_tick
from trafficgen.models import Alternative, Atom, GoodnessOfFit, Law
from trafficgen.units import FloatArray

#: A family whose continuous part is further than this from the sample, or whose mean is off by more than this share,
#: does not stand for it: generation then uses the smoothed empirical law.
LARGEST_KS = 0.05
LARGEST_MEAN_ERROR = 0.03
#: 5% point of the Kolmogorov distribution: distances below this over the root of n are sampling error.
KS_CRITICAL = 1.36

#: Where the best family has less than this beyond the atoms that could cut it off, they do not.
_CUT_OFF_SHARE = 0.002

Unit = Literal["s", "bytes", "packets"]


@dataclass(frozen=True)
class FittedLaw:
    """What a fit says about one quantity.

    Attributes:
        parametric: Atoms and the best family; the summary shows it.
        law: What generation uses: the same, or a smoothed empirical law where no family fits.
        problem: Why the family is not used, or None.
    """

    parametric: Law
    law: Law
    problem: str | None = None


def fit_law(sample: FloatArray, *, unit: Unit, tick: float, generator: np.random.Generator) -> FittedLaw:
    """Fit the law of one quantity.

    Atoms are split off. Equal values of the rest are spread over one clock tick around them, so that neither zeros nor
    ties break a likelihood; families are fitted by maximum likelihood and chosen by BIC. With the atoms at their
    shares, the KS distance of the whole law is that of the continuous part times its weight.

    Args:
        sample: The sample, shape (n,), values >= 0.
        unit: Its unit, ``"s"``, ``"bytes"`` or ``"packets"``; the latter two are whole numbers.
        tick: Granularity of its values: the clock's, or 1.
        generator: Source of the bootstrap's draws.

    Raises:
        TooFewObservationsError: If the sample is empty.
    """
    if sample.size == 0:
        raise TooFewObservationsError(what=f"a law in {unit}", required=1, available=0)
    split = split_atoms(sample, tick=tick)
    n = int(sample.size)
    if split.rest.size == 0:
        law = _law(split, unit=unit, observations=n, fit=GoodnessOfFit(ks=0.0, method="the atoms are the sample"))
        return FittedLaw(law, law)
    rest = spread_over_tick(split.rest, tick_s=tick)
    fits = _fits(split, rest, unit=unit)
    if not fits:
        law = _empirical(split, rest, unit=unit, observations=n, alternatives=[])
        return FittedLaw(law, law, "the values are too few or too close together for a family")
    parametric = _parametric(split, rest, fits, unit=unit, observations=n, tick=tick, generator=generator)
    problem = _misfit(rest, parametric)
    if problem is None:
        return FittedLaw(parametric, parametric)
    return FittedLaw(parametric, _empirical(split, rest, unit=unit, observations=n, alternatives=fits), problem)


def _fits(split: Split, rest: FloatArray, *, unit: Unit) -> list[FamilyFit]:
    """Return the families fitted to the rest, best first; sizes that an atom cuts off are fitted within that bound."""
    fits = fit_families(rest)
    if unit == "s" or not fits or split.values.size == 0:
        return fits
    minimum = float(split.values[0]) + 0.5 if split.values[0] < split.rest[0] else None
    maximum = float(split.values[-1]) - 0.5 if split.values[-1] > split.rest[-1] else None
    whole = fits[0].distribution
    beyond = (float(whole.cdf(minimum)) if minimum else 0.0) + (float(whole.sf(maximum)) if maximum else 0.0)
    if beyond < _CUT_OFF_SHARE:
        return fits
    within = {fit.family: fit_truncated_family(fit.family, rest, minimum=minimum, maximum=maximum) for fit in fits}
    return sorted((within[fit.family] or fit for fit in fits), key=lambda fit: fit.bic)


def _parametric(
    split: Split,
    rest: FloatArray,
    fits: list[FamilyFit],
    *,
    unit: Unit,
    observations: int,
    tick: float,
    generator: np.random.Generator,
) -> Law:
    """Return atoms beside the best family; sizes stay within what was seen, times are not bounded."""
    best = fits[0]
    ks = ks_distance(rest, best.distribution) * rest.size / observations
    bounds = (None, None) if unit == "s" else (float(split.rest[0]), float(split.rest[-1]))
    return _law(
        split,
        unit=unit,
        observations=observations,
        best=best,
        bounds=bounds,
        alternatives=tuple(Alternative(family=fit.family, delta_bic=fit.bic - best.bic) for fit in fits[1:]),
        fit=GoodnessOfFit(
            ks=ks, p_value=bootstrap_p_value(rest, best, tick=tick, generator=generator), method=P_VALUE_METHOD
        ),
    )


def _misfit(rest: FloatArray, law: Law) -> str | None:
    """Return in what a fitted law is too far from the sample, or None where it is close enough."""
    continuous = law.distribution().continuous
    assert continuous is not None
    ks, mean, found = ks_distance(rest, continuous), continuous.mean, float(rest.mean())
    if ks > max(LARGEST_KS, KS_CRITICAL / np.sqrt(rest.size)):
        return f"{law.family}, the best family, is off by a KS distance of {ks:.3f}"
    standard_error = float(rest.std()) / np.sqrt(rest.size)
    if not abs(mean - found) <= max(LARGEST_MEAN_ERROR * found, 2 * standard_error):
        return f"{law.family}, the best family, has the mean {mean:.4g} rather than {found:.4g}"
    return None


def _law(
    split: Split,
    *,
    unit: Unit,
    observations: int,
    fit: GoodnessOfFit,
    best: FamilyFit | None = None,
    bounds: tuple[float | None, float | None] = (None, None),
    alternatives: tuple[Alternative, ...] = (),
) -> Law:
    """Return atoms beside a fitted family, or atoms alone."""
    return Law(
        unit=unit,
        family=best.family if best else "atoms",
        params=best.params if best else {},
        low=best.low if best else {},
        high=best.high if best else {},
        atoms=_atoms(split),
        minimum=bounds[0],
        maximum=bounds[1],
        integer=unit != "s",
        observations=observations,
        log_likelihood=best.log_likelihood if best else None,
        alternatives=alternatives,
        fit=fit,
    )


def _empirical(split: Split, rest: FloatArray, *, unit: Unit, observations: int, alternatives: list[FamilyFit]) -> Law:
    """Return the smoothed empirical law of the rest beside the same atoms; all families that were tried are named."""
    points = quantile_points(rest)
    law = Quantiles(probabilities=tuple(q.p for q in points), values=tuple(q.value for q in points))
    least = alternatives[0].bic if alternatives else 0.0
    return Law(
        unit=unit,
        family="quantiles",
        quantiles=points,
        atoms=_atoms(split),
        integer=unit != "s",
        observations=observations,
        alternatives=tuple(Alternative(family=fit.family, delta_bic=fit.bic - least) for fit in alternatives),
        fit=GoodnessOfFit(
            ks=ks_distance(rest, law) * rest.size / observations, method="smoothed empirical law, so no p-value"
        ),
    )


def _atoms(split: Split) -> tuple[Atom, ...]:
    return tuple(
        Atom(value=float(value), p=float(p)) for value, p in zip(split.values, split.probabilities, strict=True)
    )
