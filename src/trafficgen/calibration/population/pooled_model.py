"""Pool the fitted sessions of a corpus into one model: typical session, prototypes, laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.model_size import (
    LARGEST_POPULATION_BYTES,
    compact_law,
    compact_streams,
    model_bytes,
)
from trafficgen.calibration.population.across_sessions import (
    FEWEST_WHOLE,
    Observed,
    fit_law_across_sessions,
)
from trafficgen.calibration.population.cut_sessions import find_cut_sessions
from trafficgen.calibration.population.session_estimates import SessionEstimates
from trafficgen.critical_values import NORMAL_95
from trafficgen.distributions.two_samples import mean_ranks
from trafficgen.errors import TooFewObservationsError
from trafficgen.imports import special
from trafficgen.models import (
    MOST_FACTOR,
    MOST_PROTOTYPES,
    MOST_VARIANTS,
    BurstProcess,
    Estimate,
    LadderRung,
    Model,
    Population,
    PopulationLaw,
    PopulationQuantity,
    Prototype,
    RankCorrelation,
    SessionVariant,
    Stream,
    VariedLaw,
)
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, IntArray

#: Fewer sessions that have both quantities say nothing about their dependence.
FEWEST_SESSIONS = 5
_NEARLY_ONE = 0.999
_SMALLEST_EIGENVALUE = 1e-6
_METHOD = (
    "normal scores of the ranks, shrunk towards independence (Schaefer and Strimmer 2005) by"
    " {shrinkage:.2f}; interval by Fisher's z of {count} sessions, before shrinking"
)


@dataclass(frozen=True)
class _Pair:
    first: PopulationQuantity
    second: PopulationQuantity
    correlation: float
    sessions: int


def rank_correlations(columns: dict[PopulationQuantity, FloatArray]) -> tuple[RankCorrelation, ...]:
    """Estimate the dependence of each two quantities that five sessions or more have both.

    The shrinkage makes the expected squared error of the whole matrix least: the sum of the
    variances of the correlations over the sum of their squares. It leaves the matrix positive
    definite. Each column, shape (k,), is NaN in sessions that do not have the quantity.
    """
    pairs: list[_Pair] = []
    names = list(columns)
    for row, first in enumerate(names):
        for second in names[row + 1 :]:
            both = np.isfinite(columns[first]) & np.isfinite(columns[second])
            correlation = _correlate_scores(columns[first][both], columns[second][both])
            if correlation is not None:
                pairs.append(_Pair(first, second, correlation, int(np.count_nonzero(both))))
    if not pairs:
        return ()
    squares = sum(pair.correlation**2 for pair in pairs)
    variances = sum((1 - pair.correlation**2) ** 2 / (pair.sessions - 1) for pair in pairs)
    shrinkage = 1.0 if squares <= variances else variances / squares
    shrinkage = max(shrinkage, _least_for_positive(pairs, names))
    return tuple(_describe_pair(pair, shrinkage) for pair in pairs)


def _correlate_scores(first: FloatArray, second: FloatArray) -> float | None:
    """Correlate the normal scores of the ranks; None where there are too few, or all equal."""
    if first.size < FEWEST_SESSIONS or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    one, other = (special.ndtri(mean_ranks(x) / (x.size + 1)) for x in (first, second))
    correlation = float(one @ other / np.sqrt((one @ one) * (other @ other)))  # means are zero
    return float(np.clip(correlation, -_NEARLY_ONE, _NEARLY_ONE))


def _least_for_positive(pairs: list[_Pair], names: list[PopulationQuantity]) -> float:
    """Return the least shrinkage that makes correlations of different sessions definite."""
    matrix = np.eye(len(names))
    for pair in pairs:
        at = names.index(pair.first), names.index(pair.second)
        matrix[at] = matrix[at[::-1]] = pair.correlation
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest >= _SMALLEST_EIGENVALUE:
        return 0.0
    # Shrinking by a share moves every eigenvalue towards 1 by that share.
    return (_SMALLEST_EIGENVALUE - smallest) / (1 - smallest)


def _describe_pair(pair: _Pair, shrinkage: float) -> RankCorrelation:
    half = NORMAL_95 / np.sqrt(pair.sessions - 3)
    low, high = np.tanh(np.arctanh(pair.correlation) + np.array([-half, half])).tolist()
    value = pair.correlation * (1 - shrinkage)
    estimate = Estimate(
        value=value,
        low=min(low, value),
        high=max(high, value),
        method=_METHOD.format(shrinkage=shrinkage, count=pair.sessions),
    )
    return RankCorrelation(first=pair.first, second=pair.second, normal_correlation=estimate)


#: Most sweeps in which swaps are searched for; real corpora need a few.
_SWEEPS = 50


@dataclass(frozen=True)
class Groups:
    """Sessions in groups.

    Attributes:
        medoids: Session that represents each group, largest group first, shape (g,).
        member_of: Group of each session, shape (k,).
    """

    medoids: IntArray
    member_of: IntArray


def group_sessions_by_process(features: FloatArray, *, most: int = MOST_PROTOTYPES) -> Groups:
    """Divide sessions into so many groups of alike ones at most, each with its middle session.

    Partitioning around medoids; sessions that are equal are in one group. ``features`` has a row a
    session, on any scales, shape (k, f).

    Source: Kaufman and Rousseeuw, "Finding Groups in Data" (1990), chapter 2.
    """
    deviation = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    from scipy import spatial  # noqa: PLC0415 - only populations of sessions need it

    distance = spatial.distance.cdist(scaled, scaled)
    medoids = _medoids(distance, min(most, np.unique(features, axis=0).shape[0]))
    member_of = np.argmin(distance[:, medoids], axis=1)
    order = np.argsort(-np.bincount(member_of, minlength=medoids.size), kind="stable")
    place = np.empty(medoids.size, dtype=np.int64)
    place[order] = np.arange(medoids.size)
    return Groups(medoids[order], place[member_of])


def _medoids(distance: FloatArray, count: int) -> IntArray:
    """Return medoids by building them up one by one and swapping while that helps."""
    chosen = [int(np.argmin(distance.sum(axis=1)))]
    while len(chosen) < count:
        nearest = distance[:, chosen].min(axis=1)
        chosen.append(int(np.argmin(np.minimum(nearest[:, None], distance).sum(axis=0))))
    for _ in range(_SWEEPS if count > 1 else 0):
        best_cost, best_swap = float(distance[:, chosen].min(axis=1).sum()) - 1e-9, None
        for place in range(count):
            others = [session for row, session in enumerate(chosen) if row != place]
            costs = np.minimum(distance[:, others].min(axis=1)[:, None], distance).sum(axis=0)
            if costs.min() < best_cost:
                best_cost, best_swap = float(costs.min()), (place, int(np.argmin(costs)))
        if best_swap is None:
            break
        chosen[best_swap[0]] = best_swap[1]
    return np.array(chosen, dtype=np.int64)


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
#: Full packets are of this quantile of sizes; gaps are compared at these, none below a microsecond.
_FULL, _SHORTEST_GAP_S = 0.95, 1e-6
_PROBABILITIES = (np.arange(100) + 0.5) / 100
#: A group's rates spread by this much at least, so that sessions near its edge may be drawn.
_SMALLEST_LOG_DEVIATION = 0.1


def pool_sessions(sessions: Sequence[SessionEstimates], *, captures: int, seed: int) -> Model:
    """Pool sessions into the model of the most typical one, with the population.

    Each quantity has a law across sessions, pooled with the sessions' own errors; what each session
    has of rate, length, buffering and bursts is kept too, so that these are drawn together. The
    packet processes are those of sessions in the middle of groups of similar ones, as many as a
    model file has room for. ``captures`` is the number of captures that the sessions came from.

    Raises:
        TooFewObservationsError: If there is no session.
    """
    if not sessions:
        raise TooFewObservationsError(what="sessions to be pooled", required=1, available=0)
    sessions, whole = _mark_cut(sessions)
    laws, absent = _laws(sessions, seed=seed)
    if whole is not None:
        absent["media_duration_s.cut"] = whole
    unseen = Observed(np.nan)
    columns = {
        quantity: np.array([each.observed.get(quantity, unseen).value for each in sessions])
        for quantity in DEPENDENT
        if quantity in laws
    }
    dependence = rank_correlations(columns)
    if not dependence:
        absent["dependence"] = (
            f"{len(sessions)} sessions do not show it: quantities are drawn independently"
        )
    ladder = _find_ladder(sessions)
    if not ladder:
        absent["ladder"] = "no session shows levels of its rate"
    features = np.stack([each.features for each in sessions])
    compact: dict[int, tuple[Stream, ...]] = {}

    def model_of(most: int) -> Model:
        groups = group_sessions_by_process(features, most=most)
        population = Population(
            captures=captures,
            sessions=len(sessions),
            laws=laws,
            dependence=dependence,
            prototypes=_prototypes(sessions, groups, compact),
            ladder=ladder,
            absent=absent,
        )
        typical = sessions[int(groups.medoids[0])].model
        if len(population.prototypes) > 1:
            typical = typical.model_copy(update={"streams": compact_streams(typical.streams)})
        return typical.model_copy(update={"population": population})

    return _largest_that_fits(model_of, min(MOST_PROTOTYPES, len(sessions)))


def _mark_cut(
    sessions: Sequence[SessionEstimates],
) -> tuple[Sequence[SessionEstimates], str | None]:
    """Mark the sessions that a capture cut; or say why lengths are taken as seen."""
    known = [one.ends for one in sessions]
    ends = [one for one in known if one is not None]
    if len(ends) < len(known):
        return sessions, None
    cut = find_cut_sessions(ends)
    count = int(np.count_nonzero(cut))
    if count and len(sessions) - count < FEWEST_WHOLE:
        seen = f"{count} of {len(sessions)} sessions were cut by their captures"
        return sessions, f"{seen}: too many to know how long they would have been"
    marked = [one.cut() if is_cut else one for one, is_cut in zip(sessions, cut, strict=True)]
    return marked, None


def _largest_that_fits(model_of: Callable[[int], Model], most: int) -> Model:
    """Return the model of most prototypes whose file is not too large, by bisection.

    One prototype alone that does not fit is thinned.
    """
    best, fits = None, 0
    while fits < most:
        count = (fits + most + 1) // 2
        model = model_of(count)
        if model_bytes(model) <= LARGEST_POPULATION_BYTES:
            best, fits = model, count
        else:
            most = count - 1
    if best is not None:
        return best
    model = model_of(1)
    return model.model_copy(update={"streams": compact_streams(model.streams)})


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
        found = fit_law_across_sessions(
            observed,
            unit=unit,
            sessions=sum(quantity not in each.unknown for each in sessions),
            generator=random_stream(seed, session=0, purpose=f"fit/population/{quantity}"),
            largest=1.0 if quantity == "loss_rate" else None,
        )
        laws[quantity] = found.model_copy(update={"law": compact_law(found.law, alternatives=1)})
    return laws, absent


def _find_ladder(sessions: Sequence[SessionEstimates]) -> tuple[LadderRung, ...]:
    """Return the rungs that sessions share: their levels, separated by steps of a fifth."""
    found = sorted(
        (level, row) for row, each in enumerate(sessions) for level in each.levels_bps if level > 0
    )
    if not found:
        return ()
    rates, rows = (np.array(column) for column in zip(*found, strict=True))
    edges = np.flatnonzero(np.diff(np.log(rates)) > np.log(_RUNG_RATIO)) + 1
    having = np.unique(rows).size
    return tuple(
        LadderRung(rate_bps=float(np.median(rung_rates)), share=np.unique(rung_rows).size / having)
        for rung_rates, rung_rows in zip(np.split(rates, edges), np.split(rows, edges), strict=True)
    )


def _prototypes(
    sessions: Sequence[SessionEstimates], groups: Groups, compact: dict[int, tuple[Stream, ...]]
) -> tuple[Prototype, ...]:
    """Return the prototypes; the first is the model itself.

    ``compact`` keeps the streams of those made before, by their sessions.
    """
    log_rates = np.array([np.log(each.observed["playout_rate_bps"].value) for each in sessions])
    has_buffering = np.array([each.model.buffering is not None for each in sessions])
    prototypes = []
    for group, medoid in enumerate(groups.medoids.tolist()):
        session, model = sessions[medoid], sessions[medoid].model
        members = groups.member_of == group
        if group and medoid not in compact:
            compact[medoid] = compact_streams(model.streams)
        prototypes.append(
            Prototype(
                name=session.name,
                weight=np.count_nonzero(members) / len(sessions),
                group_rate_bps=float(np.exp(np.median(log_rates[members]))),
                group_log_deviation=max(float(log_rates[members].std()), _SMALLEST_LOG_DEVIATION),
                buffering_share=float(np.mean(has_buffering[members])),
                media_duration_s=session.observed["media_duration_s"].value,
                buffering_duration_s=model.buffering.duration_s.value if model.buffering else 0.0,
                playout_rate_bps=model.playout.rate_bps.value,
                streams=compact[medoid] if group else None,
                profile=session.profile,
                variants=_variants(
                    model,
                    [sessions[row] for row in np.flatnonzero(members).tolist()],
                    most=max(1, MOST_VARIANTS * int(members.sum()) // len(sessions)),
                ),
            )
        )
    return tuple(prototypes)


def _variants(
    prototype: Model, members: Sequence[SessionEstimates], most: int
) -> tuple[SessionVariant, ...]:
    """Return what members of a group have, of many an even choice by rate."""
    usual = _playout_bursts(prototype)
    own = {} if usual is None else _sizes_of_laws(usual)
    members = sorted(members, key=lambda each: each.observed["playout_rate_bps"].value)
    kept = np.linspace(0, len(members) - 1, min(len(members), most)).astype(np.int64)
    return tuple(_vary(members[row], own) for row in kept.tolist())


def _vary(member: SessionEstimates, own: Mapping[VariedLaw, float]) -> SessionVariant:
    """Return what a member has, with its bursts over those of its prototype's laws."""
    bursts = _playout_bursts(member.model)
    sizes = {} if bursts is None else _sizes_of_laws(bursts)
    return SessionVariant(
        rate_bps=member.observed["playout_rate_bps"].value,
        factors={
            name: _rounded(min(max(size / own[name], 1 / MOST_FACTOR), MOST_FACTOR))
            for name, size in sizes.items()
            if name in own
        },
        quantities={
            quantity: _rounded(member.observed[quantity].value)
            for quantity in DEPENDENT
            if quantity in member.observed
        },
        is_cut=member.length.is_cut,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _playout_bursts(model: Model) -> BurstProcess | None:
    """Return the bursts of the last phase of the first stream, if that has any."""
    process = model.streams[0].phases[-1].process
    return process if isinstance(process, BurstProcess) else None


def _sizes_of_laws(process: BurstProcess) -> dict[VariedLaw, float]:
    """Return what variants compare: typical spacing, gap, and size of full packets.

    Those that are 0 or have no bound are left out, as is the gap of single packets.
    """
    full_bytes = float(process.packet_bytes.distribution().ppf(_FULL))
    sizes: dict[VariedLaw, float] = {
        "spacing_s": process.spacing_s.distribution().mean,
        "packet_bytes": full_bytes,
        "last_packet_bytes": full_bytes,
    }
    if process.gap_within_s is not None:
        gaps_s = process.gap_within_s.distribution().ppf(_PROBABILITIES)
        sizes["gap_within_s"] = float(np.exp(np.mean(np.log(np.maximum(gaps_s, _SHORTEST_GAP_S)))))
    return {name: size for name, size in sizes.items() if 0 < size < np.inf}
