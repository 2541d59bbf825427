"""RTP header fields of generated media (RFC 3550 section 5.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trafficgen.generation.media import MediaPackets
from trafficgen.models import RtpFormat
from trafficgen.units import FloatArray, IntArray, s_from_ns

#: Sampling instants are kept apart as long as there are hardly more frames than instants.
_CROWDED = 1.1
#: Timestamps count modulo 2**32; a larger step cannot be told from one backwards.
_LARGEST_STEP = (1 << 31) - 1


def rtp_headers(
    media: MediaPackets, rtp: RtpFormat, *, generator: np.random.Generator
) -> tuple[int, dict[str, npt.NDArray[np.generic]]]:
    """Return the SSRC and the RTP columns of a stream's packets.

    SSRC, first sequence number and first timestamp are random (RFC 3550 section 5.1). Sequence numbers are consecutive
    modulo 2**16. The timestamp follows the time of the packet, or that of its burst where a burst is a frame (by the
    frame's sampling clock where it has one, so that lateness is none of the timestamp); with a ``timestamp_step`` it
    moves by whole steps, as a sampling clock does, while the packets jitter around it.

    Args:
        media: Packets of the stream, at least one.
        rtp: Format of the stream.
        generator: Source of the random starts.
    """
    ssrc = int(generator.integers(1, 1 << 32))
    first_sequence, first_timestamp = int(generator.integers(1 << 16)), int(generator.integers(1 << 32))
    sequence = np.arange(first_sequence, first_sequence + len(media), dtype=np.int64)
    timestamp = _clock_ticks(media, rtp)
    timestamp += first_timestamp
    return ssrc, {
        "rtp_ssrc": np.full(len(media), ssrc, dtype=np.uint32),
        "rtp_sequence": sequence.astype(np.uint16),
        "rtp_timestamp": timestamp.astype(np.uint32),
        "rtp_marker": media.ends_burst() if rtp.frame_per_burst else np.zeros(len(media), dtype=np.bool_),
    }


def _clock_ticks(media: MediaPackets, rtp: RtpFormat) -> IntArray:
    """Return the clock of each packet from that of the first, shape (n,)."""
    framed = rtp.frame_per_burst or media.frame_clock_ns is not None
    frames = media.burst_starts if framed else None
    time_ns = media.time_ns if frames is None else media.time_ns[frames]
    if media.frame_clock_ns is not None:
        time_ns = media.frame_clock_ns
    time_s = s_from_ns(time_ns - time_ns[0])
    step = 1 if rtp.timestamp_step is None else max(1, round(min(rtp.timestamp_step.value, _LARGEST_STEP)))
    ticks = _instants(time_s * (rtp.clock_hz / step), apart=rtp.frame_per_burst or step > 1) * step
    if frames is None:
        return ticks
    return np.repeat(ticks, np.diff(np.append(frames, len(media))))


def _instants(steps: FloatArray, *, apart: bool) -> IntArray:
    """Return the nearest whole step of each frame; where ``apart``, no two frames share one unless they must."""
    instants = np.rint(steps).astype(np.int64)
    if not apart or instants.size > _CROWDED * (instants[-1] + 1) + 1:
        return instants
    order = np.arange(instants.size)
    return np.maximum.accumulate(instants - order) + order
