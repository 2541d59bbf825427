"""Play sources of users: functions that place packets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pydantic import JsonValue

from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError
from trafficgen.processes.base import GeneratorOf, PlayableProcess, PlayedPackets, Span, plays
from trafficgen.processes.registered.model import RegisteredProcess
from trafficgen.processes.registered.source import find_source

#: Length whose packets are counted for an estimate, s.
_COUNTED_S = 60.0


@plays(RegisteredProcess)
@dataclass(frozen=True, kw_only=True)
class RegisteredPlayer(PlayableProcess):
    """Player of a :class:`~trafficgen.models.RegisteredProcess`; meanings and units as there."""

    source: str
    settings: dict[str, JsonValue]
    second_s: float

    def play(self, span: Span, generator_of: GeneratorOf) -> PlayedPackets:
        """Return the packets in a span."""
        length_s = span.length_s / self.second_s
        time_s, ip_bytes = find_source(self.source).place_packets(
            self.settings, generator_of("source"), length_s
        )
        if not time_s.size:
            raise GenerationError(
                f"source {self.source} places no packets in {length_s:g} s; give a longer duration,"
                " other settings, or correct its function"
            )
        return PlayedPackets(span.start_s + self.second_s * time_s, ip_bytes)

    def expected_packets(self, span_s: float, *, place: str) -> float:
        """Return about how many packets a span has."""
        return self._packets_per_s * span_s / self.second_s

    @property
    def is_divisible(self) -> bool:
        """Whether a span may be played in parts: how its function goes on is not known."""
        return False

    def size_laws(self) -> dict[str, MixedLaw]:
        """Return nothing: the function gives sizes."""
        return {}

    @cached_property
    def _packets_per_s(self) -> float:
        generator = np.random.default_rng(0)
        time_s, _ = find_source(self.source).place_packets(self.settings, generator, _COUNTED_S)
        return time_s.size / _COUNTED_S
