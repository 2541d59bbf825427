"""Fit the families of a quantity to a sample, and choose among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trafficgen.distributions import MIXTURES, OWN_FAMILIES, Distribution
from trafficgen.distributions.fitting.cells import Cells
from trafficgen.distributions.fitting.families import (
    count_parameters,
    initial_estimates,
    raise_failures,
)
from trafficgen.distributions.fitting.likelihood import (
    FEWEST_VALUES,
    MOST_ROUNDS,
    SMALLEST_LOG_SPREAD,
    Bounds,
    FamilyLaw,
    Maximum,
    maximise,
)
from trafficgen.distributions.law import Family
from trafficgen.units import FloatArray


class SelectionLimits:
    """When a richer family is taken, and how much work goes into each."""

    #: A richer family needs a BIC smaller by this: "strong" evidence of Kass and Raftery (1995).
    bic_gain: float = 6.0
    #: ... and a held-out likelihood larger by this many standard errors.
    held_out_errors: float = 1.0
    #: A family needs this many values for each parameter; two parameters need no more than this.
    values_per_parameter: int = 10
    values_of_two: int = 20
    #: Each start gets this many steps; a family further behind the best of all than this share of
    #: the sample (and this much) goes no further: it is not taken wherever its maximum is.
    first_rounds: int = 5
    far_behind: float = 0.02
    far_behind_at_least: float = 30.0
    #: Mixtures creep towards their maximum where they do not fit: they get this many steps.
    rounds_of_mixtures: int = 15
    #: With less of the law between the bounds, what lies there does not determine the law.
    smallest_mass: float = 0.05


_LIMITS = SelectionLimits()


@dataclass(frozen=True)
class Candidate:
    """A family fitted to a sample."""

    maximum: Maximum
    #: At the estimate, as of a density.
    log_likelihood: float
    #: Log-probabilities of the cells by the law fitted to the other folds, shape (5, k).
    held_out: FloatArray
    #: Values of each fold in each cell, shape (5, k).
    fold_counts: FloatArray

    @property
    def family(self) -> Family:
        """Name of the family."""
        return self.maximum.law.family

    @property
    def distribution(self) -> Distribution:
        """The fitted law."""
        return self.maximum.law.distribution

    @cached_property
    def parameters(self) -> int:
        """How many numbers were estimated."""
        return count_parameters(self.maximum.law.family, self.maximum.law.params)

    @cached_property
    def bic(self) -> float:
        """Bayesian information criterion (Schwarz 1978); smaller is better."""
        return self.parameters * float(np.log(self.fold_counts.sum())) - 2 * self.log_likelihood

    def compare_held_out(self, other: Candidate) -> tuple[float, float]:
        """Compare the held-out log-likelihood with another's: the gain and its standard error."""
        difference = self.held_out - other.held_out
        n = float(self.fold_counts.sum())
        gain = float((self.fold_counts * difference).sum())
        variance = float((self.fold_counts * difference**2).sum()) / n - (gain / n) ** 2
        return gain, float(np.sqrt(max(variance, 0.0) * n))


@np.errstate(all="ignore")  # starts that are not finite are left
def fit_candidates(
    cells: Cells, families: Sequence[str], *, bounds: Bounds = (None, None)
) -> list[Candidate]:
    """Fit families to a sample and return those that could be fitted, smallest BIC first.

    Names of mixtures end in a slash and the number of components. Values beyond the bounds cannot
    be seen.
    """
    if cells.n < FEWEST_VALUES or cells.sd_log < SMALLEST_LOG_SPREAD:
        return []
    first = [one for family in families if (one := _first_maximum(family, cells, bounds))]
    behind = max(_LIMITS.far_behind_at_least, _LIMITS.far_behind * cells.n)
    reached = max((one.value(cells.counts) for one in first), default=0.0) - behind
    found = [_polish(one, cells) if one.value(cells.counts) >= reached else one for one in first]
    candidates = [_cross_validate(one, cells) for one in found if one and _is_identifiable(one)]
    raise_failures()
    finite = [one for one in candidates if np.isfinite(one.log_likelihood)]
    return sorted(finite, key=lambda one: one.bic)


def choose(candidates: Sequence[Candidate]) -> Candidate:
    """Choose the family that describes a sample, from one candidate or more.

    The family of the smallest BIC is taken, unless there is one with fewer parameters whose BIC is
    larger by less than 6, or than which it is not clearly better on held-out data: by a standard
    error of the difference of the log-likelihoods in five folds, contiguous in time, each by the
    law fitted to the other four. Of several such simpler families the one with the fewest
    parameters is taken, and of these the one with the smallest BIC. BIC finds the true family as
    samples grow (Schwarz 1978); the folds in time guard against what is peculiar to one part of a
    capture.
    """
    best = min(candidates, key=lambda one: one.bic)
    simpler = [
        one
        for one in candidates
        if one.parameters < best.parameters and not _is_clearly_better(best, one)
    ]
    return min(simpler, key=lambda one: (one.parameters, one.bic)) if simpler else best


def _is_clearly_better(richer: Candidate, simpler: Candidate) -> bool:
    gain, error = richer.compare_held_out(simpler)
    strong = simpler.bic - richer.bic >= _LIMITS.bic_gain
    return strong and gain > _LIMITS.held_out_errors * error


def _first_maximum(family: str, cells: Cells, bounds: Bounds) -> Maximum | None:
    """Return the best of a family's starts after a few steps."""
    name = family.split("/", maxsplit=1)[0]
    most = max(cells.n, _LIMITS.values_of_two)
    # A user's start may be far from the maximum.
    rounds = MOST_ROUNDS if family in OWN_FAMILIES else _LIMITS.first_rounds
    found = [
        maximise(FamilyLaw(name, start, bounds), cells, rounds=rounds)
        for start in initial_estimates(family, cells)
        if _LIMITS.values_per_parameter * count_parameters(name, start) <= most
    ]
    known = [one for one in found if one is not None]
    return max(known, key=lambda one: one.value(cells.counts), default=None)


def _polish(maximum: Maximum, cells: Cells) -> Maximum | None:
    mixture = maximum.law.family in MIXTURES
    rounds = _LIMITS.rounds_of_mixtures if mixture else MOST_ROUNDS
    return maximise(maximum.law, cells, rounds=rounds)


def _is_identifiable(maximum: Maximum) -> bool:
    """Return whether enough of the law lies within the bounds to determine it."""
    low, high = maximum.law.bounds
    if low is None and high is None:
        return True
    whole = replace(maximum.law, bounds=(None, None)).distribution
    above = float(whole.sf(high)) if high is not None else 0.0
    below = float(whole.cdf(low)) if low is not None else 0.0
    return 1 - above - below >= _LIMITS.smallest_mass


def _cross_validate(maximum: Maximum, cells: Cells) -> Candidate:
    return Candidate(
        maximum=maximum,
        log_likelihood=cells.log_likelihood(maximum.log_probabilities),
        held_out=cells.grouped.hold_out(maximum.found, cells.fold_counts),
        fold_counts=cells.fold_counts,
    )
