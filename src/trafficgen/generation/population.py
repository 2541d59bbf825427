"""Sessions of a population: drawn from the laws across sessions and made from a prototype."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError
from trafficgen.generation.scaling import expected_bytes, quantiles_of, scale_process, vary_bursts
from trafficgen.generation.timeline import Timeline, session_timeline
from trafficgen.imports import special
from trafficgen.model_parts.estimate import refuse_odd_numbers
from trafficgen.models import (
    FIRST_PART_S,
    BurstProcess,
    FrameProcess,
    Model,
    PacketProcess,
    Phase,
    Population,
    PopulationQuantity,
    Prototype,
    SessionVariant,
    Stream,
    VariedLaw,
)
from trafficgen.processes.base import playable
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, bps_from_bytes, bytes_from_bps

#: Quantities drawn together, always in this order, so that a draw keeps its place.
_DRAWN: tuple[PopulationQuantity, ...] = (
    "playout_rate_bps",
    "media_duration_s",
    "buffering_ratio",
    "buffering_duration_s",
)
_LENGTH = _DRAWN.index("media_duration_s")
#: How far sessions are from the one that they resemble, as a share of the spread of all: none is
#: the same again, and hardly any leaves the rate and the length that its packets had.
_RESEMBLANCE = 0.1
_SMALLEST_PROBABILITY = 1e-4
#: Buffering ends before this share of the session, as it does in a fit; the rest is playout.
_LARGEST_BUFFERING_SHARE = 0.8
#: Largest share of silence in a session whose length is given.
_LARGEST_SILENCE_SHARE = 0.5
_SHORTEST_S = 1e-6


@dataclass(frozen=True)
class DrawnSession:
    """Quantities drawn for one session.

    Attributes:
        prototype: Number of the prototype that it is made from.
        media_duration_s: First media packet to the end, s.
        silence_s: Before the first media packet, s.
        buffering_duration_s: Length of the buffering, s; 0: none.
        buffering_ratio: Buffering rate / playout rate.
        factors: Laws of its bursts over those of the prototype; empty where it has these.
    """

    prototype: int
    media_duration_s: float
    playout_rate_bps: float
    silence_s: float
    buffering_duration_s: float
    buffering_ratio: float
    factors: Mapping[VariedLaw, float] = field(default_factory=dict)


class SessionSampler:
    """Draws sessions of a population; session k does not depend on the others.

    A session resembles a fitted one that is drawn: its rate, length and buffering have about the
    same places in their laws, and its packets are those of its prototype with its bursts (a
    smoothed bootstrap: Silverman and Young, Biometrika 74, 1987). Populations without such sessions
    draw rate, length and buffering by a Gaussian copula, and the prototype given the rate, in
    proportion to its weight and to the density of its group's rates there.
    """

    def __init__(self, model: Model, population: Population, *, seed: int) -> None:
        self._model, self._population, self._seed = model, population, seed
        self._laws = {
            quantity: pooled.law.distribution() for quantity, pooled in population.laws.items()
        }
        self._root = np.linalg.cholesky(_correlation(population))
        self._prototypes = [
            _Original.prepare(prototype, model) for prototype in population.prototypes
        ]
        self._members = self._find_members()

    def draw(
        self, session: int, *, duration_s: float | None = None, rate_factor: float = 1.0
    ) -> DrawnSession:
        """Draw the quantities of a session.

        ``duration_s`` counts from its first packet; None draws it. It plays at ``rate_factor``
        times the rate that is drawn.
        """
        generator = random_stream(self._seed, session=session, purpose="population/session")
        noise = generator.standard_normal(len(_DRAWN))
        at_prototype, at_buffering, at_silence, how_silent, at_variant, how_long = generator.random(
            6
        ).tolist()
        member = self._choose_member(session, at_prototype)
        if member is None:
            scores = self._root @ noise
        else:
            scores = (member.scores + _RESEMBLANCE * noise) / np.hypot(1, _RESEMBLANCE)
            if member.variant.is_cut:
                scores[_LENGTH] = _draw_above(member.scores[_LENGTH], how_long)
        values = {
            quantity: self._value(self._laws[quantity], float(special.ndtr(score)))
            for quantity, score in zip(_DRAWN, scores, strict=True)
            if quantity in self._laws
        }
        if member is None:
            chosen = self._choose_prototype(values["playout_rate_bps"], at_prototype)
            has_buffering = at_buffering < self._population.prototypes[chosen].buffering_share
            factors = self._choose_factors(chosen, values["playout_rate_bps"], at_variant)
        else:
            chosen, factors = member.prototype, member.variant.factors
            has_buffering = "buffering_ratio" in member.variant.quantities
        silence_s = 0.0
        silence = self._population.laws.get("silence_s")
        if silence is not None and at_silence < silence.positive_share:
            silence_s = self._value(self._laws["silence_s"], how_silent)
        media_s = values["media_duration_s"]
        if duration_s is not None:
            silence_s = min(silence_s, _LARGEST_SILENCE_SHARE * duration_s)
            media_s = duration_s - silence_s
        has_buffering &= "buffering_ratio" in values and "buffering_duration_s" in values
        buffering_s = min(
            values.get("buffering_duration_s", 0.0), _LARGEST_BUFFERING_SHARE * media_s
        )
        return DrawnSession(
            prototype=chosen,
            media_duration_s=media_s,
            playout_rate_bps=values["playout_rate_bps"] * rate_factor,
            silence_s=silence_s,
            buffering_duration_s=buffering_s if has_buffering else 0.0,
            buffering_ratio=values["buffering_ratio"] if has_buffering else 1.0,
            factors=factors,
        )

    def timeline(
        self, session: int, *, duration_s: float | None = None, rate_factor: float = 1.0
    ) -> Timeline:
        """Return times and laws of a session; arguments as for :meth:`draw`."""
        drawn = self.draw(session, duration_s=duration_s, rate_factor=rate_factor)
        problem = (
            f"{self._model.name}: a session that its population draws has a number that no model"
            " may have"
        )
        with refuse_odd_numbers(GenerationError, problem, "correct the laws of the population"):
            streams = self._prototypes[drawn.prototype].streams_of(drawn)
            silence_s = self._model.startup.silence_s.model_copy(update={"value": drawn.silence_s})
            startup = self._model.startup.model_copy(update={"silence_s": silence_s})
            model = self._model.model_copy(update={"streams": streams, "startup": startup})
        timeline = session_timeline(model, duration_s=duration_s)
        if duration_s is not None:
            return timeline
        ending = tuple(played.end_with_packet() for played in timeline.streams)
        return replace(timeline, streams=ending)

    def expected_packets(self, drawn: DrawnSession) -> float:
        """Return about how many packets a session has."""
        longer_s = (drawn.buffering_ratio - 1) * drawn.buffering_duration_s
        size_bytes = bytes_from_bps(drawn.playout_rate_bps, drawn.media_duration_s + longer_s)
        return size_bytes / self._prototypes[drawn.prototype].packet_bytes

    def _find_members(self) -> list[_Member]:
        """Return the fitted sessions that drawn ones resemble; none if a prototype lacks them."""
        found = [
            (number, prototype.weight / len(prototype.variants), variant)
            for number, prototype in enumerate(self._population.prototypes)
            for variant in prototype.variants
            if variant.quantities
        ]
        if {number for number, _, _ in found} != set(range(len(self._prototypes))):
            return []
        scores = np.column_stack(
            [
                self._scores(quantity, [one.quantities.get(quantity) for _, _, one in found])
                for quantity in _DRAWN
            ]
        )
        return [
            _Member(number, variant, weight, row)
            for (number, weight, variant), row in zip(found, scores, strict=True)
        ]

    def _scores(self, quantity: PopulationQuantity, values: list[float | None]) -> FloatArray:
        """Return the normal scores of sessions' values in their law, 0 where one has none."""
        scores = np.zeros(len(values))
        having = np.array([value is not None for value in values])
        if quantity not in self._laws or not having.any():
            return scores
        at = self._laws[quantity].cdf(np.array([one for one in values if one is not None]))
        clipped = np.clip(at, _SMALLEST_PROBABILITY, 1 - _SMALLEST_PROBABILITY)
        scores[having] = special.ndtri(clipped)
        return scores

    def _choose_member(self, session: int, uniform: float) -> _Member | None:
        """Return the fitted session that a session resembles.

        Of as many successive sessions as there are fitted ones each resembles another (stratified
        sampling: Cochran 1977), so that few sessions show what all fitted ones do.
        """
        count = len(self._members)
        if not count:
            return None
        turn, place = divmod(session, count)
        order = random_stream(self._seed, session=turn, purpose="population/order")
        stratum = int(order.permutation(count)[place])
        log_weight = np.log([one.weight for one in self._members])
        return self._members[_draw(log_weight, (stratum + uniform) / count)]

    def _choose_prototype(self, rate_bps: float, uniform: float) -> int:
        prototypes = self._population.prototypes
        deviation = np.array([each.group_log_deviation for each in prototypes])
        rates = np.array([each.group_rate_bps for each in prototypes])
        distance = np.log(rate_bps / rates) / deviation
        weights = np.log([each.weight for each in prototypes])
        log_weight = weights - np.log(deviation) - distance**2 / 2
        return _draw(log_weight, uniform)

    def _choose_factors(
        self, prototype: int, rate_bps: float, uniform: float
    ) -> Mapping[VariedLaw, float]:
        """Return the factors of a session of the group, one of about the same rate.

        Sessions are weighted by a normal kernel around the logarithm of the rate (Silverman 1986).
        """
        group = self._population.prototypes[prototype]
        if not group.variants:
            return {}
        rates = np.array([each.rate_bps for each in group.variants])
        width = group.group_log_deviation * rates.size ** (-1 / 5)
        return group.variants[
            _draw(-((np.log(rate_bps / rates) / width) ** 2) / 2, uniform)
        ].factors

    @staticmethod
    def _value(law: MixedLaw, probability: float) -> float:
        return float(quantiles_of(law, np.array([probability]))[0])


@dataclass(frozen=True)
class _Member:
    """A fitted session, with its normal scores in the laws of what is drawn together.

    Attributes:
        prototype: Number of its prototype.
        weight: Share of the sessions that resemble it.
        scores: A score for each of :data:`_DRAWN`, shape (4,).
    """

    prototype: int
    variant: SessionVariant
    weight: float
    scores: FloatArray


def _draw_above(score: float, uniform: float) -> float:
    """Return the normal score that a uniform number draws of those above a score."""
    beyond = float(special.ndtr(-score))
    return -float(special.ndtri(max(beyond * (1 - uniform), _SMALLEST_PROBABILITY)))


def _draw(log_weight: FloatArray, uniform: float) -> int:
    """Return the place that a uniform number draws in proportion to weights."""
    weight = np.cumsum(np.exp(log_weight - log_weight.max()))
    place = int(np.searchsorted(weight, uniform * weight[-1], side="right"))
    return min(place, weight.size - 1)


def _correlation(population: Population) -> FloatArray:
    """Return the correlation matrix of the copula; unknown correlations are 0."""
    matrix = np.eye(len(_DRAWN))
    for pair in population.dependence:
        if pair.first in _DRAWN and pair.second in _DRAWN:
            at = _DRAWN.index(pair.first), _DRAWN.index(pair.second)
            matrix[at] = matrix[at[::-1]] = pair.normal_correlation.value
    return matrix


@dataclass(frozen=True)
class _Original:
    """A prototype ready to be scaled.

    Attributes:
        buffering_s: Its buffering, s; 0: none.
        playout_bps: Rate of all its streams in the playout, bit/s.
        buffering_bps: Rate of all its streams while buffering, bit/s; 0: none.
        packet_bytes: Bytes of media for each of its packets, acknowledgements included.
    """

    streams: tuple[Stream, ...]
    duration_s: float
    buffering_s: float
    playout_bps: float
    buffering_bps: float
    packet_bytes: float
    profile: tuple[float, ...]

    @classmethod
    def prepare(cls, prototype: Prototype, model: Model) -> _Original:
        streams = prototype.streams or model.streams
        buffering_s = prototype.buffering_duration_s
        end_s = max(stream.phases[-1].end_s for stream in streams)
        sent = {True: 0.0, False: 0.0}
        sizes, weights = [], []
        for stream, phase in [(one, phase) for one in streams for phase in one.phases]:
            sent[phase.name == "buffering"] += phase.rate_bps * phase.duration_s
            laws = playable(phase.process).size_laws()
            sizes.append(next(iter(laws.values())).mean / stream.transport.packets_per_media_packet)
            weights.append(phase.rate_bps * phase.duration_s + _SHORTEST_S)
        if 0.0 in (buffering_s, sent[True], sent[False]):  # a single phase
            buffering_s, sent = 0.0, {True: 0.0, False: sent[True] + sent[False]}
        return cls(
            streams=streams,
            duration_s=end_s,
            buffering_s=buffering_s,
            playout_bps=sent[False] / max(end_s - buffering_s, _SHORTEST_S),
            buffering_bps=sent[True] / buffering_s if buffering_s > 0 else 0.0,
            packet_bytes=max(1.0, float(np.average(sizes, weights=weights))),
            profile=prototype.profile,
        )

    def streams_of(self, drawn: DrawnSession) -> tuple[Stream, ...]:
        """Return the streams of a session: phases at its times, processes at its rates."""
        streams = []
        for number, stream in enumerate(self.streams):
            phases: list[Phase] = []
            for phase in stream.phases:
                parts = self._place(phase, drawn)
                if number == 0:
                    parts = [each for one in parts for each in self._follow_profile(*one)]
                for placed, rate_bps in parts:
                    process = placed.process
                    if number == 0 and isinstance(process, BurstProcess):
                        process = vary_bursts(process, drawn.factors)
                    varied = placed.model_copy(update={"process": process})
                    phases.append(_at_rate(varied, rate_bps, first=not phases))
            if phases:
                streams.append(stream.model_copy(update={"phases": tuple(phases)}))
        return tuple(streams)

    def _place(self, phase: Phase, drawn: DrawnSession) -> list[tuple[Phase, float]]:
        """Return the phases that a phase becomes, with their rates: none, one, or two."""
        start_s, end_s = self._move(phase.start_s, drawn), self._move(phase.end_s, drawn)
        change_s = 0.0
        slow_bps = phase.rate_bps * drawn.playout_rate_bps / self.playout_bps
        fast_bps = slow_bps * drawn.buffering_ratio
        if self.buffering_s > 0 and phase.name == "buffering":
            fast_bps *= self.playout_bps / self.buffering_bps
            change_s = drawn.buffering_duration_s
            end_s = min(end_s, change_s)
        elif self.buffering_s == 0:
            change_s = drawn.buffering_duration_s
        later = "playout" if phase.name == "buffering" else phase.name
        placed = []
        for name, begin_s, stop_s, rate_bps in (
            ("buffering", start_s, min(end_s, change_s), fast_bps),
            (later, max(start_s, change_s), end_s, slow_bps),
        ):
            if stop_s - begin_s >= _SHORTEST_S:
                times = {"name": name, "start_s": begin_s, "duration_s": stop_s - begin_s}
                placed.append((phase.model_copy(update=times), rate_bps))
        return placed

    def _follow_profile(self, phase: Phase, rate_bps: float) -> Iterator[tuple[Phase, float]]:
        """Yield the parts of a phase, at the rates that the profile of the prototype has there."""
        if not self.profile or not _may_be_cut(phase.process):
            yield phase, rate_bps
            return
        ends_s = FIRST_PART_S * 2.0 ** np.arange(len(self.profile))
        ends_s[-1] = np.inf
        begin_s = phase.start_s
        for last_s, factor in zip(ends_s.tolist(), self.profile, strict=True):
            end_s = min(last_s, phase.end_s)
            if end_s - begin_s >= _SHORTEST_S:
                if factor > 0:
                    times = {"start_s": begin_s, "duration_s": end_s - begin_s}
                    yield phase.model_copy(update=times), rate_bps * factor
                begin_s = end_s

    def _move(self, time_s: float, drawn: DrawnSession) -> float:
        """Return the time of a prototype's moment in a session: at the same share of its phase."""
        if time_s < self.buffering_s:
            return time_s * drawn.buffering_duration_s / self.buffering_s
        share = (time_s - self.buffering_s) / (self.duration_s - self.buffering_s)
        start_s = drawn.buffering_duration_s if self.buffering_s > 0 else 0.0
        return start_s + share * (drawn.media_duration_s - start_s)


def _may_be_cut(process: PacketProcess) -> bool:
    """Return whether a process plays alike in parts: none has a clock or a beginning of its own."""
    if isinstance(process, BurstProcess):
        return process.order is None and not process.largest_first
    return not isinstance(process, FrameProcess)


def _at_rate(phase: Phase, rate_bps: float, *, first: bool) -> Phase:
    """Return a phase whose process has a mean rate over the phase."""
    before_bps, process = phase.rate_bps, phase.process
    known_bytes = expected_bytes(process, phase.duration_s, first_at_start=first)
    if known_bytes is not None:
        before_bps = bps_from_bytes(known_bytes, phase.duration_s)
    if before_bps > 0:
        process = scale_process(process, rate_bps / before_bps)
    return phase.model_copy(update={"rate_bps": rate_bps, "process": process})
