"""The law of one quantity across sessions, pooled with their own errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.distributions.fitting.empirical import quantile_points
from trafficgen.distributions.fitting.fit_law import fit_law
from trafficgen.errors import TooFewObservationsError
from trafficgen.imports import special
from trafficgen.models import Atom, Estimate, Law, PopulationLaw
from trafficgen.processes.semi_markov.dwells import Dwells, dwell_law, fit_dwell_family
from trafficgen.quantity_bounds import most_of
from trafficgen.units import FloatArray

#: Probability of the intervals.
_LEVEL = 0.95
#: An interval whose ends have a larger ratio says nothing.
WIDEST_INTERVAL = 100.0
#: Lengths of which fewer are whole do not show how long the cut ones would have been.
FEWEST_WHOLE = 5
#: Upper end of the search for the variance between sessions, in units of that of their estimates.
_WIDEST = 100.0
#: A smaller spread is rounding.
_NO_SPREAD = 1e-9
_RANDOM_EFFECTS = "random effects"
_POOLED = (
    "random effects of the logarithm by restricted maximum likelihood (interval by Hartung and"
    " Knapp; of the spread by the Q profile), each session drawn in by its own standard error"
)


@dataclass(frozen=True)
class Pooled:
    """Random effects of one quantity on the scale on which it was pooled.

    Attributes:
        mean: Mean across sessions; without an interval for one session.
        deviation: Standard deviation between sessions, without their own errors, likewise.
        error_share: Share of the estimates' variance that is their own error (1 - I squared of
            Higgins and Thompson).
        effects: The sessions' values shrunk so that they spread as sessions do, shape (k,).
    """

    mean: Estimate
    deviation: Estimate
    error_share: float
    effects: FloatArray


def pool_random_effects(estimates: FloatArray, *, standard_errors: FloatArray) -> Pooled:
    """Pool estimates of one quantity, each with its standard error, by normal random effects.

    The variance between sessions is estimated by restricted maximum likelihood (Viechtbauer, "Bias
    and efficiency of meta-analytic variance estimators in the random-effects model", 2005), which
    unlike the moments of DerSimonian and Laird (1986) also takes sessions whose error is zero. Its
    interval is by the Q profile (Viechtbauer 2007), that of the mean by Hartung and Knapp (2001),
    never narrower than by the variance alone (Roever et al. 2015).

    Each session shrinks towards the mean by its own error as in Efron and Morris, "Data analysis
    using Stein's estimator and its generalizations" (1975), with the constraint of Louis (1984) and
    Ghosh (1992): by the root of the usual factor, so that together they spread as sessions do.
    Estimates, on a scale on which sessions are about normal, and their standard errors, >= 0, have
    shape (k,).

    Raises:
        TooFewObservationsError: If there is no session.
    """
    count = estimates.size
    if count == 0:
        raise TooFewObservationsError(what="sessions to be pooled", required=1, available=0)
    if count == 1:
        mean, deviation = _estimate(float(estimates[0])), _estimate(0.0)
        return Pooled(mean, deviation, error_share=0.0, effects=estimates.copy())
    error = np.asarray(standard_errors, dtype=np.float64) ** 2
    spread = float(estimates.var(ddof=1))
    if spread <= _NO_SPREAD**2:
        value = float(estimates.mean())
        mean, deviation = _estimate(value, value, value), _estimate(0.0, 0.0, 0.0)
        return Pooled(mean, deviation, error_share=0.0, effects=estimates.copy())
    # Sessions without errors of their own would have infinite weights if nothing is between them.
    error = np.maximum(error, (_NO_SPREAD * np.sqrt(spread)) ** 2)
    between = _restricted_maximum(estimates, error, spread)
    weight, value, excess = _weigh(estimates, error, between)
    variance = max(excess / (count - 1), 1.0) / float(weight.sum())
    half = float(special.stdtrit(count - 1, (1 + _LEVEL) / 2)) * float(np.sqrt(variance))
    low, high = _profile(estimates, error, spread)
    share = np.sqrt(between / (between + error))
    return Pooled(
        mean=_estimate(value, value - half, value + half),
        deviation=_estimate(float(np.sqrt(between)), float(np.sqrt(low)), float(np.sqrt(high))),
        error_share=_error_share(error, between),
        effects=value + share * (estimates - value),
    )


def is_too_wide(estimate: Estimate) -> bool:
    """Return whether the interval of a positive estimate is too wide to say anything."""
    return estimate.spans_more_than(WIDEST_INTERVAL)


def _estimate(value: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value=value, low=low, high=high, method=_RANDOM_EFFECTS)


def _weigh(
    estimates: FloatArray, error: FloatArray, between: float
) -> tuple[FloatArray, float, float]:
    """Return the weights of sessions, their weighted mean and Cochran's Q."""
    weight = 1 / (between + error)
    mean = float(np.dot(weight, estimates) / weight.sum())
    return weight, mean, float(np.dot(weight, (estimates - mean) ** 2))


def _restricted_maximum(estimates: FloatArray, error: FloatArray, spread: float) -> float:
    """Return the variance between sessions at the maximum of the restricted likelihood."""

    def loss(between: float) -> float:
        weight, _, excess = _weigh(estimates, error, between)
        return float(0.5 * (np.log(between + error).sum() + np.log(weight.sum()) + excess))

    from scipy import optimize  # noqa: PLC0415 - a fit of one capture does without

    # The likelihood may have several maxima: a grid first, then the best of its valleys.
    grid = np.concatenate(([0.0], spread * np.logspace(-6, np.log10(_WIDEST), 81)))
    best = int(np.argmin([loss(between) for between in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    found = optimize.minimize_scalar(
        loss, bounds=(low, high), method="bounded", options={"xatol": 1e-8 * spread}
    )
    return float(found.x) if found.fun < loss(grid[best]) else float(grid[best])


def _profile(estimates: FloatArray, error: FloatArray, spread: float) -> tuple[float, float]:
    """Return the variances between sessions at the upper and lower quantile of Cochran's Q."""
    from scipy import optimize  # noqa: PLC0415 - a fit of one capture does without

    def excess(between: float, wanted: float) -> float:
        return _weigh(estimates, error, between)[2] - wanted

    ends = []
    for probability in ((1 + _LEVEL) / 2, (1 - _LEVEL) / 2):
        wanted = 2 * float(special.gammaincinv((estimates.size - 1) / 2, probability))
        widest = spread
        if excess(0.0, wanted) <= 0:
            ends.append(0.0)
            continue
        while excess(widest, wanted) > 0:
            widest *= 2
        ends.append(float(optimize.brentq(excess, 0.0, widest, args=(wanted,))))
    return ends[0], ends[1]


def _error_share(error: FloatArray, between: float) -> float:
    """Return the typical error's share of the estimates' variance (Higgins and Thompson 2002)."""
    weight = np.sort(error.min() / error)
    # The square of the sum less the sum of squares, without the difference: one session that is far
    # more certain than all others would leave nothing of it.
    pairs = 2 * float(np.dot(weight[1:], np.cumsum(weight)[:-1]))
    typical = float(error.min()) * (error.size - 1) * float(weight.sum()) / pairs
    return float(np.clip(typical / (typical + between), 0.0, 1.0))


class AcrossLimits:
    """Which family the law across sessions has."""

    #: From this many sessions on, families compete; with fewer the logarithm counts as normal
    fewest_for_families: int = 20
    #: unless, from this many on,
    fewest_for_empirical: int = 8
    #: Shapiro and Wilk's test rejects it at this level.
    not_normal: float = 0.01
    #: Draws stay between this quantile and its opposite: a corpus has little beyond.
    cut: float = 0.0005
    #: A smaller standard deviation of the logarithm is rounding.
    smallest_deviation: float = 1e-6
    #: Granularity of the values as a share of the median: too fine to matter.
    tick_share: float = 1e-6


_LIMITS = AcrossLimits()


@dataclass(frozen=True)
class Observed:
    """One quantity of one session.

    Attributes:
        value: Estimate, > 0 if the session has the quantity.
        log_error: Standard error of its logarithm; 0 if it is exact.
        is_cut: Whether it is a length that the capture cut: a lower bound (right-censored).
    """

    value: float
    log_error: float = 0.0
    is_cut: bool = False


def fit_law_across_sessions(
    observed: list[Observed],
    *,
    unit: str,
    sessions: int,
    generator: np.random.Generator,
    largest: float | None = None,
) -> PopulationLaw:
    """Fit the law of a quantity across the sessions that have it.

    ``observed`` are the sessions that have it, all values above zero, at least one, out of the
    ``sessions`` in which it was searched for. The ``unit`` is ``"s"``, ``"bps"`` or ``"1"``; no
    value can be above ``largest``. Where some are cut, the others being enough, the law is of all
    lengths, by a likelihood that takes the cut ones as lower bounds.
    """
    values = np.array([each.value for each in observed])
    cut = np.array([each.is_cut for each in observed])
    if cut.any():
        found = _fit_cut(values[~cut], values[cut], sessions=sessions)
        if found is not None:
            return found.model_copy(update={"law": _cut_tails(found.law, largest=largest)})
    errors = np.array([each.log_error for each in observed])
    pooled = pool_random_effects(np.log(values), standard_errors=errors)
    median = _exponentiate(pooled.mean)
    law, choice = _choose_law(pooled, median, unit=unit, generator=generator)
    if law.family != "atoms":
        law = _cut_tails(law, largest=largest)
    return PopulationLaw(
        law=law,
        median=median,
        log_deviation=pooled.deviation,
        sessions=values.size,
        positive_share=values.size / sessions,
        error_share=pooled.error_share,
        method=f"{_POOLED}; {choice}",
    )


def _fit_cut(whole_s: FloatArray, cut_s: FloatArray, *, sessions: int) -> PopulationLaw | None:
    """Fit the law of lengths of which some are lower bounds; None where too few are whole.

    Source: Kalbfleisch and Prentice, "The statistical analysis of failure time data" (2002),
    chapter 3.
    """
    if whole_s.size < FEWEST_WHOLE:
        return None
    lengths = Dwells(whole_s, cut_s)
    usual, law = fit_dwell_family("lognorm", lengths), dwell_law(lengths)
    if usual is None or law is None:
        return None
    value, low, high = usual.params, usual.ends(-1), usual.ends(1)
    median, deviation = (
        _estimate(value[name], low.get(name), high.get(name)) for name in ("scale", "s")
    )
    count = whole_s.size + cut_s.size
    return PopulationLaw(
        law=law,
        median=median,
        log_deviation=deviation,
        sessions=count,
        positive_share=count / sessions,
        error_share=0.0,
        method=(
            f"maximum likelihood with the {cut_s.size} of {count} sessions that a capture cut as"
            " lower bounds; median and spread of a log-normal law, family by BIC"
        ),
    )


def _exponentiate(log: Estimate) -> Estimate:
    low, high = (None if end is None else float(np.exp(end)) for end in (log.low, log.high))
    return _estimate(float(np.exp(log.value)), low, high)


def _choose_law(
    pooled: Pooled, median: Estimate, *, unit: str, generator: np.random.Generator
) -> tuple[Law, str]:
    """Return the law to draw from and how its family was chosen."""
    effects, count = pooled.effects, pooled.effects.size
    if pooled.deviation.value < _LIMITS.smallest_deviation:
        atoms = (Atom(value=median.value, p=1.0),)
        only = count == 1
        why = "one session shows no spread" if only else "no spread beyond the sessions' own errors"
        return Law.model_validate(
            {"unit": unit, "family": "atoms", "atoms": atoms, "observations": count}
        ), why
    if count >= _LIMITS.fewest_for_families:
        values = np.exp(effects)
        tick = _LIMITS.tick_share * median.value
        law = fit_law(values, unit="s", tick=tick, generator=generator).law
        why = f"family of the {count} sessions' values by BIC"
        return law.model_copy(update={"unit": unit}), why
    if count >= _LIMITS.fewest_for_empirical and _is_not_normal(effects):
        points = quantile_points(np.sort(np.exp(effects)))
        law = Law.model_validate(
            {"unit": unit, "family": "quantiles", "quantiles": points, "observations": count}
        )
        return law, "smoothed empirical law: the logarithm is not normal (Shapiro and Wilk)"
    why = f"lognormal: {count} sessions are too few to choose a family"
    low = {"s": pooled.deviation.low, "scale": median.low}
    high = {"s": pooled.deviation.high, "scale": median.high}
    law = Law.model_validate(
        {
            "unit": unit,
            "family": "lognorm",
            "params": {"s": pooled.deviation.value, "loc": 0.0, "scale": median.value},
            "low": {name: end for name, end in low.items() if end is not None},
            "high": {name: end for name, end in high.items() if end is not None},
            "observations": count,
        }
    )
    return law, why


def _is_not_normal(effects: FloatArray) -> bool:
    """Return whether Shapiro and Wilk's test (1965) rejects normality."""
    from scipy import stats  # noqa: PLC0415 - takes half a second, and few populations need it

    return float(stats.shapiro(effects).pvalue) < _LIMITS.not_normal


def _cut_tails(law: Law, *, largest: float | None) -> Law:
    """Return a law without its outermost tails."""
    continuous = law.distribution().continuous
    if continuous is None:
        return law
    low, high = continuous.ppf(np.array([_LIMITS.cut, 1 - _LIMITS.cut])).tolist()
    low = max(low, law.minimum or 0.0)
    ends = (high, law.maximum, largest, most_of(law.unit))
    high = min(end for end in ends if end is not None)
    return law.model_copy(update={"minimum": low, "maximum": high}) if low < high else law
