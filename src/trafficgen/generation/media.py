"""Times and sizes of the media packets of a stream, phase by phase, from its packet processes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen.distributions import MixedLaw
from trafficgen.generation.bursts import GeneratorOf, burst_times
from trafficgen.generation.laws import BurstLaws, RenewalLaws
from trafficgen.generation.renewal import renewal_times
from trafficgen.generation.timeline import PlayedPhase, PlayedStream
from trafficgen.randomness import random_stream
from trafficgen.tables import PHASES
from trafficgen.units import BoolArray, FloatArray, IntArray, ns_array_from_s

UintArray = npt.NDArray[np.uint32]

#: IP total length is a 16-bit field (RFC 791; RFC 8200 without jumbograms).
_LARGEST_IP_BYTES = 65_535
_RTP_HEADER_BYTES = 12
#: Draws at once; small enough that intermediate arrays stay in the processor's cache.
_BLOCK = 1 << 16


@dataclass(frozen=True)
class MediaPackets:
    """Media packets of one stream in order of time.

    Attributes:
        time_ns: Time from the start of the session, ns, shape (n,).
        ip_bytes: IP total length, bytes, shape (n,).
        phase: Index into :data:`~trafficgen.tables.PHASES`, shape (n,).
        burst_starts: Index of the first packet of each burst, shape (m,); None where every packet stands alone.
    """

    time_ns: IntArray
    ip_bytes: UintArray
    phase: npt.NDArray[np.int8]
    burst_starts: IntArray | None

    def __len__(self) -> int:
        return int(self.time_ns.size)

    def ends_burst(self) -> BoolArray:
        """Return whether a packet is the last of its burst, shape (n,)."""
        if self.burst_starts is None:
            return np.ones(len(self), dtype=np.bool_)
        ends = np.zeros(len(self), dtype=np.bool_)
        ends[self.burst_starts[1:] - 1] = True
        ends[-1:] = True
        return ends


def media_packets(played: PlayedStream, *, zero_s: float, seed: int, session: int) -> MediaPackets:
    """Return the media packets of one stream of one session.

    Args:
        played: The stream.
        zero_s: Time of the session's first media packet after the session's start, s.
        seed: Seed of the run.
        session: Number of the session.
    """
    transport = played.stream.transport
    smallest = transport.header_bytes + (_RTP_HEADER_BYTES if transport.rtp else 1)
    parts = []
    for number, phase in enumerate(played.phases):

        def generator_of(
            quantity: str, place: str = f"{played.stream.name}/{number}-{phase.name}"
        ) -> np.random.Generator:
            return random_stream(seed, session=session, purpose=f"{place}/{quantity}")

        part = _phase_packets(phase, zero_s=zero_s, first=number == 0, generator_of=generator_of)
        np.clip(part.ip_bytes, smallest, _LARGEST_IP_BYTES, out=part.ip_bytes)
        parts.append(part)
    return _joined(parts)


def _phase_packets(phase: PlayedPhase, *, zero_s: float, first: bool, generator_of: GeneratorOf) -> MediaPackets:
    span = {"start_s": zero_s + phase.start_s, "end_s": zero_s + phase.end_s}
    burst_starts: IntArray | None = None
    if isinstance(phase.laws, BurstLaws):
        time_s, ip_bytes, burst_starts = _burst_packets(phase.laws, **span, first=first, generator_of=generator_of)
    else:
        time_s, ip_bytes = _renewal_packets(phase.laws, **span, first=first, generator_of=generator_of)
    code = np.full(time_s.size, PHASES.index(phase.name), dtype=np.int8)
    return MediaPackets(time_ns=ns_array_from_s(time_s), ip_bytes=ip_bytes, phase=code, burst_starts=burst_starts)


def _renewal_packets(
    laws: RenewalLaws, *, start_s: float, end_s: float, first: bool, generator_of: GeneratorOf
) -> tuple[FloatArray, UintArray]:
    times_s = renewal_times(
        laws.gap_s,
        start_s=start_s,
        end_s=end_s,
        first_at_start=first,
        generator=generator_of("gap_s"),
    )[:-1]
    return times_s, _sizes(laws.packet_bytes, times_s.size, generator_of("packet_bytes"))


def _burst_packets(
    laws: BurstLaws, *, start_s: float, end_s: float, first: bool, generator_of: GeneratorOf
) -> tuple[FloatArray, UintArray, IntArray]:
    times_s, first_rows = burst_times(
        laws, start_s=start_s, end_s=end_s, first_at_start=first, generator_of=generator_of
    )
    ip_bytes = _sizes(laws.packet_bytes, times_s.size, generator_of("packet_bytes"))
    last_rows = np.append(first_rows[1:], times_s.size) - 1
    ip_bytes[last_rows] = _sizes(laws.last_packet_bytes, last_rows.size, generator_of("last_packet_bytes"))
    within = int(np.searchsorted(times_s, end_s))  # a burst that crosses the end of the phase is cut
    return times_s[:within], ip_bytes[:within], first_rows[first_rows < within]


def _sizes(law: MixedLaw, count: int, generator: np.random.Generator) -> UintArray:
    """Return drawn sizes in whole bytes, at least 0."""
    sizes = np.empty(count, dtype=np.uint32)
    for row in range(0, count, _BLOCK):
        draws = law.sample(generator, min(_BLOCK, count - row))
        sizes[row : row + _BLOCK] = np.clip(np.rint(draws, out=draws), 0.0, _LARGEST_IP_BYTES, out=draws)
    return sizes


def _joined(parts: list[MediaPackets]) -> MediaPackets:
    if len(parts) == 1:
        return parts[0]
    first_rows = np.cumsum([0, *(len(part) for part in parts[:-1])])
    starts = None
    if any(part.burst_starts is not None for part in parts):
        alone = [np.arange(len(part)) if part.burst_starts is None else part.burst_starts for part in parts]
        starts = np.concatenate([rows + row for rows, row in zip(alone, first_rows, strict=True)])
    return MediaPackets(
        time_ns=np.concatenate([part.time_ns for part in parts]),
        ip_bytes=np.concatenate([part.ip_bytes for part in parts]),
        phase=np.concatenate([part.phase for part in parts]),
        burst_starts=starts,
    )
