"""The law of one quantity across sessions, pooled on the logarithmic scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.laws.empirical import quantile_points
from trafficgen.calibration.laws.fit_law import fit_law
from trafficgen.calibration.population.pooling import Pooled, pool_random_effects
from trafficgen.models import Atom, Estimate, Law, PopulationLaw
from trafficgen.units import FloatArray


@dataclass(frozen=True)
class AcrossLimits:
    """Which family the law across sessions has."""

    #: From this many sessions on, families compete; with fewer the logarithm counts as normal
    fewest_for_families: int = 20
    #: unless, from this many on,
    fewest_for_empirical: int = 8
    #: Shapiro and Wilk's test rejects it at this level.
    not_normal: float = 0.01
    #: Draws stay between this quantile and its opposite: a corpus says little about the rest.
    cut: float = 0.0005
    #: A smaller standard deviation of the logarithm is rounding.
    smallest_deviation: float = 1e-6
    #: Granularity of the values as a share of the median: too fine to matter.
    tick_share: float = 1e-6


_LIMITS = AcrossLimits()
_POOLED = (
    "random effects of the logarithm by restricted maximum likelihood (interval by Hartung and"
    " Knapp; of the spread by the Q profile), each session drawn in by its own standard error"
)


@dataclass(frozen=True)
class Observed:
    """One quantity of one session.

    Attributes:
        value: Estimate, > 0 if the session has the quantity.
        log_error: Standard error of its logarithm; 0 if it is exact.
    """

    value: float
    log_error: float = 0.0


def law_across_sessions(
    observed: list[Observed],
    *,
    unit: str,
    sessions: int,
    generator: np.random.Generator,
    largest: float | None = None,
) -> PopulationLaw:
    """Fit the law of a quantity across the sessions that have it.

    Args:
        observed: The quantity of each session that has it, all above zero, at least one.
        unit: Unit of the values: ``"s"``, ``"bps"`` or ``"1"``.
        sessions: Sessions in which it was searched for.
        generator: Source of the draws of the goodness of fit.
        largest: Largest possible value.
    """
    values = np.array([each.value for each in observed])
    errors = np.array([each.log_error for each in observed])
    pooled = pool_random_effects(np.log(values), standard_errors=errors)
    law, choice = _choose_law(pooled, unit=unit, generator=generator)
    if law.family != "atoms":
        law = _cut_tails(law, largest=largest)
    return PopulationLaw(
        law=law,
        median=Estimate(
            value=float(np.exp(pooled.mean)),
            low=_exp(pooled.mean_low),
            high=_exp(pooled.mean_high),
            method=_POOLED,
        ),
        log_deviation=Estimate(
            value=pooled.deviation,
            low=pooled.deviation_low,
            high=pooled.deviation_high,
            method=_POOLED,
        ),
        sessions=values.size,
        positive_share=values.size / sessions,
        error_share=pooled.error_share,
        method=f"{_POOLED}; {choice}",
    )


def _choose_law(pooled: Pooled, *, unit: str, generator: np.random.Generator) -> tuple[Law, str]:
    """Return the law to draw from and how its family was chosen."""
    effects, count = pooled.effects, pooled.effects.size
    if pooled.deviation < _LIMITS.smallest_deviation:
        atoms = (Atom(value=float(np.exp(pooled.mean)), p=1.0),)
        only = count == 1
        why = "one session shows no spread" if only else "no spread beyond the sessions' own errors"
        return Law.model_validate(
            {"unit": unit, "family": "atoms", "atoms": atoms, "observations": count}
        ), why
    if count >= _LIMITS.fewest_for_families:
        values = np.exp(effects)
        tick = _LIMITS.tick_share * float(np.exp(pooled.mean))
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
    return _lognormal(pooled, unit=unit), why


def _is_not_normal(effects: FloatArray) -> bool:
    """Return whether Shapiro and Wilk's test (1965) rejects normality."""
    from scipy import stats  # noqa: PLC0415 - takes half a second, and few populations need it

    return float(stats.shapiro(effects).pvalue) < _LIMITS.not_normal


def _lognormal(pooled: Pooled, *, unit: str) -> Law:
    low = {"s": pooled.deviation_low, "scale": _exp(pooled.mean_low)}
    high = {"s": pooled.deviation_high, "scale": _exp(pooled.mean_high)}
    return Law.model_validate(
        {
            "unit": unit,
            "family": "lognorm",
            "params": {"s": pooled.deviation, "loc": 0.0, "scale": float(np.exp(pooled.mean))},
            "low": {name: end for name, end in low.items() if end is not None},
            "high": {name: end for name, end in high.items() if end is not None},
            "observations": pooled.effects.size,
        }
    )


def _cut_tails(law: Law, *, largest: float | None) -> Law:
    """Return a law without its outermost tails."""
    continuous = law.distribution().continuous
    if continuous is None:
        return law
    low, high = continuous.ppf(np.array([_LIMITS.cut, 1 - _LIMITS.cut])).tolist()
    low = max(low, law.minimum or 0.0)
    high = min(end for end in (high, law.maximum, largest) if end is not None)
    return law.model_copy(update={"minimum": low, "maximum": high}) if low < high else law


def _exp(value: float | None) -> float | None:
    return None if value is None else float(np.exp(value))
