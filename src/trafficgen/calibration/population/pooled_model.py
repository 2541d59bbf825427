"""Pool the fitted sessions of a corpus into one model: the typical session and the population."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trafficgen.calibration.laws.ranks import rank_correlations
from trafficgen.calibration.model_size import LARGEST_MODEL_BYTES, compact_streams, model_bytes
from trafficgen.calibration.population.across_sessions import law_across_sessions
from trafficgen.calibration.population.prototypes import (
    MOST_PROTOTYPES,
    Groups,
    group_sessions_by_process,
)
from trafficgen.calibration.population.session_estimates import SessionEstimates
from trafficgen.errors import TooFewObservationsError
from trafficgen.models import (
    LadderRung,
    Model,
    Population,
    PopulationLaw,
    PopulationQuantity,
    Prototype,
    Stream,
)
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, IntArray

#: Quantities whose dependence is kept.
DEPENDENT: tuple[PopulationQuantity, ...] = (
    "playout_rate_bps",
    "media_duration_s",
    "buffering_ratio",
    "buffering_duration_s",
)
_UNITS: dict[PopulationQuantity, str] = {
    "media_duration_s": "s",
    "playout_rate_bps": "bps",
    "buffering_duration_s": "s",
    "buffering_ratio": "1",
    "silence_s": "s",
    "rtt_s": "s",
    "loss_rate": "1",
    "media_start_s": "s",
}
_NEVER: dict[PopulationQuantity, str] = {
    "buffering_duration_s": "no session starts faster than it plays",
    "buffering_ratio": "no session starts faster than it plays",
    "silence_s": "every session begins with a media packet",
    "media_start_s": "every capture begins with a media packet",
    "rtt_s": "no capture has a complete TCP handshake of its session",
    "loss_rate": "no media flow has sequence numbers",
}
#: Levels nearer than this ratio are one rung: encoders leave larger steps.
_RUNG_RATIO = 1.2
#: A group's rates spread by this much at least, so that sessions near its edge may be drawn.
_SMALLEST_LOG_DEVIATION = 0.1


def pool_sessions(sessions: Sequence[SessionEstimates], *, captures: int, seed: int) -> Model:
    """Pool sessions into the model of the most typical one, with the population.

    Each quantity has a law across sessions, pooled with the sessions' own errors; a Gaussian copula
    of ranks keeps the dependence between rate, length and buffering; the packet processes are those
    of a few sessions in the middle of groups of similar ones, as many as the silhouette supports
    and a model file has room for.

    Args:
        sessions: Fitted sessions, at least one.
        captures: Captures that they came from.
        seed: Seed of the run.

    Raises:
        TooFewObservationsError: If there is no session.
    """
    if not sessions:
        raise TooFewObservationsError(what="sessions to be pooled", required=1, available=0)
    laws, absent = _laws(sessions, seed=seed)
    columns = {
        quantity: np.array([_value(each, quantity) for each in sessions])
        for quantity in DEPENDENT
        if quantity in laws
    }
    dependence = rank_correlations(columns)
    if not dependence:
        absent["dependence"] = (
            f"{len(sessions)} sessions do not show it: quantities are drawn independently"
        )
    ladder = _ladder(sessions)
    if not ladder:
        absent["ladder"] = "no session shows levels of its rate"
    features = np.stack([each.features for each in sessions])
    for most in range(MOST_PROTOTYPES, 0, -1):
        groups = group_sessions_by_process(features, most=most)
        population = Population(
            captures=captures,
            sessions=len(sessions),
            laws=laws,
            dependence=dependence,
            prototypes=_prototypes(sessions, groups),
            ladder=ladder,
            absent=absent,
        )
        model = sessions[int(groups.medoids[0])].model.model_copy(update={"population": population})
        if model_bytes(model) <= LARGEST_MODEL_BYTES:
            return model
    return model.model_copy(update={"streams": compact_streams(model.streams)})


def _value(session: SessionEstimates, quantity: PopulationQuantity) -> float:
    observed = session.observed.get(quantity)
    return np.nan if observed is None else observed.value


def _laws(
    sessions: Sequence[SessionEstimates], *, seed: int
) -> tuple[dict[PopulationQuantity, PopulationLaw], dict[str, str]]:
    """Return the law of each quantity, and why others have none."""
    laws: dict[PopulationQuantity, PopulationLaw] = {}
    absent: dict[str, str] = {}
    for quantity, unit in _UNITS.items():
        observed = [each.observed[quantity] for each in sessions if quantity in each.observed]
        if not observed:
            absent[quantity] = _NEVER.get(quantity, "no session has it")
            continue
        laws[quantity] = law_across_sessions(
            observed,
            unit=unit,
            sessions=sum(quantity not in each.unknown for each in sessions),
            generator=random_stream(seed, session=0, purpose=f"fit/population/{quantity}"),
            largest=1.0 if quantity == "loss_rate" else None,
        )
    return laws, absent


def _ladder(sessions: Sequence[SessionEstimates]) -> tuple[LadderRung, ...]:
    """Return the rungs that sessions share: their levels, separated by steps of a fifth."""
    found = [
        (level, row) for row, each in enumerate(sessions) for level in each.levels_bps if level > 0
    ]
    if not found:
        return ()
    found.sort()
    rates = np.array([level for level, _ in found])
    rows = np.array([row for _, row in found])
    rungs = np.concatenate(([0], np.cumsum(np.diff(np.log(rates)) > np.log(_RUNG_RATIO))))
    having = len(set(rows.tolist()))
    return tuple(
        LadderRung(
            rate_bps=float(np.median(rates[rungs == rung])),
            share=len(set(rows[rungs == rung].tolist())) / having,
        )
        for rung in range(int(rungs[-1]) + 1)
    )


def _prototypes(sessions: Sequence[SessionEstimates], groups: Groups) -> tuple[Prototype, ...]:
    """Return the prototypes; the first is the model itself."""
    log_rates = np.array([np.log(each.observed["playout_rate_bps"].value) for each in sessions])
    members = [np.flatnonzero(groups.member_of == group) for group in range(groups.medoids.size)]
    return tuple(
        _prototype(sessions, int(medoid), members[group], log_rates, own=group > 0)
        for group, medoid in enumerate(groups.medoids)
    )


def _prototype(
    sessions: Sequence[SessionEstimates],
    medoid: int,
    members: IntArray,
    log_rates: FloatArray,
    *,
    own: bool,
) -> Prototype:
    session = sessions[medoid]
    model = session.model
    streams: tuple[Stream, ...] | None = compact_streams(model.streams) if own else None
    buffering = [sessions[int(member)].model.buffering is not None for member in members]
    return Prototype(
        name=session.name,
        weight=members.size / len(sessions),
        group_rate_bps=float(np.exp(np.median(log_rates[members]))),
        group_log_deviation=max(float(log_rates[members].std()), _SMALLEST_LOG_DEVIATION),
        buffering_share=float(np.mean(buffering)),
        media_duration_s=session.observed["media_duration_s"].value,
        buffering_duration_s=model.buffering.duration_s.value if model.buffering else 0.0,
        playout_rate_bps=model.playout.rate_bps.value,
        streams=streams,
    )
