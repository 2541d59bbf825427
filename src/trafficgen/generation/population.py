"""Sessions that differ: each is drawn from the laws across sessions and made from a prototype."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.distributions import MixedLaw
from trafficgen.generation.extent import packets_per_media_packet
from trafficgen.generation.scaling import expected_bytes, quantiles_of, scaled_process
from trafficgen.generation.timeline import Timeline, session_timeline
from trafficgen.models import Model, Phase, Population, PopulationQuantity, Prototype, Stream
from trafficgen.processes import playable
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, bps_from_bytes, bytes_from_bps

#: Quantities drawn together, in this order whatever a population has, so that a draw keeps its
#: place.
_DRAWN: tuple[PopulationQuantity, ...] = (
    "playout_rate_bps",
    "media_duration_s",
    "buffering_ratio",
    "buffering_duration_s",
)
#: Buffering ends before this share of the session, as it does for a fit: what follows is the
#: playout.
_LARGEST_BUFFERING_SHARE = 0.8
#: With a length that is asked for, silence takes this share of it at most.
_LARGEST_SILENCE_SHARE = 0.5
_SHORTEST_S = 1e-6


@dataclass(frozen=True)
class DrawnSession:
    """What is drawn for one session.

    Attributes:
        prototype: Which prototype it is made from.
        media_duration_s: First media packet to the end, s.
        playout_rate_bps: Rate of the playout, bit/s.
        silence_s: Before the first media packet, s.
        buffering_duration_s: Length of the buffering, s; 0 where the session has none.
        buffering_ratio: Buffering rate / playout rate.
    """

    prototype: int
    media_duration_s: float
    playout_rate_bps: float
    silence_s: float
    buffering_duration_s: float
    buffering_ratio: float


class SessionSampler:
    """Draws sessions of a population; session k is the same whoever draws it, and in whatever
    order.

    The rate, the length and the buffering are drawn together by a Gaussian copula from their laws.
    The prototype is drawn given the rate, each in proportion to its weight and to the density of
    its group's rates there, so that a session is scaled no further than it must be.
    """

    def __init__(self, model: Model, population: Population, *, seed: int) -> None:
        self._model, self._population, self._seed = model, population, seed
        self._laws = {
            quantity: pooled.law.distribution() for quantity, pooled in population.laws.items()
        }
        self._root = np.linalg.cholesky(_correlation(population))
        self._prototypes = [_Played.of(prototype, model) for prototype in population.prototypes]

    def drawn(
        self, session: int, *, duration_s: float | None = None, rate_factor: float = 1.0
    ) -> DrawnSession:
        """Return what is drawn for a session.

        Args:
            session: Number of the session.
            duration_s: Its length from its first packet, s; None: as long as is drawn.
            rate_factor: Times the drawn rate at which it plays.
        """
        generator = random_stream(self._seed, session=session, purpose="population/session")
        scores = self._root @ generator.standard_normal(len(_DRAWN))
        at_prototype, at_buffering, at_silence, how_silent = generator.random(4).tolist()
        values = {
            quantity: self._value(self._laws[quantity], float(special.ndtr(score)))
            for quantity, score in zip(_DRAWN, scores, strict=True)
            if quantity in self._laws
        }
        chosen = self._chosen(values["playout_rate_bps"], at_prototype)
        silence_s = 0.0
        if (
            "silence_s" in self._laws
            and at_silence < self._population.laws["silence_s"].positive_share
        ):
            silence_s = self._value(self._laws["silence_s"], how_silent)
        media_s = values["media_duration_s"]
        if duration_s is not None:
            silence_s = min(silence_s, _LARGEST_SILENCE_SHARE * duration_s)
            media_s = duration_s - silence_s
        has_buffering = at_buffering < self._population.prototypes[chosen].buffering_share
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
        )

    def timeline(
        self, session: int, *, duration_s: float | None = None, rate_factor: float = 1.0
    ) -> Timeline:
        """Return times and laws of a session; arguments as for :meth:`drawn`."""
        drawn = self.drawn(session, duration_s=duration_s, rate_factor=rate_factor)
        streams = self._prototypes[drawn.prototype].streams_of(drawn)
        silence_s = self._model.startup.silence_s.model_copy(update={"value": drawn.silence_s})
        startup = self._model.startup.model_copy(update={"silence_s": silence_s})
        model = self._model.model_copy(update={"streams": streams, "startup": startup})
        return session_timeline(model, duration_s=duration_s)

    def expected_packets(self, drawn: DrawnSession) -> float:
        """Return about how many packets a session has."""
        longer_s = (drawn.buffering_ratio - 1) * drawn.buffering_duration_s
        size_bytes = bytes_from_bps(drawn.playout_rate_bps, drawn.media_duration_s + longer_s)
        return size_bytes / self._prototypes[drawn.prototype].packet_bytes

    def _chosen(self, rate_bps: float, uniform: float) -> int:
        prototypes = self._population.prototypes
        deviation = np.array([each.group_log_deviation for each in prototypes])
        distance = (
            np.log(rate_bps / np.array([each.group_rate_bps for each in prototypes])) / deviation
        )
        log_weight = (
            np.log([each.weight for each in prototypes]) - np.log(deviation) - distance**2 / 2
        )
        weight = np.cumsum(np.exp(log_weight - log_weight.max()))
        return min(
            int(np.searchsorted(weight, uniform * weight[-1], side="right")), len(prototypes) - 1
        )

    @staticmethod
    def _value(law: MixedLaw, probability: float) -> float:
        return float(quantiles_of(law, np.array([probability]))[0])


def _correlation(population: Population) -> FloatArray:
    """Return the correlation matrix of the copula; quantities without a known dependence are
    independent.
    """
    matrix = np.eye(len(_DRAWN))
    for pair in population.dependence:
        if pair.first in _DRAWN and pair.second in _DRAWN:
            at = _DRAWN.index(pair.first), _DRAWN.index(pair.second)
            matrix[at] = matrix[at[::-1]] = pair.normal_correlation.value
    return matrix


@dataclass(frozen=True)
class _Played:
    """A prototype ready to be scaled.

    Attributes:
        streams: Its streams.
        duration_s: Its length, s.
        buffering_s: Its buffering, s; 0 where it has none.
        playout_bps: Rate of all its streams in the playout, bit/s.
        buffering_bps: Rate of all its streams while buffering, bit/s; 0 where it has none.
        packet_bytes: Bytes of media for each of its packets, acknowledgements included.
    """

    streams: tuple[Stream, ...]
    duration_s: float
    buffering_s: float
    playout_bps: float
    buffering_bps: float
    packet_bytes: float

    @classmethod
    def of(cls, prototype: Prototype, model: Model) -> _Played:
        streams = prototype.streams or model.streams
        buffering_s = prototype.buffering_duration_s
        end_s = max(stream.phases[-1].end_s for stream in streams)
        sent = {True: 0.0, False: 0.0}
        sizes, weights = [], []
        for transport, phase in (
            (stream.transport, phase) for stream in streams for phase in stream.phases
        ):
            sent[phase.name == "buffering"] += phase.rate_bps * phase.duration_s
            laws = playable(phase.process).size_laws()
            sizes.append(next(iter(laws.values())).mean / packets_per_media_packet(transport))
            weights.append(phase.rate_bps * phase.duration_s + _SHORTEST_S)
        if 0.0 in (buffering_s, sent[True], sent[False]):  # one phase alone, whatever it is called
            buffering_s, sent = 0.0, {True: 0.0, False: sent[True] + sent[False]}
        return cls(
            streams=streams,
            duration_s=end_s,
            buffering_s=buffering_s,
            playout_bps=sent[False] / max(end_s - buffering_s, _SHORTEST_S),
            buffering_bps=sent[True] / buffering_s if buffering_s > 0 else 0.0,
            packet_bytes=max(1.0, float(np.average(sizes, weights=weights))),
        )

    def streams_of(self, drawn: DrawnSession) -> tuple[Stream, ...]:
        """Return the streams of a drawn session: phases moved to its times, processes scaled to its
        rates.
        """
        streams = []
        for stream in self.streams:
            phases: list[Phase] = []
            for phase in stream.phases:
                for placed, rate_bps in self._placed(phase, drawn):
                    phases.append(_played(placed, rate_bps, first=not phases))
            if phases:
                streams.append(stream.model_copy(update={"phases": tuple(phases)}))
        return tuple(streams)

    def _placed(self, phase: Phase, drawn: DrawnSession) -> list[tuple[Phase, float]]:
        """Return what becomes of a phase, each with its rate: two where only the session buffers,
        or nothing.
        """
        start_s, end_s, change_s = (
            self._moved(phase.start_s, drawn),
            self._moved(phase.end_s, drawn),
            0.0,
        )
        slow_bps = phase.rate_bps * drawn.playout_rate_bps / self.playout_bps
        fast_bps = slow_bps * drawn.buffering_ratio
        if self.buffering_s > 0 and phase.name == "buffering":
            fast_bps *= self.playout_bps / self.buffering_bps
            change_s = drawn.buffering_duration_s
            end_s = min(end_s, change_s)
        elif self.buffering_s == 0:
            change_s = drawn.buffering_duration_s
        parts = [
            ("buffering", start_s, min(end_s, change_s), fast_bps),
            (
                "playout" if phase.name == "buffering" else phase.name,
                max(start_s, change_s),
                end_s,
                slow_bps,
            ),
        ]
        return [
            (
                phase.model_copy(
                    update={"name": name, "start_s": begin_s, "duration_s": stop_s - begin_s}
                ),
                rate_bps,
            )
            for name, begin_s, stop_s, rate_bps in parts
            if stop_s - begin_s >= _SHORTEST_S
        ]

    def _moved(self, time_s: float, drawn: DrawnSession) -> float:
        """Return when a moment of the prototype comes in a session: at the same share of its
        phase.
        """
        if time_s < self.buffering_s:
            return time_s * drawn.buffering_duration_s / self.buffering_s
        share = (time_s - self.buffering_s) / (self.duration_s - self.buffering_s)
        start_s = drawn.buffering_duration_s if self.buffering_s > 0 else 0.0
        return start_s + share * (drawn.media_duration_s - start_s)


def _played(phase: Phase, rate_bps: float, *, first: bool) -> Phase:
    """Return a phase whose process brings a rate on average over the phase."""
    known_bytes = expected_bytes(phase.process, phase.duration_s, first_at_start=first)
    before_bps = (
        phase.rate_bps if known_bytes is None else bps_from_bytes(known_bytes, phase.duration_s)
    )
    process = (
        scaled_process(phase.process, rate_bps / before_bps) if before_bps > 0 else phase.process
    )
    return phase.model_copy(update={"rate_bps": rate_bps, "process": process})
