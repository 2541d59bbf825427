"""Times and sizes of the media packets of a stream, phase by phase, from its packet processes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen.generation.timeline import PlayedPhase, PlayedStream
from trafficgen.processes import LARGEST_IP_BYTES, GeneratorOf, Span
from trafficgen.randomness import random_stream
from trafficgen.tables import PHASES
from trafficgen.units import BoolArray, IntArray, ns_array_from_s

UintArray = npt.NDArray[np.uint32]

_RTP_HEADER_BYTES = 12


@dataclass(frozen=True)
class MediaPackets:
    """Media packets of one stream in order of time.

    Attributes:
        time_ns: Time from the start of the session, ns, shape (n,).
        ip_bytes: IP total length, bytes, shape (n,).
        phase: Index into :data:`~trafficgen.tables.PHASES`, shape (n,).
        burst_starts: Index of the first packet of each burst, shape (m,); None: no bursts.
        frame_clock_ns: Time of each burst (a frame) by the sampling clock, ns, shape (m,); None: not
            known.
    """

    time_ns: IntArray
    ip_bytes: UintArray
    phase: npt.NDArray[np.int8]
    burst_starts: IntArray | None
    frame_clock_ns: IntArray | None = None

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
        np.clip(part.ip_bytes, smallest, LARGEST_IP_BYTES, out=part.ip_bytes)
        parts.append(part)
    return _join(parts)


def _phase_packets(
    phase: PlayedPhase, *, zero_s: float, first: bool, generator_of: GeneratorOf
) -> MediaPackets:
    played = phase.process.play(
        Span(zero_s + phase.start_s, zero_s + phase.end_s, first_at_start=first), generator_of
    )
    code = np.full(played.time_s.size, PHASES.index(phase.name), dtype=np.int8)
    clock_s = played.frame_clock_s
    clock_ns = None if clock_s is None else ns_array_from_s(clock_s)
    return MediaPackets(
        ns_array_from_s(played.time_s), played.ip_bytes, code, played.burst_starts, clock_ns
    )


def _join(parts: list[MediaPackets]) -> MediaPackets:
    if len(parts) == 1:
        return parts[0]
    first_rows = np.cumsum([0, *(len(part) for part in parts[:-1])])
    starts = None
    if any(part.burst_starts is not None for part in parts):
        alone = [
            np.arange(len(part)) if part.burst_starts is None else part.burst_starts
            for part in parts
        ]
        starts = np.concatenate([rows + row for rows, row in zip(alone, first_rows, strict=True)])
    return MediaPackets(
        time_ns=np.concatenate([part.time_ns for part in parts]),
        ip_bytes=np.concatenate([part.ip_bytes for part in parts]),
        phase=np.concatenate([part.phase for part in parts]),
        burst_starts=starts,
        frame_clock_ns=_join_clocks(parts),
    )


def _join_clocks(parts: list[MediaPackets]) -> IntArray | None:
    """Return the instants of all bursts by the sampling clock, or the times of sending."""
    if all(part.frame_clock_ns is None for part in parts):
        return None
    clocks = []
    for part in parts:
        sent_ns = part.time_ns if part.burst_starts is None else part.time_ns[part.burst_starts]
        clocks.append(sent_ns if part.frame_clock_ns is None else part.frame_clock_ns)
    return np.concatenate(clocks)
