"""RTP header fields of generated media (RFC 3550 section 5.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trafficgen.generation.media import MediaPackets
from trafficgen.models import RtpFormat
from trafficgen.processes.base import BLOCK
from trafficgen.units import IntArray, s_from_ns

#: Sampling instants are separated unless there are this many times more frames than instants.
_CROWDED = 1.1
#: Timestamps count modulo 2**32; a larger step looks like one backwards.
_LARGEST_STEP = (1 << 31) - 1


def rtp_headers(
    media: MediaPackets, rtp: RtpFormat, *, generator: np.random.Generator
) -> tuple[int, dict[str, npt.NDArray[np.generic]]]:
    """Return the SSRC and the RTP columns of a stream's packets.

    SSRC, first sequence number and first timestamp are random (RFC 3550 section 5.1). Sequence
    numbers are consecutive modulo 2**16. The timestamp follows the time of the packet, or that of
    its burst if a burst is a frame (by the frame's sampling clock if it has one, so that lateness
    does not show); with a ``timestamp_step`` it moves by whole steps, as a sampling clock does,
    while the packets jitter around it.

    Args:
        media: Packets of the stream, at least one.
        rtp: Format of the stream.
        generator: Source of the random starts.
    """
    ssrc = int(generator.integers(1, 1 << 32))
    count, first = len(media), int(generator.integers(1 << 16))
    first_timestamp = int(generator.integers(1 << 32))
    # Sequence numbers count modulo 2**16, timestamps modulo 2**32.
    sequence = np.arange(first, first + count, dtype=np.uint32).astype(np.uint16)
    timestamp = _clock_ticks(media, rtp)
    timestamp += np.uint32(first_timestamp)
    marker = media.ends_burst() if rtp.frame_per_burst else np.zeros(count, dtype=np.bool_)
    return ssrc, {
        "rtp_ssrc": np.full(count, ssrc, dtype=np.uint32),
        "rtp_sequence": sequence,
        "rtp_timestamp": timestamp,
        "rtp_marker": marker,
    }


def _clock_ticks(media: MediaPackets, rtp: RtpFormat) -> npt.NDArray[np.uint32]:
    """Return the clock of each packet from that of the first, modulo 2**32, shape (n,)."""
    framed = rtp.frame_per_burst or media.frame_clock_ns is not None
    frames = media.burst_starts if framed else None
    time_ns = media.time_ns if frames is None else media.time_ns[frames]
    if media.frame_clock_ns is not None:
        time_ns = media.frame_clock_ns
    step = 1
    if rtp.timestamp_step is not None:
        step = max(1, round(min(rtp.timestamp_step.value, _LARGEST_STEP)))
    steps_per_s = rtp.clock_hz / step
    last = round(s_from_ns(int(time_ns[-1] - time_ns[0])) * steps_per_s)
    apart = (rtp.frame_per_burst or step > 1) and time_ns.size <= _CROWDED * (last + 1) + 1
    ticks = np.empty(time_ns.size, dtype=np.uint32)
    before = np.int64(-1)
    for row in range(0, time_ns.size, BLOCK):
        since_s = s_from_ns(time_ns[row : row + BLOCK] - time_ns[0])
        instants = np.rint(since_s * steps_per_s).astype(np.int64)
        if apart:
            instants = _separate(instants, after=before)
            before = instants[-1]
        ticks[row : row + BLOCK] = instants * step  # modulo 2**32
    if frames is None:
        return ticks
    return np.repeat(ticks, np.diff(np.append(frames, len(media))))


def _separate(instants: IntArray, *, after: np.int64) -> IntArray:
    """Return instants moved just far enough that each is later than the one before."""
    order = np.arange(instants.size)
    instants -= order
    instants[0] = max(instants[0], after + 1)
    return np.maximum.accumulate(instants) + order
