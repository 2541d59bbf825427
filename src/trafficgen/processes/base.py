"""What every packet process can do once its laws are at hand: place packets in a span of time.

A class that plays a kind of process of the model registers itself with :func:`plays`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import singledispatch
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from trafficgen.distributions import MixedLaw
from trafficgen.distributions.law import Law
from trafficgen.errors import GenerationError
from trafficgen.model_parts.estimate import Estimate, ModelPart
from trafficgen.processes import import_parts
from trafficgen.processes.kinds import PacketProcess
from trafficgen.units import FloatArray, IntArray

UintArray = npt.NDArray[np.uint32]

#: Random generator of a quantity, by its name.
GeneratorOf = Callable[[str], np.random.Generator]

#: IP total length is a 16-bit field (RFC 791; RFC 8200 without jumbograms).
LARGEST_IP_BYTES = 65_535
#: Draws at once; small enough that intermediate arrays stay in the processor's cache.
BLOCK = 1 << 16


@dataclass(frozen=True)
class PlayedPackets:
    """Packets of a process within a span, in order of time.

    Attributes:
        time_s: Times, s, ascending, shape (n,).
        ip_bytes: IP total lengths, bytes, shape (n,).
        burst_starts: Index of the first packet of each burst (or frame), shape (m,); None without
            bursts.
        frame_clock_s: Time of each frame by the sampling clock, s, shape (m,); None without one.
    """

    time_s: FloatArray
    ip_bytes: UintArray
    burst_starts: IntArray | None = None
    frame_clock_s: FloatArray | None = None


@singledispatch
def to_playable(value: Any) -> Any:
    """Convert a value of a model to what is drawn from; parts are registered by :func:`plays`.

    Laws become distributions, and estimates their values.
    """
    return value


to_playable.register(Law, Law.distribution)
to_playable.register(Estimate, lambda estimate: estimate.value)
to_playable.register(tuple, lambda values: tuple(map(to_playable, values)))


@dataclass(frozen=True, kw_only=True)
class DrawnPart:
    """Part of a process as laws to draw from; its fields are those of the model's part."""

    @classmethod
    def from_model(cls, part: Any, **given: Any) -> Self:
        """Convert a part of a model by the names of its fields; ``given`` ones are taken as is."""
        names = [field.name for field in fields(cls) if field.name not in given]
        return cls(**{name: to_playable(getattr(part, name)) for name in names}, **given)


@dataclass(frozen=True)
class Span:
    """The time [start_s, end_s) in which a process is played.

    Attributes:
        first_at_start: Whether a packet is at the start; else the process is in equilibrium.
        played_s: Time for which the process has been played before the span, s: what only its
            beginning has is not repeated.
        begun_at_packet: Whether a process that has been played before began with a packet.
    """

    start_s: float
    end_s: float
    first_at_start: bool = True
    played_s: float = 0.0
    begun_at_packet: bool = False

    @property
    def length_s(self) -> float:
        """Length, s."""
        return self.end_s - self.start_s

    @property
    def continues(self) -> bool:
        """Whether the process has been played before the span."""
        return self.played_s > 0


class PlayableProcess(DrawnPart, ABC):
    """A packet process as laws to draw from, made once for all sessions."""

    @abstractmethod
    def play(self, span: Span, generator_of: GeneratorOf) -> PlayedPackets:
        """Return the packets in a span; ``generator_of`` gives the draws of each quantity."""

    @abstractmethod
    def expected_packets(self, span_s: float, *, place: str) -> float:
        """Return about how many packets a span has.

        Raises:
            GenerationError: If the process does not move on, or its mean is infinite; ``place`` is
                named.
        """

    @property
    def is_divisible(self) -> bool:
        """Whether a long span may be played in parts, one after the other."""
        return True

    def size_laws(self) -> dict[str, MixedLaw]:
        """Return the laws of packet sizes by name of the field."""
        return {"packet_bytes": self.packet_bytes}  # type: ignore[attr-defined]  # most have it


_Player = TypeVar("_Player", bound=type[DrawnPart])
_PLAYERS: dict[type[ModelPart], type[PlayableProcess]] = {}


def plays(kind: type[ModelPart]) -> Callable[[_Player], _Player]:
    """Register the class that plays a kind of process of the model, or a part of one."""

    def register(player: _Player) -> _Player:
        to_playable.register(kind, player.from_model)
        if issubclass(player, PlayableProcess):
            _PLAYERS[kind] = player
        return player

    return register


def players() -> Mapping[type[ModelPart], type[PlayableProcess]]:
    """Return the class that plays each kind of process."""
    import_parts("sample")
    return _PLAYERS


def playable(process: PacketProcess) -> PlayableProcess:
    """Convert a process to laws to draw from, once for all sessions."""
    import_parts("sample")
    player: PlayableProcess = to_playable(process)
    return player


def refuse_lost_steps(step_s: float, end_s: float, name: str) -> None:
    """Raise GenerationError for steps too short to change a time: play would never end."""
    if step_s < np.spacing(abs(end_s)):
        raise GenerationError(
            f"{name} of {step_s:g} s on average are too short to move on from {end_s:g} s after"
            " the start; correct the model"
        )


def draw_sizes(law: MixedLaw, count: int, generator: np.random.Generator) -> UintArray:
    """Draw sizes in whole bytes, at least 0, shape (count,)."""
    sizes = np.empty(count, dtype=np.uint32)
    for row in range(0, count, BLOCK):
        sizes[row : row + BLOCK] = law.sample_whole(
            generator, min(BLOCK, count - row), largest=LARGEST_IP_BYTES
        )
    return sizes
