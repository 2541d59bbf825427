"""The families of a sample, fitted, and the choice among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from trafficgen.calibration.laws.cells import Cells
from trafficgen.calibration.laws.initial_estimates import SMALLEST_LOG_SPREAD, starts_of, weighted
from trafficgen.calibration.laws.likelihood import (
    MOST_ROUNDS,
    Bounds,
    Maximum,
    log_probabilities_at,
    maximise,
)
from trafficgen.calibration.laws.parameters import parameter_count
from trafficgen.distributions import MIXTURES, Distribution
from trafficgen.models import Family
from trafficgen.units import FloatArray

Unit = Literal["s", "bytes", "packets"]

#: Fewer values than this are not fitted.
FEWEST_VALUES = 8
#: A richer family is taken when its BIC is smaller by this much: "strong" evidence of Kass and
#: Raftery (1995).
SMALLEST_BIC_GAIN = 6.0
#: ... and when its held-out likelihood is larger by this many standard errors.
SMALLEST_HELD_OUT_GAIN = 1.0
_FOLDS = 5
#: A step of an estimate without a fold is halved so many times at most.
_HALVINGS = 8
#: Families with more than two parameters need this many values for each.
_VALUES_PER_PARAMETER = 10
_VALUES_OF_TWO = 20
#: Each start is polished so far before the best of a family goes on, if it is no further behind the
#: best of all than this share of the sample (and 30): a family so far behind is not taken wherever
#: its maximum is.
_FIRST_ROUNDS = 5
_FAR_BEHIND = 0.02
_FAR_BEHIND_AT_LEAST = 30.0
#: Mixtures creep towards their maximum when they do not fit: so many steps have to do.
_ROUNDS_OF_MIXTURES = 15
#: Less of a law than this between the bounds, and what lies there does not tell the law.
_SMALLEST_MASS = 0.05

_SKEWED = (
    "expon",
    "lognorm",
    "gamma",
    "weibull_min",
    "pareto",
    "genpareto",
    "truncpareto",
    "fisk",
    "norm",
    "beta",
)
#: Families by unit; the part after a slash is a number of components.
SINGLE_FAMILIES: dict[Unit, tuple[str, ...]] = {
    "s": (*_SKEWED, "hyperexpon/2"),
    "bytes": _SKEWED,
    "packets": ("geom", "nbinom", "zipf", "poisson", "lognorm", "gamma", "weibull_min", "norm"),
}
#: Richer families, tried where none of these fits.
RICHER_FAMILIES: dict[Unit, tuple[str, ...]] = {
    "s": ("hyperexpon/3", "lognorm_mixture/2", "lognorm_mixture/3"),
    "bytes": ("lognorm_mixture/2", "lognorm_mixture/3"),
    "packets": ("fisk", "lognorm_mixture/2", "lognorm_mixture/3"),
}


@dataclass(frozen=True)
class Candidate:
    """A family fitted to a sample.

    Attributes:
        maximum: The estimate.
        log_likelihood: At the estimate, as of a density.
        observations: Size of the sample.
        held_out: Log-probabilities of the cells in each fold, by the law fitted to the other folds,
            shape (5, k).
        fold_counts: Values of each fold in each cell, shape (5, k).
    """

    maximum: Maximum
    log_likelihood: float
    observations: int
    held_out: FloatArray
    fold_counts: FloatArray

    @property
    def family(self) -> Family:
        """Name of the family."""
        return cast(Family, self.maximum.family)

    @property
    def distribution(self) -> Distribution:
        """The fitted law."""
        return self.maximum.distribution

    @property
    def parameters(self) -> int:
        """How many numbers were estimated."""
        return parameter_count(self.maximum.family, self.maximum.params)

    @property
    def bic(self) -> float:
        """Bayesian information criterion (Schwarz 1978); smaller is better."""
        return self.parameters * float(np.log(self.observations)) - 2 * self.log_likelihood

    def held_out_gain(self, other: Candidate) -> tuple[float, float]:
        """Return how much larger the held-out log-likelihood is than another family's, and its
        standard error.
        """
        difference = self.held_out - other.held_out
        n = float(self.fold_counts.sum())
        gain = float((self.fold_counts * difference).sum())
        variance = float((self.fold_counts * difference**2).sum()) / n - (gain / n) ** 2
        return gain, float(np.sqrt(max(variance, 0.0) * n))


@np.errstate(
    over="ignore", invalid="ignore", divide="ignore", under="ignore"
)  # starts that are not finite are left
def fit_candidates(
    cells: Cells, families: Sequence[str], *, bounds: Bounds = (None, None)
) -> list[Candidate]:
    """Fit families to a sample and return those that could be fitted, smallest BIC first.

    Args:
        cells: The sample.
        families: Names, with the number of components after a slash for mixtures.
        bounds: Between which values can be seen.
    """
    if cells.n < FEWEST_VALUES or weighted(cells).sd_log < SMALLEST_LOG_SPREAD:
        return []
    fold_counts = _fold_counts(cells)
    first = [
        one for family in families if (one := _first_maximum(family, cells, bounds)) is not None
    ]
    reached = max((_value(one, cells) for one in first), default=0.0) - max(
        _FAR_BEHIND_AT_LEAST, _FAR_BEHIND * cells.n
    )
    polished = [
        _polished(one, cells, bounds) if _value(one, cells) >= reached else one for one in first
    ]
    found = [
        _candidate(one, cells, fold_counts) for one in polished if one is not None and _told(one)
    ]
    return sorted(
        (one for one in found if np.isfinite(one.log_likelihood)), key=lambda one: one.bic
    )


def choose(candidates: Sequence[Candidate]) -> Candidate:
    """Return the family that stands for a sample.

    The family of the smallest BIC is taken, unless there is one with fewer parameters whose BIC is
    larger by less than 6, or than which it is not clearly better on held-out data: by a standard
    error of the difference of the log-likelihoods in five folds, contiguous in time, each by the
    law fitted to the other four. Of several such simpler families the one with the fewest
    parameters is taken, and of these the one with the smallest BIC. BIC finds the true family as
    samples grow (Schwarz 1978); the fold in time guards against what is peculiar to one part of a
    capture.

    Args:
        candidates: At least one, in any order.
    """
    best = min(candidates, key=lambda one: one.bic)
    simpler = [
        one
        for one in candidates
        if one.parameters < best.parameters and not _clearly_better(best, one)
    ]
    return min(simpler, key=lambda one: (one.parameters, one.bic)) if simpler else best


def _clearly_better(richer: Candidate, simpler: Candidate) -> bool:
    gain, error = richer.held_out_gain(simpler)
    return simpler.bic - richer.bic >= SMALLEST_BIC_GAIN and gain > SMALLEST_HELD_OUT_GAIN * error


def _first_maximum(family: str, cells: Cells, bounds: Bounds) -> Maximum | None:
    """Return the best of a family's starts after a few steps."""
    name = family.split("/", maxsplit=1)[0]
    first = [
        maximise(name, start, cells, bounds=bounds, rounds=_FIRST_ROUNDS)
        for start in starts_of(family, weighted(cells))
        if _VALUES_PER_PARAMETER * parameter_count(name, start) <= max(cells.n, _VALUES_OF_TWO)
    ]
    return max(
        (one for one in first if one is not None), key=lambda one: _value(one, cells), default=None
    )


def _polished(maximum: Maximum, cells: Cells, bounds: Bounds) -> Maximum | None:
    rounds = _ROUNDS_OF_MIXTURES if maximum.family in MIXTURES else MOST_ROUNDS
    return maximise(maximum.family, maximum.params, cells, bounds=bounds, rounds=rounds)


def _value(maximum: Maximum, cells: Cells) -> float:
    return float(np.dot(cells.counts, maximum.log_probabilities))


def _told(maximum: Maximum) -> bool:
    """Return whether enough of the law lies within the bounds to tell the law."""
    if maximum.bounds == (None, None):
        return True
    whole = Maximum(
        maximum.family, maximum.params, (None, None), maximum.log_probabilities, maximum.scores
    )
    low, high = maximum.bounds
    above = float(whole.distribution.sf(high)) if high is not None else 0.0
    below = float(whole.distribution.cdf(low)) if low is not None else 0.0
    return 1 - above - below >= _SMALLEST_MASS


def _fold_counts(cells: Cells) -> FloatArray:
    """Return the values of each fold in each cell; folds are contiguous in the sample's order."""
    folds = np.array_split(cells.place, _FOLDS)
    return np.array(
        [np.bincount(fold, minlength=cells.counts.size) for fold in folds], dtype=np.float64
    )


def _candidate(maximum: Maximum, cells: Cells, fold_counts: FloatArray) -> Candidate:
    """Return a candidate with its held-out likelihoods.

    The estimate without a fold is one step of scoring from the whole estimate (the infinitesimal
    jackknife: Giordano et al., AISTATS 2019), which costs one evaluation instead of a fit.
    """
    scores = maximum.scores
    information = scores.T @ (cells.counts[:, None] * scores)
    held_out = []
    for counts in fold_counts:
        without = information * (1 - counts.sum() / cells.n)
        step = np.linalg.lstsq(without, counts @ scores, rcond=1e-10)[0]
        held_out.append(_one_step(maximum, np.clip(step, -1, 1), cells, kept=cells.counts - counts))
    return Candidate(
        maximum=maximum,
        log_likelihood=cells.log_likelihood(maximum.log_probabilities),
        observations=cells.n,
        held_out=np.array(held_out),
        fold_counts=fold_counts,
    )


def _one_step(maximum: Maximum, step: FloatArray, cells: Cells, *, kept: FloatArray) -> FloatArray:
    """Return log-probabilities after a step towards the largest likelihood of the values that are
    kept.

    A step that goes past it, as those of mixtures do where a component hardly lives on what is
    kept, is halved until it leads upwards; a law that none does stays where it is.
    """
    reached = float(np.dot(kept, maximum.log_probabilities))
    for halving in range(_HALVINGS):
        there = log_probabilities_at(
            maximum.family,
            maximum.params,
            maximum.free - step / 2**halving,
            bounds=maximum.bounds,
            of=cells.log_probabilities,
        )
        if there is not None and float(np.dot(kept, there)) >= reached:
            return there
    return maximum.log_probabilities
