"""Play Markov-modulated Poisson processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trafficgen.distributions import MixedLaw
from trafficgen.processes.base import (
    GeneratorOf,
    PlayableProcess,
    PlayedPackets,
    Span,
    draw_sizes,
    plays,
)
from trafficgen.processes.mmpp.model import MmppProcess
from trafficgen.processes.rate_path import DwellDraws, RateChain, place_on_path, time_in
from trafficgen.units import FloatArray


@plays(MmppProcess)
@dataclass(frozen=True, kw_only=True)
class MmppLaws(PlayableProcess):
    """Laws of a :class:`~trafficgen.models.MmppProcess`; meanings and units as there."""

    rate_per_s: FloatArray
    chain: RateChain
    packet_bytes: MixedLaw
    mean_rate_per_s: float
    observed_s: float

    @classmethod
    def from_model(cls, part: MmppProcess, **given: Any) -> MmppLaws:
        """Convert an MMPP of a model: sojourns are exponential."""
        mean_s = np.array([state.mean_sojourn_s.value for state in part.states])
        rate_per_s = np.array([state.rate_per_s.value for state in part.states])
        chain = RateChain(
            dwells=tuple(_exponential(value) for value in mean_s.tolist()),
            mean_dwell_s=mean_s,
            transition=np.array(part.transition),
        )
        return super().from_model(part, rate_per_s=rate_per_s, chain=chain, **given)

    def play(self, span: Span, generator_of: GeneratorOf) -> PlayedPackets:
        """Return the packets in a span.

        With a packet at the start, the others are not changed: a Poisson process has no memory.
        """
        path = self.chain.path_with_mean(
            self.rate_per_s,
            span,
            generator_of("path"),
            mean=self.mean_rate_per_s,
            observed_s=self.observed_s,
        )
        generator = generator_of("times")
        times = [np.array([span.start_s])] if span.first_at_start else []
        for state, rate in enumerate(self.rate_per_s.tolist()):
            total_s = time_in(path, state)
            moments = np.sort(generator.random(int(generator.poisson(rate * total_s)))) * total_s
            times.append(place_on_path(path, state, moments)[0])
        time_s = np.sort(np.concatenate(times))
        sizes = draw_sizes(self.packet_bytes, time_s.size, generator_of("packet_bytes"))
        return PlayedPackets(time_s, sizes)

    def expected_packets(self, span_s: float, *, place: str) -> float:
        """Return about how many packets a span has."""
        return span_s * float(np.dot(self.chain.occupancy(), self.rate_per_s)) + 1


def _exponential(mean_s: float) -> DwellDraws:
    return lambda generator, count: generator.exponential(mean_s, count)
