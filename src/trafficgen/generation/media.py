"""Media packets of a stream: times and sizes from its packet processes, RTP header fields."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from trafficgen import _core
from trafficgen.generation.timeline import PlayedPhase, PlayedStream, Window
from trafficgen.models import RtpFormat
from trafficgen.processes.base import LARGEST_IP_BYTES, GeneratorOf, Span
from trafficgen.randomness import random_stream
from trafficgen.tables import PHASES
from trafficgen.units import BoolArray, FloatArray, IntArray, ns_array_from_s, s_from_ns

UintArray = npt.NDArray[np.uint32]

#: Where a phase ends with a packet, gaps are made longer by up to this share; so many mean gaps may
#: be missing.
_MOST_STRETCH, _FEW_GAPS = 0.5, 10.0
_RTP_HEADER_BYTES = 12
#: Longest IP packet of an Ethernet frame.
_ETHERNET_BYTES = 1500
#: Sampling instants are separated unless there are this many times more frames than instants.
_CROWDED = 1.1
#: Timestamps count modulo 2**32; a larger step looks like one backwards.
_LARGEST_STEP = (1 << 31) - 1


@dataclass(frozen=True)
class MediaPackets:
    """Media packets of one stream in order of time.

    Attributes:
        time_ns: Time from the start of the session, ns, shape (n,).
        phase: Index into :data:`~trafficgen.tables.PHASES`, shape (n,).
        burst_starts: Index of the first packet of each burst, shape (m,); None: no bursts.
        frame_clock_ns: Time of each burst (a frame) by the sampling clock, ns, shape (m,); None:
            not known.
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


def media_packets(
    played: PlayedStream, window: Window, *, zero_s: float, seed: int, session: int
) -> MediaPackets:
    """Return the media packets of one stream of one session in a window.

    ``zero_s`` is the time of the session's first media packet after the session's start.
    """
    transport = played.stream.transport
    smallest = transport.header_bytes + (_RTP_HEADER_BYTES if transport.rtp else 1)
    later = f" part {window.place}" if window.place else ""
    parts = []
    for number, phase in enumerate(played.phases):
        if phase.end_s <= window.start_s or phase.start_s >= window.end_s:
            continue

        def generator_of(
            quantity: str, place: str = f"{played.stream.name}/{number}-{phase.name}{later}"
        ) -> np.random.Generator:
            return random_stream(seed, session=session, purpose=f"{place}/{quantity}")

        begins = window.begins(phase.start_s)
        span = Span(
            zero_s + max(phase.start_s, window.start_s),
            zero_s + min(phase.end_s, window.end_s),
            first_at_start=number == 0 and begins,
            played_s=0.0 if begins else window.start_s - phase.start_s,
            begun_at_packet=number == 0 and not begins,
        )
        is_whole = begins and window.ends(phase.end_s)
        part = _phase_packets(phase, span, generator_of, is_whole=is_whole)
        np.clip(part.ip_bytes, smallest, LARGEST_IP_BYTES, out=part.ip_bytes)
        parts.append(part)
    return _join(parts)


def scale_payloads(media: MediaPackets, factor: float, *, header_bytes: int) -> MediaPackets:
    """Return packets with ``factor`` times the payload, at least a byte and an RTP header long.

    None gets larger than an Ethernet frame holds, or than the largest of the packets given.
    """
    largest = max(_ETHERNET_BYTES, int(media.ip_bytes.max(initial=0)))
    payload = (media.ip_bytes.astype(np.int64) - header_bytes) * factor
    ip_bytes = np.clip(
        header_bytes + np.rint(payload), header_bytes + _RTP_HEADER_BYTES + 1, largest
    )
    return replace(media, ip_bytes=ip_bytes.astype(np.uint32))


def delay_packets(media: MediaPackets, delay_ns: IntArray, *, after_ns: int) -> MediaPackets:
    """Return packets that are late, each by its delay, in the order that they had.

    None is earlier than ``after_ns``, when the one before them is sent.
    """
    return replace(media, time_ns=np.maximum(np.sort(media.time_ns + delay_ns), after_ns))


def _phase_packets(
    phase: PlayedPhase, span: Span, generator_of: GeneratorOf, *, is_whole: bool
) -> MediaPackets:
    played = phase.process.play(span, generator_of)
    time_s = played.time_s
    if is_whole and phase.ends_with_packet:
        time_s = _stretch_pauses(time_s, end_s=span.end_s)
    code = np.full(played.time_s.size, PHASES.index(phase.name), dtype=np.int8)
    clock_s = played.frame_clock_s
    clock_ns = None if clock_s is None else ns_array_from_s(clock_s)
    return MediaPackets(
        ns_array_from_s(time_s), played.ip_bytes, code, played.burst_starts, clock_ns
    )


def _stretch_pauses(time_s: FloatArray, *, end_s: float) -> FloatArray:
    """Return times, s, of which the last is the end, shape (n,); the longer gaps make up for it.

    They stay where a few gaps are missing, as of a clock, or too much of the phase.
    """
    gap_s = np.diff(time_s)
    if not gap_s.size:
        return time_s
    mean_s, missing_s = float(gap_s.mean()), end_s - float(time_s[-1])
    long = gap_s > mean_s
    total_s = float(gap_s[long].sum())
    if not _FEW_GAPS * mean_s < missing_s < _MOST_STRETCH * total_s:
        return time_s
    gap_s[long] *= 1 + missing_s / total_s
    return np.concatenate((time_s[:1], time_s[0] + np.cumsum(gap_s)))


def _join(parts: list[MediaPackets]) -> MediaPackets:
    if not parts:  # a stream does not send all the time
        none = np.zeros(0, dtype=np.int64)
        return MediaPackets(none, none.astype(np.uint32), none.astype(np.int8), None)
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


class RtpHeaders:
    """Header fields of a stream's packets, window by window.

    SSRC, first sequence number and first timestamp are random (RFC 3550 section 5.1). Sequence
    numbers are consecutive modulo 2**16. The timestamp follows the time of the packet, or that of
    its burst if a burst is a frame (by the frame's sampling clock if it has one, so that lateness
    does not show); with a ``timestamp_step`` it moves by whole steps, as a sampling clock does,
    while the packets jitter around it.
    """

    def __init__(self, rtp: RtpFormat, generator: np.random.Generator) -> None:
        self.ssrc = int(generator.integers(1, 1 << 32))
        self.first_sequence = int(generator.integers(1 << 16))
        self._rtp, self._sequence = rtp, self.first_sequence
        self._first_timestamp = int(generator.integers(1 << 32))
        self._zero_ns: int | None = None
        self._last_instant = -1

    def columns(self, media: MediaPackets) -> dict[str, npt.NDArray[np.generic]]:
        """Return the RTP columns of the next packets."""
        count, first = len(media), self._sequence
        # Sequence numbers count modulo 2**16, timestamps modulo 2**32.
        sequence = np.arange(first, first + count, dtype=np.uint32).astype(np.uint16)
        self._sequence = (first + count) % (1 << 16)
        timestamp = self._clock_ticks(media)
        timestamp += np.uint32(self._first_timestamp)
        per_burst = self._rtp.frame_per_burst
        return {
            "rtp_ssrc": np.full(count, self.ssrc, dtype=np.uint32),
            "rtp_sequence": sequence,
            "rtp_timestamp": timestamp,
            "rtp_marker": media.ends_burst() if per_burst else np.zeros(count, dtype=np.bool_),
        }

    def _clock_ticks(self, media: MediaPackets) -> UintArray:
        """Return the clock of each packet from that of the first, modulo 2**32, shape (n,)."""
        rtp = self._rtp
        framed = rtp.frame_per_burst or media.frame_clock_ns is not None
        frames = media.burst_starts if framed else None
        time_ns = media.time_ns if frames is None else media.time_ns[frames]
        if media.frame_clock_ns is not None:
            time_ns = media.frame_clock_ns
        if not time_ns.size:
            return np.zeros(0, dtype=np.uint32)
        if self._zero_ns is None:
            self._zero_ns = int(time_ns[0])
        step = 1
        if rtp.timestamp_step is not None:
            step = max(1, round(min(rtp.timestamp_step.value, _LARGEST_STEP)))
        steps_per_s = rtp.clock_hz / step
        steps = round(s_from_ns(int(time_ns[-1] - time_ns[0])) * steps_per_s)
        apart = (rtp.frame_per_burst or step > 1) and time_ns.size <= _CROWDED * (steps + 1) + 1
        ticks, self._last_instant = _core.clock_ticks(
            time_ns,
            zero_ns=self._zero_ns,
            steps_per_s=steps_per_s,
            step=step,
            apart=apart,
            before=self._last_instant,
        )
        if frames is None:
            return ticks
        return np.repeat(ticks, np.diff(np.append(frames, len(media))))
