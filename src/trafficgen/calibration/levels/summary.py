"""Rate states in the summary of a fit: levels with their switches, and the states of an MMPP."""

from __future__ import annotations

from trafficgen.calibration.levels.rate_levels import Interval, Levels, mean_dwell
from trafficgen.calibration.levels.switch_hazards import LevelAssociation, SwitchHazard
from trafficgen.models import Estimate, MmppProcess, PacketProcess

Json = dict[str, object]


def describe_levels(
    levels: Levels | None, association: LevelAssociation | str | None = None
) -> Json | None:
    """Describe the levels of the application's rate; None where it has a single one.

    ``kbps`` is IP bytes like every measured rate, headers included. ``transition`` and
    ``mean_dwell_s`` are null for a level that was never left. Intervals are 95%. ``association``
    has the hazards of stepping down and up, each an object or the reason why there is none.
    """
    if levels is None:
        return None
    dwells = [mean_dwell(levels.dwells(level)) for level in range(len(levels))]
    intervals = levels.transition_intervals()
    hazards: Json | str | None = association if isinstance(association, str) else None
    if isinstance(association, LevelAssociation):
        hazards = {"down": _hazard(association.down), "up": _hazard(association.up)}
    return {
        "kbps": levels.kbps.tolist(),
        "transition": [None if row is None else row.tolist() for row in levels.transition_rows()],
        "mean_dwell_s": [dwell.mean_s for dwell in dwells],
        "switches": levels.switches,
        "mean_dwell_low_s": [dwell.interval.low if dwell.interval else None for dwell in dwells],
        "mean_dwell_high_s": [dwell.interval.high if dwell.interval else None for dwell in dwells],
        "transition_low": [_ends(row, low=True) for row in intervals],
        "transition_high": [_ends(row, low=False) for row in intervals],
        "association": hazards,
    }


def _hazard(hazard: SwitchHazard | str) -> Json | str:
    if isinstance(hazard, str):
        return hazard
    return {
        "switches": hazard.switches,
        "intervals": hazard.intervals,
        "p_value": hazard.p_value,
        "odds_ratio_per_sd": {
            name: {"value": effect.odds_ratio, "low": effect.low, "high": effect.high}
            for name, effect in hazard.effects.items()
        },
    }


def _ends(row: list[Interval] | None, *, low: bool) -> list[float] | None:
    return None if row is None else [entry.low if low else entry.high for entry in row]


def describe_mmpp(process: PacketProcess) -> Json:
    """Describe rates and mean sojourns of an MMPP, fastest first; nothing for another process."""
    if not isinstance(process, MmppProcess):
        return {}
    return {
        "mmpp": {
            "rates_per_s": [_estimate(state.rate_per_s) for state in process.states],
            "mean_sojourn_s": [_estimate(state.mean_sojourn_s) for state in process.states],
        }
    }


def _estimate(estimate: Estimate) -> Json:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
