"""Markov-modulated Poisson processes as something to play."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.distributions import MixedLaw
from trafficgen.processes.base import GeneratorOf, PlayedPackets, whole_sizes
from trafficgen.processes.rate_path import RateChain, on_path, time_in
from trafficgen.units import FloatArray


@dataclass(frozen=True, kw_only=True)
class MmppLaws:
    """Laws of a :class:`~trafficgen.models.MmppProcess`; meanings and units as there."""

    rate_per_s: FloatArray
    chain: RateChain
    packet_bytes: MixedLaw
    mean_rate_per_s: float
    observed_s: float

    def play(
        self, *, start_s: float, end_s: float, first_at_start: bool, generator_of: GeneratorOf
    ) -> PlayedPackets:
        """Return the packets in [start_s, end_s); see
        :class:`~trafficgen.processes.PlayableProcess`.

        With a packet at the start, the others are not changed: a Poisson process has no memory.
        """
        path = self.chain.path_with_mean(
            self.rate_per_s,
            mean=self.mean_rate_per_s,
            observed_s=self.observed_s,
            start_s=start_s,
            end_s=end_s,
            generator=generator_of("path"),
        )
        generator = generator_of("times")
        times = [np.array([start_s])] if first_at_start else []
        for state, rate in enumerate(self.rate_per_s.tolist()):
            total_s = time_in(path, state)
            moments = np.sort(generator.random(int(generator.poisson(rate * total_s)))) * total_s
            times.append(on_path(path, state, moments)[0])
        time_s = np.sort(np.concatenate(times))
        return PlayedPackets(
            time_s, whole_sizes(self.packet_bytes, time_s.size, generator_of("packet_bytes"))
        )

    def expected_packets(self, span_s: float, *, place: str) -> float:
        """Return about how many packets a span has."""
        return span_s * float(np.dot(self.chain.occupancy(), self.rate_per_s)) + 1

    def size_laws(self) -> dict[str, MixedLaw]:
        """Return the laws of packet sizes by name of the field."""
        return {"packet_bytes": self.packet_bytes}
