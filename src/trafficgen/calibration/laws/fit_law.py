"""The law of one quantity: atoms, then the best family of the rest, how sure it is, and how well it
fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.laws.atoms import Split, split_atoms, without_atoms
from trafficgen.calibration.laws.cells import Cells, group
from trafficgen.calibration.laws.closed_forms import ESTIMATORS, fit_family
from trafficgen.calibration.laws.empirical import empirical_law
from trafficgen.calibration.laws.goodness_of_fit import (
    P_VALUE_METHOD,
    FitCheck,
    check_fit,
    ks_distance,
)
from trafficgen.calibration.laws.intervals import (
    Intervals,
    LawCells,
    law_cells,
    wald_intervals,
    widen_for_dependence,
)
from trafficgen.calibration.laws.likelihood import Bounds
from trafficgen.calibration.laws.parameters import ENDS
from trafficgen.calibration.laws.selection import (
    RICHER_FAMILIES,
    SINGLE_FAMILIES,
    Candidate,
    Unit,
    choose,
    fit_candidates,
)
from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.distributions import DISCRETE_FAMILIES, MIXTURES
from trafficgen.errors import TooFewObservationsError
from trafficgen.models import Alternative, Atom, GoodnessOfFit, Law
from trafficgen.units import FloatArray

#: A family whose continuous part is further than this from the sample, or whose mean is off by more
#: than this share, does not stand for it: generation then uses the smoothed empirical law.
LARGEST_KS = 0.05
LARGEST_MEAN_ERROR = 0.03
#: A mixture, which has more parameters than a description should, has to be closer.
LARGEST_KS_OF_MIXTURE = 0.02
#: Of fewer values than this, sampling error alone allows nearly every family: it has to be as close
#: as this as well.
_FEW_VALUES = 100
LARGEST_KS_OF_FEW = 0.1
#: Fewer values than this tell no richer family.
_FEWEST_OF_RICHER = 200
_PLAIN = 3

#: Where the best family has less than this beyond the atoms that could cut it off, they do not.
_CUT_OFF_SHARE = 0.002
#: Whole numbers, and times that a coarse clock shows on so few ticks, may be a family with no atoms
#: at all ...
_FEW_TICKS = 64
#: ... if this many ticks more than it has parameters tell, and its p-value is above this.
_SPARE_TICKS = 2
_SMALLEST_P_VALUE = 0.01
#: Larger KS distances of a stand-in law are said.
_LARGE_STAND_IN_KS = 0.05


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


@dataclass(frozen=True)
class _Quantity:
    """A sample with what is needed to fit it.

    Attributes:
        unit: Unit of its values.
        tick: Their granularity.
        observations: Size of the sample.
        split: Its atoms and the rest.
        cells: The rest, grouped.
        generator: Source of the bootstrap's draws.
    """

    unit: Unit
    tick: float
    observations: int
    split: Split
    cells: Cells
    generator: np.random.Generator

    @property
    def is_difference(self) -> bool:
        """Whether values are differences of two clock readings."""
        return self.unit == "s"

    @property
    def rest(self) -> FloatArray:
        """What is no atom, in the sample's order."""
        return self.split.rest


def fit_law(
    sample: FloatArray, *, unit: Unit, tick: float, generator: np.random.Generator
) -> FittedLaw:
    """Fit the law of one quantity.

    Atoms are split off. Families are fitted to the rest by maximum likelihood, as the clock shows
    them (:mod:`trafficgen.calibration.laws.cells`), and chosen by
    :func:`trafficgen.calibration.laws.selection.choose`. Intervals are exact or from the Fisher
    information, stretched where values depend on each other
    (:func:`trafficgen.calibration.laws.intervals.widen_for_dependence`). Where no family is close to
    the sample, a smoothed empirical law with a Pareto tail stands in, and the result says so. With
    the atoms at their shares, the KS distance of the whole law is that of the continuous part times
    its weight.

    Args:
        sample: The sample in its order in time, shape (n,), values >= 0.
        unit: Its unit, ``"s"``, ``"bytes"`` or ``"packets"``; the latter two are whole numbers, the
            first a difference of two clock readings.
        tick: Granularity of its values: the clock's, or 1.
        generator: Source of the bootstrap's draws.

    Raises:
        TooFewObservationsError: If the sample is empty.
    """
    if sample.size == 0:
        raise TooFewObservationsError(what=f"a law in {unit}", required=1, available=0)
    whole = _law_without_atoms(sample, unit=unit, tick=tick, generator=generator)
    if whole is not None:
        return FittedLaw(whole, whole)
    split = split_atoms(sample, tick=tick)
    if split.rest.size == 0:
        fit = GoodnessOfFit(ks=0.0, method="the atoms are the sample")
        law = Law(
            unit=unit,
            family="atoms",
            atoms=_atoms(split),
            integer=unit != "s",
            observations=sample.size,
            fit=fit,
        )
        return FittedLaw(law, law)
    quantity = _quantity(split, unit=unit, tick=tick, observations=sample.size, generator=generator)
    candidates = _candidates(quantity)
    if not candidates:
        law = _empirical(quantity, candidates)
        return FittedLaw(law, law, "the values are too few or too close together for a family")
    chosen = choose(candidates)
    parametric, check = _parametric(quantity, chosen, candidates)
    problem = _misfit(quantity, chosen, check)
    if problem is None:
        return FittedLaw(parametric, parametric)
    stand_in = _empirical(quantity, candidates)
    if stand_in.fit is not None and stand_in.fit.ks > _LARGE_STAND_IN_KS:
        problem += (
            f"; the smoothed empirical law in its place is off by {stand_in.fit.ks:.3f} itself"
        )
    return FittedLaw(parametric, stand_in, problem)


def _quantity(
    split: Split, *, unit: Unit, tick: float, observations: int, generator: np.random.Generator
) -> _Quantity:
    cells = group(split.rest, tick=tick, is_difference=unit == "s")
    return _Quantity(unit, tick, observations, split, cells, generator)


def _law_without_atoms(
    sample: FloatArray, *, unit: Unit, tick: float, generator: np.random.Generator
) -> Law | None:
    """Return a family for a sample on few ticks, all of which would be atoms, where it fits well;
    else None.
    """
    if unit == "bytes":
        return None
    split = without_atoms(sample, tick=tick)
    ticks = np.unique(np.rint(sample / tick)).size
    if ticks > _FEW_TICKS or ticks <= 1 + _SPARE_TICKS:
        return None
    quantity = _quantity(split, unit=unit, tick=tick, observations=sample.size, generator=generator)
    candidates = fit_candidates(quantity.cells, SINGLE_FAMILIES[unit])
    if not candidates:
        return None
    chosen = choose(candidates)
    if ticks < chosen.parameters + _SPARE_TICKS:
        return None
    law, check = _parametric(quantity, chosen, candidates)
    rejected = check is None or check.ks_p_value < _SMALLEST_P_VALUE
    return None if rejected or _misfit(quantity, chosen, check) is not None else law


def _candidates(quantity: _Quantity) -> list[Candidate]:
    """Return the families fitted to the rest, best first; richer ones where the best one does not
    fit.
    """
    singles = SINGLE_FAMILIES[quantity.unit]
    bounds: Bounds = (None, None)
    candidates = fit_candidates(quantity.cells, singles)
    if not candidates:
        return []
    if quantity.unit != "s" and quantity.split.values.size:
        bounds = _cut_off(quantity, candidates)
        if bounds != (None, None):
            candidates = fit_candidates(quantity.cells, singles, bounds=bounds) or candidates
    chosen = choose(candidates)
    distance = _distance(quantity, chosen)
    if (
        distance > KOLMOGOROV_95 / np.sqrt(quantity.rest.size)
        and quantity.rest.size >= _FEWEST_OF_RICHER
    ):
        candidates += fit_candidates(quantity.cells, RICHER_FAMILIES[quantity.unit], bounds=bounds)
    return sorted(candidates, key=lambda one: one.bic)


def _cut_off(quantity: _Quantity, candidates: Sequence[Candidate]) -> Bounds:
    """Return the bounds that atoms at the ends, such as packets that fill the MTU, put to the rest.

    The best family without ends of its own tells how much of it lies beyond.
    """
    values, rest = quantity.split.values, quantity.rest
    minimum = float(values[0]) + 0.5 if values[0] < rest.min() else None
    maximum = float(values[-1]) - 0.5 if values[-1] > rest.max() else None
    endless = [one.distribution for one in candidates if one.distribution.support[1] == np.inf]
    if not endless:
        return None, None
    law = endless[0]
    beyond = (float(law.cdf(minimum)) if minimum else 0.0) + (
        float(law.sf(maximum)) if maximum else 0.0
    )
    return (minimum, maximum) if beyond >= _CUT_OFF_SHARE else (None, None)


def _distance(quantity: _Quantity, candidate: Candidate) -> float:
    return ks_distance(
        quantity.rest,
        candidate.distribution,
        tick=quantity.tick,
        is_difference=quantity.is_difference,
    )


def _parametric(
    quantity: _Quantity, chosen: Candidate, candidates: Sequence[Candidate]
) -> tuple[Law, FitCheck | None]:
    """Return atoms beside the chosen family; sizes stay within what was seen, times are not
    bounded.
    """
    cells = law_cells(chosen.maximum, tick=quantity.tick, is_difference=quantity.is_difference)
    params, log_likelihood, intervals = _estimate(quantity, chosen, cells)
    check = (
        check_fit(quantity.rest, cells, generator=quantity.generator) if cells is not None else None
    )
    weight = quantity.rest.size / quantity.observations
    law = Law(
        unit=quantity.unit,
        family=chosen.family,
        params=params,
        low=intervals.low,
        high=intervals.high,
        atoms=_atoms(quantity.split),
        minimum=_smallest(quantity, chosen),
        maximum=None if quantity.unit != "bytes" else float(quantity.rest.max()),
        integer=quantity.unit != "s",
        observations=quantity.observations,
        log_likelihood=log_likelihood,
        alternatives=_alternatives(candidates, chosen),
        fit=_goodness(_distance(quantity, chosen) * weight, check),
    )
    return law, check


def _estimate(
    quantity: _Quantity, chosen: Candidate, cells: LawCells | None
) -> tuple[dict[str, float], float, Intervals]:
    """Return parameters, log-likelihood and intervals of the chosen family.

    Values of which none is near the clock's tick have the closed forms, with exact intervals.
    """
    maximum = chosen.maximum
    exact = None
    if (
        quantity.cells.coarse_share == 0
        and maximum.bounds == (None, None)
        and chosen.family in ESTIMATORS
    ):
        exact = fit_family(chosen.family, quantity.rest)
    if exact is not None:
        params, log_likelihood, intervals = (
            exact.params,
            exact.log_likelihood,
            Intervals(exact.low, exact.high),
        )
    elif cells is None:
        return maximum.params, chosen.log_likelihood, Intervals({}, {})
    else:
        params, log_likelihood = maximum.params, chosen.log_likelihood
        intervals = wald_intervals(maximum, cells, observations=quantity.rest.size)
        intervals = _with_ends(quantity, chosen, intervals)
    if cells is not None:
        intervals, _ = widen_for_dependence(maximum, cells, quantity.rest, intervals)
    return params, log_likelihood, intervals


def _with_ends(quantity: _Quantity, chosen: Candidate, intervals: Intervals) -> Intervals:
    """Add intervals of the parameters that are ends of the sample: from where it ends to what it
    may not have shown.

    The smallest of n Pareto values exceeds the scale by a factor that is Pareto with the shape n b.
    """
    if chosen.family not in ENDS or "b" not in intervals.low or "scale" not in ENDS[chosen.family]:
        return intervals
    if chosen.family not in ("pareto", "truncpareto"):
        return intervals
    smallest = chosen.maximum.params["scale"]
    unseen = 0.05 ** (1 / (quantity.rest.size * chosen.maximum.params["b"]))
    return Intervals(
        intervals.low | {"scale": max(smallest * unseen - quantity.tick, 0.5 * smallest * unseen)},
        intervals.high | {"scale": smallest + quantity.tick},
    )


def _smallest(quantity: _Quantity, chosen: Candidate) -> float | None:
    if quantity.unit == "s":
        return 0.0 if chosen.family == "norm" else None
    smallest = float(quantity.rest.min())
    if quantity.unit == "bytes":
        return smallest
    return 1.0 if smallest >= 1 and chosen.family not in DISCRETE_FAMILIES else None


def _goodness(ks: float, check: FitCheck | None) -> GoodnessOfFit:
    if check is None:
        return GoodnessOfFit(
            ks=ks, method="no p-value: the sample does not tell the family's parameters"
        )
    return GoodnessOfFit(
        ks=ks,
        p_value=check.ks_p_value,
        anderson_darling=check.anderson_darling,
        anderson_darling_p_value=check.anderson_darling_p_value,
        method=P_VALUE_METHOD,
    )


def _alternatives(candidates: Sequence[Candidate], chosen: Candidate) -> tuple[Alternative, ...]:
    """Return the other families, best first, each once."""
    others: dict[str, Alternative] = {}
    for one in candidates:
        if one.family != chosen.family and one.family not in others:
            gain, _ = one.held_out_gain(chosen)
            others[one.family] = Alternative(
                family=one.family, delta_bic=one.bic - chosen.bic, held_out=gain
            )
    return tuple(others.values())


def _misfit(quantity: _Quantity, chosen: Candidate, check: FitCheck | None) -> str | None:
    """Return in what a fitted law is too far from the sample, or None where it is close enough.

    What sampling error allows is allowed to families that are not rejected. In a few values it
    would be anything: there the family has to have their mean, and to be close.
    """
    rest, law = quantity.rest, chosen.distribution
    ks, mean, found = _distance(quantity, chosen), law.mean, float(rest.mean())
    largest_ks = (
        LARGEST_KS_OF_MIXTURE
        if chosen.family in MIXTURES and chosen.parameters > _PLAIN
        else LARGEST_KS
    )
    n, rejected = rest.size, check is None or check.ks_p_value < _SMALLEST_P_VALUE
    few = n < _FEW_VALUES
    by_chance = 0.0 if rejected else KOLMOGOROV_95 / float(np.sqrt(n))
    if ks > max(largest_ks, min(by_chance, LARGEST_KS_OF_FEW) if few else by_chance):
        return f"{chosen.family}, the best family, is off by a KS distance of {ks:.3f}"
    error = 0.0 if rejected or few else 2 * float(rest.std()) / float(np.sqrt(n))
    if not abs(mean - found) <= max(LARGEST_MEAN_ERROR * found, error):
        return f"{chosen.family}, the best family, has the mean {mean:.4g} rather than {found:.4g}"
    return None


def _empirical(quantity: _Quantity, candidates: Sequence[Candidate]) -> Law:
    """Return the smoothed empirical law of the rest beside the same atoms; all families that were
    tried are named.
    """
    ordered = np.sort(quantity.rest)
    found = empirical_law(ordered, tick=quantity.tick, is_difference=quantity.is_difference)
    method = "smoothed empirical law, so no p-value"
    if found.tail is not None:
        method += f"; generalised Pareto tail for the largest {found.tail.p:.0%}"
    law = Law(
        unit=quantity.unit,
        family="quantiles",
        quantiles=found.points,
        tail=found.tail,
        maximum=found.largest,
        atoms=_atoms(quantity.split),
        integer=quantity.unit != "s",
        observations=quantity.observations,
        alternatives=_alternatives_of_none(candidates),
    )
    continuous = law.distribution().continuous
    assert continuous is not None
    ks = ks_distance(ordered, continuous, tick=quantity.tick, is_difference=False) * ordered.size
    return law.model_copy(
        update={"fit": GoodnessOfFit(ks=ks / quantity.observations, method=method)}
    )


def _alternatives_of_none(candidates: Sequence[Candidate]) -> tuple[Alternative, ...]:
    """Return all families that were tried, against the one with the smallest BIC."""
    if not candidates:
        return ()
    best = candidates[0]
    return (
        Alternative(family=best.family, delta_bic=0.0, held_out=0.0),
        *_alternatives(candidates, best),
    )


def _atoms(split: Split) -> tuple[Atom, ...]:
    return tuple(
        Atom(value=float(value), p=float(p))
        for value, p in zip(split.values, split.probabilities, strict=True)
    )
