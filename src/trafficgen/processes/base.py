"""What every packet process can do once its laws are at hand: place packets in a span of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError
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
        burst_starts: Index of the first packet of each burst (or frame), shape (m,); None where
            every packet stands alone.
        frame_clock_s: Time of each frame by the sampling clock, s, shape (m,); None where packets
            have no such clock.
    """

    time_s: FloatArray
    ip_bytes: UintArray
    burst_starts: IntArray | None = None
    frame_clock_s: FloatArray | None = None


class PlayableProcess(Protocol):
    """A packet process as laws to draw from, made once for all sessions."""

    def play(
        self, *, start_s: float, end_s: float, first_at_start: bool, generator_of: GeneratorOf
    ) -> PlayedPackets:
        """Return the packets in [start_s, end_s).

        Args:
            start_s: Start of the span, s.
            end_s: End of the span, s.
            first_at_start: Whether a packet is at the start; else the process is met in
                equilibrium.
            generator_of: Source of the draws of each quantity, by its name.
        """

    def expected_packets(self, span_s: float, *, place: str) -> float:
        """Return about how many packets a span has.

        Raises:
            GenerationError: If the process does not move on, or its mean is infinite; ``place`` is
                named.
        """

    def size_laws(self) -> dict[str, MixedLaw]:
        """Return the laws of packet sizes by name of the field."""


def refuse_lost_steps(step_s: float, end_s: float, name: str) -> None:
    """Refuse steps so short that adding one to a time leaves it as it is: such a process would
    never end.

    Args:
        step_s: Mean length of a step, s.
        end_s: Latest time, s.
        name: What they are, for the message.

    Raises:
        GenerationError: If they are.
    """
    if step_s < np.spacing(abs(end_s)):
        raise GenerationError(
            f"{name} of {step_s:g} s on average are too short to be told apart {end_s:g} s after"
            " the start; correct the model"
        )


def whole_sizes(law: MixedLaw, count: int, generator: np.random.Generator) -> UintArray:
    """Return drawn sizes in whole bytes, at least 0, shape (count,)."""
    sizes = np.empty(count, dtype=np.uint32)
    for row in range(0, count, BLOCK):
        draws = law.sample(generator, min(BLOCK, count - row))
        sizes[row : row + BLOCK] = np.clip(
            np.rint(draws, out=draws), 0.0, LARGEST_IP_BYTES, out=draws
        )
    return sizes
