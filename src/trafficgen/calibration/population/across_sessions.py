"""The law of one quantity across sessions: pooled on the logarithmic scale, its family chosen where
data allow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.laws.empirical import quantile_points
from trafficgen.calibration.laws.fit_law import fit_law
from trafficgen.calibration.population.pooling import Pooled, pool_random_effects
from trafficgen.models import Atom, Estimate, Law, PopulationLaw
from trafficgen.units import FloatArray

#: From this many sessions on, families compete; below, the logarithm is taken for normal unless it
#: plainly is not.
FEWEST_FOR_FAMILIES = 20
_FEWEST_FOR_EMPIRICAL = 8
_NOT_NORMAL = 0.01
#: Draws stay between these quantiles of the law: a corpus says little about what is beyond.
_CUT = 0.0005
#: Standard deviations of the logarithm below this are no spread at all.
_SMALLEST_DEVIATION = 1e-6
#: Granularity of the values, as a share of the median: none that would matter.
_TICK_SHARE = 1e-6

_POOLED = (
    "random effects of the logarithm by restricted maximum likelihood (interval by Hartung and"
    " Knapp; of the spread by the Q profile), each session drawn in by its own standard error"
)


@dataclass(frozen=True)
class Observed:
    """One quantity of one session.

    Attributes:
        value: Estimate, > 0 where the session has the quantity.
        log_error: Standard error of its logarithm; 0 where it is exact.
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
    """Return the law of a quantity across the sessions that have it.

    Args:
        observed: The quantity of each session that has it, all above zero, at least one.
        unit: Unit of the values: ``"s"``, ``"bps"`` or ``"1"``.
        sessions: Sessions in which it was looked for.
        generator: Source of the draws of the goodness of fit.
        largest: Largest value that is possible at all.
    """
    values = np.array([each.value for each in observed])
    errors = np.array([each.log_error for each in observed])
    pooled = pool_random_effects(np.log(values), standard_errors=errors)
    law, chosen = _law(pooled, unit=unit, generator=generator)
    if law.family != "atoms":
        law = _within(law, largest=largest)
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
        method=f"{_POOLED}; {chosen}",
    )


def _law(pooled: Pooled, *, unit: str, generator: np.random.Generator) -> tuple[Law, str]:
    """Return the law to draw from and how its family was chosen."""
    effects, count = pooled.effects, pooled.effects.size
    if pooled.deviation < _SMALLEST_DEVIATION:
        atom = Atom(value=float(np.exp(pooled.mean)), p=1.0)
        why = (
            "one session shows no spread"
            if count == 1
            else "no spread beyond the sessions' own errors"
        )
        return (
            Law.model_validate(
                {"unit": unit, "family": "atoms", "atoms": (atom,), "observations": count}
            ),
            why,
        )
    if count >= FEWEST_FOR_FAMILIES:
        values = np.exp(effects)
        tick = _TICK_SHARE * float(np.exp(pooled.mean))
        law = fit_law(values, unit="s", tick=tick, generator=generator).law
        return (
            law.model_copy(update={"unit": unit}),
            f"family of the {count} sessions' values by BIC",
        )
    if count >= _FEWEST_FOR_EMPIRICAL and _is_not_normal(effects):
        points = quantile_points(np.sort(np.exp(effects)))
        law = Law.model_validate(
            {"unit": unit, "family": "quantiles", "quantiles": points, "observations": count}
        )
        return law, "smoothed empirical law: the logarithm is not normal (Shapiro and Wilk)"
    return (
        _lognormal(pooled, unit=unit),
        f"lognormal: {count} sessions are too few to choose a family",
    )


def _is_not_normal(effects: FloatArray) -> bool:
    """Return whether Shapiro and Wilk's test (1965) says so."""
    from scipy import stats  # noqa: PLC0415 - takes half a second, and few populations need it

    return float(stats.shapiro(effects).pvalue) < _NOT_NORMAL


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


def _within(law: Law, *, largest: float | None) -> Law:
    """Return a law without its outermost tails."""
    continuous = law.distribution().continuous
    if continuous is None:
        return law
    low, high = continuous.ppf(np.array([_CUT, 1 - _CUT])).tolist()
    low = max(low, law.minimum or 0.0)
    high = min(end for end in (high, law.maximum, largest) if end is not None)
    return law.model_copy(update={"minimum": low, "maximum": high}) if low < high else law


def values_of(observed: list[Observed]) -> FloatArray:
    """Return the values alone, shape (k,)."""
    return np.array([each.value for each in observed])


def _exp(value: float | None) -> float | None:
    return None if value is None else float(np.exp(value))
