"""The summary of a fit: the JSON that `trafficgen fit --json` prints, without the flow that the command adds."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.calibrate import FittedSession, SessionMeasures
from trafficgen.flows import Bursts
from trafficgen.models import Law
from trafficgen.units import kbps_from_bps

Json = dict[str, object]


def summarise(fitted: FittedSession) -> Json:
    """Return the summary of a fit: plain numbers, strings, lists and dictionaries, None for what is not known.

    Rates are in kbit/s of IP bytes, times in s from the session's first media packet.
    """
    session = fitted.session
    return {
        "packets": session.packets,
        "duration_s": session.duration_s,
        "phases": _phases(session),
        "packet_bytes": _law(session.packet_bytes.parametric),
        "gap_s": _law(session.gap_s.parametric),
        "bursts": _bursts(session),
        "levels": None,
        "loss": _loss(session),
        "dependence": _dependence(session),
        "measures": {
            "buffering_data_rate_kbps": session.measures.buffering_data_rate_kbps,
            "steady_playout_rate_kbps": session.measures.steady_playout_rate_kbps,
            "ratio": session.measures.ratio,
            "tcp_friendly_kbps": session.measures.tcp_friendly_kbps,
            "friendliness": _friendliness(session),
        },
        "conditions": _conditions(session),
        "response": _response(session),
        "warnings": fitted.warnings,
    }


def _phases(session: SessionMeasures) -> Json:
    phases = session.phases
    buffering: Json | None = None
    if phases.buffering_end_s is not None:
        buffering = {
            "start_s": 0.0,
            "end_s": phases.buffering_end_s,
            "rate_kbps": phases.buffering_kbps,
            "low": phases.low_s,
            "high": phases.high_s,
        }
    return {
        "silence_s": phases.silence_s,
        "buffering": buffering,
        "playout": {"start_s": phases.playout_start_s, "end_s": phases.end_s, "rate_kbps": phases.playout_kbps},
        "buffering_ratio": phases.ratio,
    }


def _law(law: Law) -> Json:
    return {
        "family": law.family,
        "params": dict(law.params),
        "atoms": [{"value": atom.value, "p": atom.p} for atom in law.atoms],
        "low": dict(law.low),
        "high": dict(law.high),
        "ks": law.fit.ks if law.fit else None,
        "p_value": law.fit.p_value if law.fit else None,
        "alternatives": [{"family": other.family, "delta_bic": other.delta_bic} for other in law.alternatives],
    }


def _bursts(session: SessionMeasures) -> Json | None:
    if session.bursts_by_phase is None:
        return None
    by_phase = session.bursts_by_phase
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
    return {
        "rate": loss.rate,
        "mean_burst_packets": loss.mean_burst_packets,
        "source": loss.source,
        "low": loss.low,
        "high": loss.high,
        "model": loss.model.model_dump(mode="json") if loss.model else None,
    }


def _conditions(session: SessionMeasures) -> Json:
    return session.path.conditions.model_dump(mode="json")


def _response(session: SessionMeasures) -> Json:
    return session.response.response.model_dump(mode="json", exclude={"friendliness"})


def _friendliness(session: SessionMeasures) -> Json | None:
    """Return the source's rate beside TCP's: shares of the intervals, and the bounds over the whole, kbit/s."""
    found = session.response.response.friendliness
    if found is None:
        return None
    return {
        "interval_s": found.interval_s,
        "intervals": found.intervals,
        "above_bound_share": found.above_bound.value,
        "above_padhye_share": found.above_padhye.value,
        "median_ratio_to_padhye": found.median_ratio,
        "bound_kbps": kbps_from_bps(found.overall_bound_bps),
        "padhye_kbps": kbps_from_bps(found.overall_padhye_bps),
    }


def _dependence(session: SessionMeasures) -> Json:
    hurst = session.hurst
    return {
        "hurst": hurst.value if hurst else None,
        "hurst_low": hurst.low if hurst else None,
        "hurst_high": hurst.high if hurst else None,
        "gap_acf": session.gap_acf,
        "model": session.process,
    }
