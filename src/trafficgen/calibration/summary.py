"""The summary of a fit: the JSON of `trafficgen fit --json`, without the flow."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

import numpy as np

from trafficgen.calibration.paper_measures import Measures
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.calibration.response.switch_hazards import LevelAssociation
from trafficgen.calibration.session_measures import SessionMeasures
from trafficgen.flows import Bursts
from trafficgen.models import Estimate, Friendliness, Law, MmppProcess, ModulatedProcess
from trafficgen.processes.semi_markov.dwells import mean_dwell
from trafficgen.processes.semi_markov.rate_levels import Levels
from trafficgen.units import FloatArray, kbps_from_bps

Json = dict[str, object]


def summarise(session: SessionMeasures, warnings: list[str]) -> Json:
    """Return the summary of a fit as JSON-compatible values; None for what is not known.

    Rates are in kbit/s of IP bytes, times in s from the session's first media packet.
    """
    response = session.response.response
    return {
        "packets": session.packets,
        "duration_s": session.duration_s,
        "phases": _phases(session.phases),
        "packet_bytes": _law(session.packet_bytes.parametric),
        "gap_s": _law(session.gap_s.parametric),
        "bursts": _bursts(session.bursts_by_phase),
        "levels": _levels(session),
        "loss": _loss(session),
        "dependence": _dependence(session),
        "measures": _measures(session.measures, response.friendliness),
        "player_log": _player_log(session),
        "conditions": session.path.conditions.model_dump(mode="json"),
        "response": response.model_dump(mode="json", exclude={"friendliness"}),
        "warnings": warnings,
    }


def _measures(measures: Measures, friendliness: Friendliness | None) -> Json:
    return {
        "buffering_data_rate_kbps": measures.buffering_data_rate_kbps,
        "steady_playout_rate_kbps": measures.steady_playout_rate_kbps,
        "ratio": measures.ratio,
        "tcp_friendly_kbps": measures.tcp_friendly_kbps,
        "friendliness": None if friendliness is None else _friendliness(friendliness),
        "play_s": measures.play_s,
        "buffering_period_s": measures.buffering_period_s,
        "buffering_period_until": measures.buffering_period_until,
        "playback_delay_s": measures.playback_delay_s,
        "delivery": None if measures.delivery is None else asdict(measures.delivery),
        "scale_changes": asdict(measures.scale_changes),
        "absent": dict(measures.absent),
    }


def _friendliness(found: Friendliness) -> Json:
    """Return the rate against TCP's: shares of the intervals, and the bounds overall, kbit/s."""
    return {
        "interval_s": found.interval_s,
        "intervals": found.intervals,
        "above_bound_share": found.above_bound.value,
        "above_padhye_share": found.above_padhye.value,
        "median_ratio_to_padhye": found.median_ratio,
        "bound_kbps": kbps_from_bps(found.overall_bound_bps),
        "padhye_kbps": kbps_from_bps(found.overall_padhye_bps),
    }


def _phases(phases: Phases) -> Json:
    start_s, stop_s = phases.playout_start_s, phases.playout_stop_s
    buffering: Json | None = None
    if phases.buffering_end_s is not None:
        buffering = {
            "start_s": 0.0,
            "end_s": phases.buffering_end_s,
            "rate_kbps": phases.buffering_kbps,
            "low": phases.low_s,
            "high": phases.high_s,
            "anchor": phases.anchor,
            "p_value": phases.burst_p_value,
        }
    return {
        "silence_s": phases.silence_s,
        "buffering": buffering,
        "playout": {"start_s": start_s, "end_s": stop_s, "rate_kbps": phases.playout_kbps},
        "buffering_ratio": phases.ratio,
        "stalls": _stalls(phases),
        "end": (
            None if phases.playout_end_s is None else {"start_s": stop_s, "end_s": phases.end_s}
        ),
    }


def _stalls(phases: Phases) -> list[Json]:
    """Return pauses of the packets, and those of a player log, in order of time."""
    stalls: list[Json] = [
        {
            "start_s": stall.start_s,
            "duration_s": stall.duration_s,
            "refill_end_s": stall.refill_end_s if stall.refill_kbps is not None else None,
            "refill_kbps": stall.refill_kbps,
            "source": "packets",
        }
        for stall in phases.stalls
    ]
    without_refill: Json = {"refill_end_s": None, "refill_kbps": None, "source": "player_log"}
    stalls += [{**asdict(pause), **without_refill} for pause in phases.player_stalls or ()]
    return sorted(stalls, key=lambda stall: cast(float, stall["start_s"]))


def _levels(session: SessionMeasures) -> Json | None:
    """Return the levels of a player log, else those of the rate."""
    levels = session.played_levels
    if levels is None:
        return _rate_levels(session.levels, session.association) if session.levels else None
    return {
        "kbps": list(levels.kbps),
        "transition": [None if row is None else list(row) for row in levels.transition],
        "mean_dwell_s": list(levels.mean_dwell_s),
        "switches": levels.switches,
        "names": list(levels.names),
        "source": "player_log",
    }


def _rate_levels(levels: Levels, association: LevelAssociation | str | None) -> Json:
    """Return the levels of the application's rate; null for a level that was never left.

    Rates are of IP bytes like every measured rate, headers included. Intervals are 95%.
    ``association`` has the hazards of stepping down and up, each an object or why it is missing.
    """
    dwells = [mean_dwell(levels.dwells(level)) for level in range(len(levels))]
    intervals = levels.transition_intervals()
    return {
        "kbps": levels.kbps.tolist(),
        "transition": _rows(levels.transition_rows()),
        "mean_dwell_s": [dwell.mean_s if dwell else None for dwell in dwells],
        "switches": levels.switches,
        "mean_dwell_low_s": [dwell.low_s if dwell else None for dwell in dwells],
        "mean_dwell_high_s": [dwell.high_s if dwell else None for dwell in dwells],
        "transition_low": _rows([None if ends is None else ends[:, 0] for ends in intervals]),
        "transition_high": _rows([None if ends is None else ends[:, 1] for ends in intervals]),
        "association": (
            asdict(association) if isinstance(association, LevelAssociation) else association
        ),
    }


def _rows(rows: list[FloatArray | None]) -> list[list[float] | None]:
    return [None if row is None else row.tolist() for row in rows]


def _player_log(session: SessionMeasures) -> Json | None:
    log = session.player_log
    if log is None:
        return None
    names = ("file", "form", "clock", "zero_s", "playback_start_s", "buffer_full_s")
    return {name: getattr(log, name) for name in names}


def _law(law: Law) -> Json:
    return {
        "family": law.family,
        "params": dict(law.params),
        "atoms": [{"value": atom.value, "p": atom.p} for atom in law.atoms],
        "low": dict(law.low),
        "high": dict(law.high),
        "ks": law.fit.ks if law.fit else None,
        "p_value": law.fit.p_value if law.fit else None,
        "alternatives": [
            {"family": other.family, "delta_bic": other.delta_bic} for other in law.alternatives
        ],
    }


def _bursts(by_phase: dict[str, Bursts] | None) -> Json | None:
    if by_phase is None:
        return None
    return {
        "threshold_s": by_phase["playout"].threshold_s,
        "buffering": _burst_means(by_phase["buffering"]) if "buffering" in by_phase else None,
        "playout": _burst_means(by_phase["playout"]),
    }


def _burst_means(bursts: Bursts) -> Json:
    several = bursts.packets.size > 1
    return {
        "spacing_s": float(bursts.spacing_s.mean()) if several else None,
        "packets": float(bursts.packets.mean()) if bursts.packets.size else None,
        "idle_s": float(np.median(bursts.idle_s)) if several else None,
    }


def _loss(session: SessionMeasures) -> Json | None:
    loss = session.path.loss
    if loss is None:
        return None
    names = ("rate", "mean_burst_packets", "source", "low", "high")
    model = loss.model.model_dump(mode="json") if loss.model else None
    return {**{name: getattr(loss, name) for name in names}, "model": model}


def _dependence(session: SessionMeasures) -> Json:
    hurst, process = session.hurst, session.process
    gap_model = process.gap_model if isinstance(process, ModulatedProcess) else process.kind
    return {
        "hurst": hurst.value if hurst else None,
        "hurst_low": hurst.low if hurst else None,
        "hurst_high": hurst.high if hurst else None,
        "gap_acf": session.gap_acf,
        "model": gap_model,
        "long_range": session.long_range.to_json() if session.long_range else None,
        **(_mmpp(process) if isinstance(process, MmppProcess) else {}),
    }


def _mmpp(process: MmppProcess) -> Json:
    """Return rates and mean sojourns of the states, fastest first."""
    estimates = {
        "rates_per_s": [state.rate_per_s for state in process.states],
        "mean_sojourn_s": [state.mean_sojourn_s for state in process.states],
    }
    return {
        "mmpp": {
            name: [interval_json(estimate) for estimate in found]
            for name, found in estimates.items()
        }
    }


def interval_json(estimate: Estimate) -> Json:
    """Return value and ends of an estimate as JSON has them."""
    return estimate.model_dump(include={"value", "low", "high"})
