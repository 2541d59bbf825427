"""A fitted model that plays sessions open loop, in any order, in any process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from trafficgen.errors import GenerationError
from trafficgen.generation.addresses import AddressPlan
from trafficgen.generation.population import SessionSampler
from trafficgen.generation.posterior import PosteriorSampler
from trafficgen.generation.scaling import scale_process
from trafficgen.generation.session import SessionPackets, session_packets
from trafficgen.generation.timeline import (
    Timeline,
    check_extent,
    expected_packets,
    packets_at_once,
    session_timeline,
)
from trafficgen.model_parts.estimate import refuse_odd_numbers
from trafficgen.models import Model, Phase

#: Timelines that are cached: popular clips come repeatedly.
_KEPT = 256
#: Media that a viewer sees who leaves before the first media packet, s.
_SHORTEST_MEDIA_S = 1e-3


@dataclass(frozen=True, kw_only=True)
class Viewing:
    """What one session plays: a clip, its length, and when the viewer leaves.

    Attributes:
        clip: Number of the clip, drawn once for all its sessions; None: the session has its own.
        rate_factor: Rate of the clip / rate of the model.
        length_s: Length if the viewer stays, s; None: that of the model or the clip.
        leaves_at: Share of that length after which the viewer leaves; None: no such share.
        leaves_after_s: Time after which the viewer leaves, s; None: no such time.
        length_factor: Length of this session / the length that it would have.
        size_factor: Payload of its datagrams / that of the model.
        jitter_s: Longest delay that a packet gets at random, s.
        draws_parameters: Whether it plays parameters of its own, drawn from their uncertainty.
    """

    session: int
    clip: int | None = None
    rate_factor: float = 1.0
    length_s: float | None = None
    leaves_at: float | None = None
    leaves_after_s: float | None = None
    length_factor: float = 1.0
    size_factor: float = 1.0
    jitter_s: float = 0.0
    draws_parameters: bool = False

    @property
    def leaves(self) -> bool:
        """Whether the viewer may leave before the end."""
        return self.leaves_at is not None or self.leaves_after_s is not None

    def end_s(self, whole_s: float) -> float:
        """Return the end of a session after its start, s, if all of it lasts ``whole_s``."""
        end_s = whole_s if self.leaves_at is None else self.leaves_at * whole_s
        return end_s if self.leaves_after_s is None else min(end_s, self.leaves_after_s)


class ModelPlayer:
    """Plays sessions of one fitted model.

    Where the model has a population, sessions differ: each, or each clip, draws its length, rate,
    buffering and silence first. Packets are drawn by the number of the session, so that two
    sessions of a clip are alike but not equal.
    """

    def __init__(self, model: Model, *, seed: int) -> None:
        self.model, self.seed = model, seed
        population = model.population
        self._sampler = None if population is None else SessionSampler(model, population, seed=seed)
        self._posterior = PosteriorSampler(model, seed=seed)
        self._whole = lru_cache(_KEPT)(self._make_timeline)

    def timeline(self, viewing: Viewing) -> Timeline:
        """Return times and laws of a session; raise GenerationError if it cannot be played."""
        number = None
        if self._sampler is not None:
            number = viewing.session if viewing.clip is None else viewing.clip
        drawn = viewing.session if viewing.draws_parameters else None
        whole = self._whole(number, viewing.rate_factor, viewing.length_s, drawn)
        if viewing.length_factor != 1:
            longer_s = whole.length_s * viewing.length_factor
            whole = whole.with_length(max(longer_s, whole.first_media_s + _SHORTEST_MEDIA_S))
            check_extent(whole)
        if not viewing.leaves or (end_s := viewing.end_s(whole.length_s)) >= whole.length_s:
            return whole
        return whole.with_length(max(end_s, whole.first_media_s + _SHORTEST_MEDIA_S))

    def length_s(self, viewing: Viewing) -> float:
        """Return the length of a session, s."""
        return self.timeline(viewing).length_s

    def expected_packets(self, viewing: Viewing) -> float:
        """Return about how many media packets a session has, without making its timeline."""
        return self.expectation(viewing)[0]

    def packets_at_once(self, viewing: Viewing) -> float:
        """Return about how many packets of a session are in memory while it is made."""
        return packets_at_once(self.timeline(viewing))

    def expectation(self, viewing: Viewing) -> tuple[float, float]:
        """Return about how many media packets a session has, and its length, s."""
        if self._sampler is None:
            timeline = self.timeline(replace(viewing, rate_factor=1.0))
            return viewing.rate_factor * expected_packets(timeline), timeline.length_s
        number = viewing.session if viewing.clip is None else viewing.clip
        drawn = self._sampler.draw(
            number, duration_s=viewing.length_s, rate_factor=viewing.rate_factor
        )
        drawn_s = drawn.silence_s + drawn.media_duration_s
        end_s = viewing.end_s(drawn_s * viewing.length_factor)
        share = min(viewing.length_factor, end_s / drawn_s)
        return self._sampler.expected_packets(drawn) * share, end_s

    def shortest_s(self) -> float:
        """Return a length that every session can have, s."""
        model = self.model
        if model.population is None:
            return session_timeline(model, duration_s=None).first_media_s + _SHORTEST_MEDIA_S
        silent = model.startup.silence_s.model_copy(update={"value": 0.0})
        at_once = model.model_copy(
            update={"startup": model.startup.model_copy(update={"silence_s": silent})}
        )
        return session_timeline(at_once, duration_s=None).first_media_s + _SHORTEST_MEDIA_S

    def session(
        self,
        viewing: Viewing,
        *,
        start_ns: int,
        first_flow: int,
        addresses: AddressPlan | None = None,
    ) -> SessionPackets:
        """Return packets and flow rows of a session, which are made on demand.

        ``start_ns`` counts from the table's origin. Without ``addresses`` it has some of those that
        are reserved for documentation.

        Raises:
            GenerationError: If it cannot be played.
        """
        return session_packets(
            self.timeline(viewing),
            session=viewing.session,
            seed=self.seed,
            start_ns=start_ns,
            first_flow=first_flow,
            addresses=addresses,
            size_factor=viewing.size_factor,
            jitter_s=viewing.jitter_s,
        )

    def _make_timeline(
        self, number: int | None, rate_factor: float, length_s: float | None, drawn: int | None
    ) -> Timeline:
        """Return times of a session, of the parameters that session ``drawn`` draws."""
        model = self.model if drawn is None else self._posterior.draw(drawn)
        sampler = self._sampler
        if drawn is not None and model.population is not None:
            sampler = SessionSampler(model, model.population, seed=self.seed)
        if sampler is not None and number is not None:
            timeline = sampler.timeline(number, duration_s=length_s, rate_factor=rate_factor)
        else:
            timeline = session_timeline(_at_rate(model, rate_factor), duration_s=length_s)
        check_extent(timeline)
        return timeline


def _at_rate(model: Model, factor: float) -> Model:
    """Return a model whose streams send ``factor`` times their rate; raise GenerationError."""
    if factor == 1:
        return model
    problem = f"{model.name}: at {factor:g} times its rate it has a number that no model may have"
    with refuse_odd_numbers(GenerationError, problem, "give another [--scale-rate]"):
        streams = tuple(
            stream.model_copy(
                update={"phases": tuple(_phase_at_rate(phase, factor) for phase in stream.phases)}
            )
            for stream in model.streams
        )
        return model.model_copy(update={"streams": streams})


def _phase_at_rate(phase: Phase, factor: float) -> Phase:
    rate_bps = phase.rate_bps * factor
    return phase.model_copy(
        update={"rate_bps": rate_bps, "process": scale_process(phase.process, factor)}
    )
