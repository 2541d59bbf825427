"""Play semi-Markov rate states: a path of the states, and the packets of each in its dwells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trafficgen.distributions import MixedLaw
from trafficgen.processes.base import (
    GeneratorOf,
    PlayableProcess,
    PlayedPackets,
    Span,
    playable,
    plays,
)
from trafficgen.processes.rate_path import RateChain, RatePath, place_on_path, time_in
from trafficgen.processes.semi_markov.model import SemiMarkovProcess
from trafficgen.units import BoolArray, FloatArray


@plays(SemiMarkovProcess)
@dataclass(frozen=True, kw_only=True)
class SemiMarkovLaws(PlayableProcess):
    """Laws of a :class:`~trafficgen.models.SemiMarkovProcess`; meanings and units as there."""

    rate_bps: FloatArray
    chain: RateChain
    packets: tuple[PlayableProcess, ...]
    mean_rate_bps: float
    observed_s: float

    @classmethod
    def from_model(cls, part: SemiMarkovProcess, **given: Any) -> SemiMarkovLaws:
        """Convert a semi-Markov process of a model; a state without a law is never left."""
        laws = [
            None if state.dwell_s is None else state.dwell_s.distribution() for state in part.states
        ]
        never = (0.0,) * len(laws)
        chain = RateChain(
            dwells=tuple(None if law is None else law.sample for law in laws),
            mean_dwell_s=np.array([math.inf if law is None else law.mean for law in laws]),
            transition=np.array([never if row is None else row for row in part.transition]),
            first_state=part.first_state,
        )
        return super().from_model(
            part,
            rate_bps=np.array([state.rate_bps for state in part.states]),
            chain=chain,
            packets=tuple(playable(state.process) for state in part.states),
            **given,
        )

    def play(self, span: Span, generator_of: GeneratorOf) -> PlayedPackets:
        """Return the packets in a span.

        Each state plays its packets on a clock of its own that runs only while the source is in it,
        so that its rate is that of all its dwells together. A burst that a switch cuts goes on as a
        new one in the next dwell.
        """
        chain = replace(self.chain, first_state=None) if span.continues else self.chain
        path = chain.path_with_mean(
            self.rate_bps,
            span,
            generator_of("path"),
            mean=self.mean_rate_bps,
            observed_s=self.observed_s,
        )
        parts, starts = [], []
        for state in np.unique(path.state).tolist():
            at_start = span.first_at_start and path.state[0] == state
            time = Span(0.0, time_in(path, state), at_start, span.played_s)
            part, is_start = self._play_state(path, state, generator_of, time)
            parts.append(part)
            starts.append(is_start)
        time_s = np.concatenate([part.time_s for part in parts])
        order = np.argsort(time_s, kind="stable")
        bursts = any(part.burst_starts is not None for part in parts)
        return PlayedPackets(
            time_s[order],
            np.concatenate([part.ip_bytes for part in parts])[order],
            np.flatnonzero(np.concatenate(starts)[order]) if bursts else None,
        )

    def _play_state(
        self, path: RatePath, state: int, generator_of: GeneratorOf, span: Span
    ) -> tuple[PlayedPackets, BoolArray]:
        """Return the packets of one state, and which of them start a burst, shape (n,)."""
        drawn = self.packets[state].play(
            span, lambda quantity: generator_of(f"state {state}/{quantity}")
        )
        time_s, dwell = place_on_path(path, state, drawn.time_s)
        starts = np.ones(time_s.size, dtype=np.bool_)
        if drawn.burst_starts is not None:
            starts[:] = False
            starts[drawn.burst_starts] = True
            starts[1:] |= dwell[1:] != dwell[:-1]
            starts[:1] = True
        return PlayedPackets(time_s, drawn.ip_bytes, drawn.burst_starts), starts

    def expected_packets(self, span_s: float, *, place: str) -> float:
        """Return about how many packets a span has."""
        share = self.chain.occupancy()
        each = [
            part.expected_packets(span_s, place=f"{place}, state {n}")
            for n, part in enumerate(self.packets)
        ]
        return float(np.dot(share, each))

    @property
    def is_divisible(self) -> bool:
        """Whether a span may be played in parts: a state that is never left is kept."""
        return bool(np.isfinite(self.chain.mean_dwell_s).all())

    def size_laws(self) -> dict[str, MixedLaw]:
        """Return the laws of packet sizes by name of the field."""
        return {
            f"{name} of state {number}": law
            for number, part in enumerate(self.packets)
            for name, law in part.size_laws().items()
        }
