"""The law of one quantity: atoms, then the best family of the rest, its intervals and its fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.distributions import DISCRETE_FAMILIES, MIXTURES, Distribution
from trafficgen.distributions.fitting.cells import Cells, group_ticks
from trafficgen.distributions.fitting.empirical import empirical_law
from trafficgen.distributions.fitting.families import Params, Unit, families_of
from trafficgen.distributions.fitting.likelihood import CLOSED_FORMS, Bounds, fit_closed_form
from trafficgen.distributions.fitting.selection import Candidate, choose, fit_candidates
from trafficgen.distributions.fitting.ticks import Sample, Split, TickCounts, split_atoms
from trafficgen.distributions.fitting.uncertainty import (
    Intervals,
    LawCells,
    TickShares,
    check_fit,
    law_cells,
    share_ticks,
    wald_intervals,
    widen_for_dependence,
)
from trafficgen.distributions.law import Alternative, Atom, GoodnessOfFit, Law
from trafficgen.errors import TooFewObservationsError


class FitLimits:
    """When a family describes a sample; otherwise generation uses the smoothed empirical law."""

    #: Largest KS distance of the continuous part, and largest relative error of its mean.
    ks: float = 0.05
    mean_error: float = 0.03
    #: Mean of a sample / mean of its law at most. A few values that are nearly all of a sum leave
    #: a mean so uncertain that any law would do; gaps would be played this many times as often.
    mean_ratio: float = 10.0
    #: A mixture has more parameters than a description should: it has to be closer than others.
    ks_of_mixture: float = 0.02
    plain_parameters: int = 3
    #: Nor may a few values far beyond the sample make its standard deviation larger by this factor.
    spread_of_mixture: float = 2.0
    #: Sampling error allows nearly every family with fewer values: they have to be this close.
    few_values: int = 100
    ks_of_few: float = 0.1
    #: Fewer values than this do not support a richer family.
    fewest_of_richer: int = 200
    #: The ends of the sample cut a family off if at least this share of it lies beyond them.
    cut_off_share: float = 0.002
    #: Values on at most this many ticks may follow a family without atoms ...
    few_ticks: int = 64
    #: ... with this many ticks more than parameters, and a p-value of at least this.
    spare_ticks: int = 2
    p_value: float = 0.01
    #: The result mentions a stand-in law that is further from the sample than this.
    stand_in_ks: float = 0.05


_LIMITS = FitLimits()
_NO_FAMILY = "the values are too few or too close together for a family"


@dataclass(frozen=True)
class FittedLaw:
    """The fitted law of one quantity."""

    #: Atoms and the best family, as the summary shows it.
    parametric: Law
    #: What generation uses: the same, or a smoothed empirical law where no family fits.
    law: Law
    #: Why the family is not used, or None.
    problem: str | None = None

    @property
    def is_rejected(self) -> bool:
        """Whether the best family was rejected; ``law`` is another one then."""
        return self.law is not self.parametric


@dataclass(frozen=True)
class PlayedLaw:
    """The law of one quantity that generation uses."""

    law: Law
    #: Why no family is used, or None.
    problem: str | None = None
    #: KS distance of the sample to atoms and the best family.
    ks: float = 0.0


@dataclass(frozen=True)
class _Quantity:
    """A sample prepared for fitting: its atoms, and the rest grouped into cells."""

    unit: Unit
    split: Split
    generator: np.random.Generator

    @property
    def tick(self) -> float:
        return self.split.whole.tick

    @property
    def observations(self) -> int:
        return self.split.whole.size

    @property
    def is_difference(self) -> bool:
        return self.unit == "s"

    @property
    def rest(self) -> TickCounts:
        return self.split.others

    @cached_property
    def cells(self) -> Cells:
        return group_ticks(self.rest, is_difference=self.is_difference)

    @cached_property
    def ticks(self) -> TickShares:
        return share_ticks(self.rest)

    def distance_to(self, law: Distribution) -> float:
        return self.ticks.distance_to(law, is_difference=self.is_difference)


@dataclass(frozen=True)
class _Choice:
    """The family that describes a quantity best."""

    quantity: _Quantity
    chosen: Candidate
    candidates: Sequence[Candidate]

    @cached_property
    def ks(self) -> float:
        """Distance of the sample without its atoms."""
        return self.quantity.distance_to(self.chosen.distribution)

    @cached_property
    def whole_ks(self) -> float:
        """Distance of the whole law: atoms have their shares."""
        return self.ks * (self.quantity.rest.size / self.quantity.observations)

    @cached_property
    def described(self) -> Law:
        """The law with its intervals and p-values, which take most of the time of a fit."""
        return _describe_family(self)

    @property
    def is_rejected(self) -> bool:
        """Whether the sample hardly comes from the family."""
        p_value = self.described.fit.p_value if self.described.fit else None
        return p_value is None or p_value < _LIMITS.p_value


def fit_law(
    sample: Sample, *, unit: Unit, tick: float, generator: np.random.Generator
) -> FittedLaw:
    """Fit the law of one quantity.

    Atoms are split off. Families are fitted to the rest by maximum likelihood, as the clock shows
    them (:mod:`~trafficgen.distributions.fitting.cells`), and chosen by
    :func:`~trafficgen.distributions.fitting.selection.choose`. Intervals are exact or from the
    Fisher information, widened where values depend on each other
    (:func:`~trafficgen.distributions.fitting.uncertainty.widen_for_dependence`). Where no family is
    close to the sample, a smoothed empirical law with a Pareto tail replaces it, and the result
    says so.
    With the atoms at their shares, the KS distance of the whole law is that of the continuous part
    times its weight.

    Args:
        sample: The sample in its order in time, shape (n,), values >= 0.
        unit: Its unit; bytes and packets are whole numbers, times differences of clock readings.
        tick: Granularity of its values: the clock's, or 1.
        generator: Source of the bootstrap's draws.

    Raises:
        TooFewObservationsError: If the sample is empty.
    """
    return fit_split(split_sample(sample, unit=unit, tick=tick), unit=unit, generator=generator)


def fit_split(split: Split, *, unit: Unit, generator: np.random.Generator) -> FittedLaw:
    """Do what :func:`fit_law` does for a sample that :func:`split_sample` has split.

    The sample, which may be as long as a session, can be dropped before.
    """
    found = _fit(split, unit=unit, generator=generator)
    if isinstance(found, Law):
        return FittedLaw(found, found)
    quantity, choice = found
    if choice is None:
        law = _fit_empirical(quantity, [])
        return FittedLaw(law, law, _NO_FAMILY)
    played = _play(quantity, choice)
    return FittedLaw(choice.described, played.law, played.problem)


def fit_played_law(split: Split, *, unit: Unit, generator: np.random.Generator) -> PlayedLaw:
    """Fit what generation uses for a quantity as :func:`fit_split` does, at less cost."""
    found = _fit(split, unit=unit, generator=generator)
    if isinstance(found, Law):
        return PlayedLaw(found)
    return _play(*found)


def split_sample(sample: Sample, *, unit: Unit, tick: float) -> Split:
    """Separate a sample into atoms and the rest; raise TooFewObservationsError if it is empty."""
    if sample.size == 0:
        raise TooFewObservationsError(what=f"a law in {unit}", required=1, available=0)
    return split_atoms(sample, tick=tick)


def _fit(
    split: Split, *, unit: Unit, generator: np.random.Generator
) -> Law | tuple[_Quantity, _Choice | None]:
    """Return a law where it is settled, else the quantity and its best family, if there is one."""
    discrete = _fit_few_ticks(split.whole, unit, generator)
    if discrete is not None:
        return discrete
    if split.others.size == 0:
        return Law(
            unit=unit,
            family="atoms",
            atoms=_list_atoms(split),
            integer=unit != "s",
            observations=split.whole.size,
            fit=GoodnessOfFit(ks=0.0, method="the atoms are the sample"),
        )
    quantity = _Quantity(unit, split, generator)
    candidates = _fit_families(quantity)
    return quantity, _Choice(quantity, choose(candidates), candidates) if candidates else None


def _play(quantity: _Quantity, choice: _Choice | None) -> PlayedLaw:
    """Return the law of the best family, or the smoothed empirical law where it does not fit."""
    if choice is None:
        law = _fit_empirical(quantity, [])
        return PlayedLaw(law, _NO_FAMILY, law.fit.ks if law.fit else 0.0)
    problem = _find_misfit(choice)
    if problem is None:
        return PlayedLaw(choice.described, ks=choice.whole_ks)
    stand_in = _fit_empirical(quantity, choice.candidates)
    if stand_in.fit is not None and stand_in.fit.ks > _LIMITS.stand_in_ks:
        off = f"{stand_in.fit.ks:.3f}"
        problem += f"; the smoothed empirical law in its place is off by {off} itself"
    return PlayedLaw(stand_in, problem, choice.whole_ks)


def _fit_few_ticks(counted: TickCounts, unit: Unit, generator: np.random.Generator) -> Law | None:
    """Fit a family without atoms to a sample on few ticks, all of which would be atoms, or None."""
    ticks = counted.number.size
    if unit == "bytes" or ticks > _LIMITS.few_ticks or ticks <= 1 + _LIMITS.spare_ticks:
        return None
    quantity = _Quantity(unit, Split(np.zeros(0), np.zeros(0), counted, counted), generator)
    candidates = fit_candidates(quantity.cells, families_of(unit))
    if not candidates:
        return None
    choice = _Choice(quantity, choose(candidates), candidates)
    if ticks < choice.chosen.parameters + _LIMITS.spare_ticks:
        return None
    fits = not choice.is_rejected and _find_misfit(choice) is None
    return choice.described if fits else None


def _list_atoms(split: Split) -> tuple[Atom, ...]:
    pairs = zip(split.values, split.probabilities, strict=True)
    return tuple(Atom(value=float(value), p=float(p)) for value, p in pairs)


def _fit_families(quantity: _Quantity) -> list[Candidate]:
    """Fit the families of the unit to the rest, and richer ones where the best does not fit."""
    singles = families_of(quantity.unit)
    bounds: Bounds = (None, None)
    candidates = fit_candidates(quantity.cells, singles)
    if not candidates:
        return []
    if quantity.unit != "s" and quantity.split.values.size:
        bounds = _find_cut_off(quantity, candidates)
        if bounds != (None, None):
            candidates = fit_candidates(quantity.cells, singles, bounds=bounds) or candidates
    n, distance = quantity.rest.size, quantity.distance_to(choose(candidates).distribution)
    if distance > KOLMOGOROV_95 / np.sqrt(n) and n >= _LIMITS.fewest_of_richer:
        richer = families_of(quantity.unit, richer=True)
        candidates += fit_candidates(quantity.cells, richer, bounds=bounds)
    return sorted(candidates, key=lambda one: one.bic)


def _find_cut_off(quantity: _Quantity, candidates: Sequence[Candidate]) -> Bounds:
    """Return the bounds that atoms at the ends, such as packets of MTU size, put to the rest.

    They count where enough of the best family without ends of its own lies beyond them.
    """
    values, rest = quantity.split.values, quantity.rest
    minimum = float(values[0]) + 0.5 if values[0] < rest.smallest else None
    maximum = float(values[-1]) - 0.5 if values[-1] > rest.largest else None
    endless = [one.distribution for one in candidates if one.distribution.support[1] == np.inf]
    if not endless:
        return None, None
    below = float(endless[0].cdf(minimum)) if minimum else 0.0
    above = float(endless[0].sf(maximum)) if maximum else 0.0
    return (minimum, maximum) if below + above >= _LIMITS.cut_off_share else (None, None)


def _describe_family(choice: _Choice) -> Law:
    """Describe atoms and the chosen family; sizes stay within the sample, times have no bounds."""
    quantity, chosen = choice.quantity, choice.chosen
    family_law = chosen.maximum.law
    cells = law_cells(family_law, tick=quantity.tick, is_difference=quantity.is_difference)
    params, log_likelihood, intervals = _estimate(quantity, chosen, cells)
    fit = GoodnessOfFit(
        ks=choice.whole_ks,
        method="no p-value: the sample does not determine the family's parameters",
    )
    if cells is not None:
        generator = quantity.generator
        fit = check_fit(quantity.rest, cells, ks=choice.whole_ks, generator=generator)
    return Law(
        unit=quantity.unit,
        family=chosen.family,
        params=params,
        low=intervals.low,
        high=intervals.high,
        atoms=_list_atoms(quantity.split),
        minimum=_smallest_value(quantity, chosen),
        maximum=None if quantity.unit != "bytes" else quantity.rest.largest,
        integer=quantity.unit != "s",
        observations=quantity.observations,
        log_likelihood=log_likelihood,
        alternatives=_list_alternatives(choice.candidates, chosen),
        fit=fit,
    )


def _estimate(
    quantity: _Quantity, chosen: Candidate, cells: LawCells | None
) -> tuple[Params, float, Intervals]:
    """Return parameters, log-likelihood and intervals of the chosen family.

    Values of which none is near the clock's tick have the closed forms, with exact intervals.
    """
    law, rest = chosen.maximum.law, quantity.rest
    fine = quantity.cells.coarse_share == 0 and law.bounds == (None, None)
    has_closed_form = fine and chosen.family in CLOSED_FORMS
    exact = fit_closed_form(chosen.family, rest) if has_closed_form else None
    if exact is not None:
        params, log_likelihood = exact.params, exact.log_likelihood
        intervals = Intervals(exact.low, exact.high)
    elif cells is None:
        return law.params, chosen.log_likelihood, Intervals({}, {})
    else:
        params, log_likelihood = law.params, chosen.log_likelihood
        intervals = wald_intervals(law, cells, observations=rest.size)
        if chosen.family in ("pareto", "truncpareto"):
            intervals = _add_scale_interval(intervals, params, n=rest.size, tick=quantity.tick)
    if cells is not None:
        intervals = widen_for_dependence(law, cells, rest, intervals)
    return params, log_likelihood, intervals


def _add_scale_interval(intervals: Intervals, params: Params, *, n: int, tick: float) -> Intervals:
    """Add the interval of a Pareto scale: from the sample's end to what it may not have shown.

    The smallest of n Pareto values exceeds the scale by a factor that is Pareto with the shape n b.
    """
    smallest = params["scale"]
    unseen = 0.05 ** (1 / (n * params["b"]))
    low = max(smallest * unseen - tick, 0.5 * smallest * unseen)
    return Intervals(intervals.low | {"scale": low}, intervals.high | {"scale": smallest + tick})


def _smallest_value(quantity: _Quantity, chosen: Candidate) -> float | None:
    """Return the lower bound of the law that generation draws from, or None."""
    if quantity.unit == "s":
        return 0.0 if chosen.distribution.support[0] < 0 else None
    smallest = quantity.rest.smallest
    if quantity.unit == "bytes":
        return smallest
    return 1.0 if smallest >= 1 and chosen.family not in DISCRETE_FAMILIES else None


def _list_alternatives(
    candidates: Sequence[Candidate], chosen: Candidate
) -> tuple[Alternative, ...]:
    """Return the other families, best first, each once."""
    others: dict[str, Alternative] = {}
    for one in candidates:
        if one.family != chosen.family and one.family not in others:
            gain, _ = one.compare_held_out(chosen)
            others[one.family] = Alternative(
                family=one.family, delta_bic=one.bic - chosen.bic, held_out=gain
            )
    return tuple(others.values())


def _find_misfit(choice: _Choice) -> str | None:
    """Return how a family is too far from the sample, or None where it is close enough.

    What sampling error allows is allowed to families that are not rejected. In a few values it
    would be anything: there the family has to have their mean, and to be close.
    """
    rest, chosen, ks = choice.quantity.rest, choice.chosen, choice.ks
    root, few = float(np.sqrt(rest.size)), rest.size < _LIMITS.few_values
    by_chance = KOLMOGOROV_95 / root
    if few:
        by_chance = min(by_chance, _LIMITS.ks_of_few)
    rich = chosen.family in MIXTURES and chosen.parameters > _LIMITS.plain_parameters
    # The p-value is the last thing to ask for: it costs the most.
    is_close = ks <= (_LIMITS.ks_of_mixture if rich else _LIMITS.ks)
    if not is_close and (ks > by_chance or choice.is_rejected):
        return f"{chosen.family}, the best family, is off by a KS distance of {ks:.3f}"
    spread, own_spread = math.sqrt(chosen.distribution.variance), rest.deviation
    if rich and not few and spread > _LIMITS.spread_of_mixture * own_spread:
        return (
            f"{chosen.family}, the best family, has the standard deviation {spread:.4g} rather than"
            f" {own_spread:.4g}"
        )
    mean, found = chosen.distribution.mean, rest.mean
    off, error = abs(mean - found), 0.0 if few else 2 * own_spread / root
    has_mean = off <= _LIMITS.mean_error * found
    is_allowed = off <= error and found <= _LIMITS.mean_ratio * mean
    if not has_mean and (not is_allowed or choice.is_rejected):
        return f"{chosen.family}, the best family, has the mean {mean:.4g} rather than {found:.4g}"
    return None


def _fit_empirical(quantity: _Quantity, candidates: Sequence[Candidate]) -> Law:
    """Fit the smoothed empirical law of the rest next to the atoms; name all families tried."""
    ordered = quantity.rest.ascending
    points, tail, largest = empirical_law(
        ordered, tick=quantity.tick, is_difference=quantity.is_difference
    )
    method = "smoothed empirical law, so no p-value"
    if tail is not None:
        method += f"; generalised Pareto tail for the largest {tail.p:.0%}"
    tried: tuple[Alternative, ...] = ()
    if candidates:
        best = Alternative(family=candidates[0].family, delta_bic=0.0, held_out=0.0)
        tried = (best, *_list_alternatives(candidates, candidates[0]))
    law = Law(
        unit=quantity.unit,
        family="quantiles",
        quantiles=points,
        tail=tail,
        maximum=largest,
        atoms=_list_atoms(quantity.split),
        integer=quantity.unit != "s",
        observations=quantity.observations,
        alternatives=tried,
    )
    continuous = law.distribution().continuous
    assert continuous is not None
    ks = quantity.ticks.distance_to(continuous, is_difference=False) * ordered.size
    fit = GoodnessOfFit(ks=ks / quantity.observations, method=method)
    return law.model_copy(update={"fit": fit})
