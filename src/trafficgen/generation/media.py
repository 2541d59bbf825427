"""Times and sizes of the media packets of a stream, phase by phase, from its packet processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen.distributions import MixedLaw
from trafficgen.generation.renewal import nonnegative, renewal_times
from trafficgen.models import BurstProcess, Phase, RenewalProcess, Stream
from trafficgen.randomness import random_stream
from trafficgen.tables import PHASES
from trafficgen.units import BoolArray, FloatArray, IntArray, ns_array_from_s

UintArray = npt.NDArray[np.uint32]
GeneratorOf = Callable[[str], np.random.Generator]

#: IP total length is a 16-bit field (RFC 791; RFC 8200 without jumbograms).
_LARGEST_IP_BYTES = 65_535
_RTP_HEADER_BYTES = 12
#: Draws at once; small enough that intermediate arrays stay in the processor's cache.
_BLOCK = 1 << 16
#: Share of a spacing that a burst may fill where the spacing is hardly above the threshold.
_FILLED_SHARE = 0.5


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


def media_packets(stream: Stream, phases: tuple[Phase, ...], *, zero_s: float, seed: int, session: int) -> MediaPackets:
    """Return the media packets of one stream of one session.

    Args:
        stream: The stream.
        phases: Its phases as scheduled, at least one; the first begins with a packet.
        zero_s: Time of the session's first media packet after the session's start, s.
        seed: Seed of the run.
        session: Number of the session.
    """
    transport = stream.transport
    smallest = transport.header_bytes + (_RTP_HEADER_BYTES if transport.rtp else 1)
    parts = []
    for number, phase in enumerate(phases):

        def generator_of(quantity: str, place: str = f"{stream.name}/{number}-{phase.name}") -> np.random.Generator:
            return random_stream(seed, session=session, purpose=f"{place}/{quantity}")

        part = _phase_packets(phase, zero_s=zero_s, first=number == 0, generator_of=generator_of)
        np.clip(part.ip_bytes, smallest, _LARGEST_IP_BYTES, out=part.ip_bytes)
        parts.append(part)
    return _joined(parts)


def _phase_packets(phase: Phase, *, zero_s: float, first: bool, generator_of: GeneratorOf) -> MediaPackets:
    start_s, end_s = zero_s + phase.start_s, zero_s + phase.end_s
    place = _renewal_packets if isinstance(phase.process, RenewalProcess) else _burst_packets
    time_s, ip_bytes, burst_starts = place(
        phase.process,  # type: ignore[arg-type]  # chosen by the line above
        start_s=start_s,
        end_s=end_s,
        first=first,
        generator_of=generator_of,
    )
    code = np.full(time_s.size, PHASES.index(phase.name), dtype=np.int8)
    return MediaPackets(time_ns=ns_array_from_s(time_s), ip_bytes=ip_bytes, phase=code, burst_starts=burst_starts)


def _renewal_packets(
    process: RenewalProcess, *, start_s: float, end_s: float, first: bool, generator_of: GeneratorOf
) -> tuple[FloatArray, UintArray, None]:
    times_s = renewal_times(
        process.gap_s.distribution(),
        start_s=start_s,
        end_s=end_s,
        first_at_start=first,
        generator=generator_of("gap_s"),
    )[:-1]
    return times_s, _sizes(process.packet_bytes.distribution(), times_s.size, generator_of("packet_bytes")), None


def _burst_packets(
    process: BurstProcess, *, start_s: float, end_s: float, first: bool, generator_of: GeneratorOf
) -> tuple[FloatArray, UintArray, IntArray]:
    starts_s = renewal_times(
        process.spacing_s.distribution(),
        start_s=start_s,
        end_s=end_s,
        first_at_start=first,
        generator=generator_of("spacing_s"),
    )
    spacing_s, starts_s = np.diff(starts_s), starts_s[:-1]
    drawn = process.burst_packets.distribution().sample(generator_of("burst_packets"), starts_s.size)
    counts = np.maximum(np.rint(drawn), 1).astype(np.int64)
    first_rows = np.cumsum(counts) - counts
    offsets_s = _offsets(process, counts, first_rows, spacing_s=spacing_s, generator_of=generator_of)
    times_s = np.repeat(starts_s, counts)
    times_s += offsets_s
    ip_bytes = _sizes(process.packet_bytes.distribution(), times_s.size, generator_of("packet_bytes"))
    last_law = process.last_packet_bytes.distribution()
    ip_bytes[first_rows + counts - 1] = _sizes(last_law, starts_s.size, generator_of("last_packet_bytes"))
    within = int(np.searchsorted(times_s, end_s))  # a burst that crosses the end of the phase is cut
    return times_s[:within], ip_bytes[:within], first_rows[first_rows < within]


def _offsets(
    process: BurstProcess, counts: IntArray, first_rows: IntArray, *, spacing_s: FloatArray, generator_of: GeneratorOf
) -> FloatArray:
    """Return the time of each packet after the start of its burst, s.

    A burst that would reach into the next one, or so close to it that both would count as one, is squeezed: spacing
    and packets, and with them the rate, stay as drawn.
    """
    total = int(counts.sum())
    if process.gap_within_s is None:
        return np.zeros(total)
    law = process.gap_within_s.distribution()
    gaps_s = np.empty(total)
    generator = generator_of("gap_within_s")
    for row in range(0, total, _BLOCK):
        gaps_s[row : row + _BLOCK] = nonnegative(law.sample(generator, min(_BLOCK, total - row)), law)
    gaps_s[first_rows] = 0.0
    offsets_s = np.cumsum(gaps_s, out=gaps_s)
    offsets_s -= np.repeat(offsets_s[first_rows], counts)
    length_s = offsets_s[first_rows + counts - 1]
    available_s = np.maximum(spacing_s - process.threshold_s, _FILLED_SHARE * spacing_s)
    if np.any(length_s > available_s):
        squeeze = np.minimum(1.0, available_s / np.maximum(length_s, available_s))
        offsets_s *= np.repeat(squeeze, counts)
    return offsets_s


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
