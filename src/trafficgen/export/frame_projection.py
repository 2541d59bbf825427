"""Packets as frames on a fixed clock whose sizes are log-normal: the one law of frames that iperf 2
can draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.distributions.two_samples import ks_distance
from trafficgen.errors import ExportError
from trafficgen.export.gaps import gaps_s
from trafficgen.flows import find_burst_threshold_s, segment_bursts
from trafficgen.units import (
    NS_PER_S,
    FloatArray,
    IntArray,
    bps_from_bytes,
    ns_array_from_s,
    s_from_ns,
)

#: Fewest frames that a mean and a standard deviation are taken from.
LEAST_FRAMES = 3
#: Of the packets that another follows, larger ones (a packet pair, say) are exceptions.
_FULL_QUANTILE = 0.9


@dataclass(frozen=True)
class FrameProjection:
    """What iperf 2 is told of a run of packets, and what it was estimated from.

    Attributes:
        start_ns: Time of the first frame.
        frame_rate_hz: Frames in a second.
        frame_bytes: Payload of each frame that was seen, shape (f,).
        packet_bytes: Payload of a full packet.
        packet_gap_s: Gap of packets within a frame; 0: back to back.
        payload_bytes: Payload of each packet that was seen, shape (n,).
        time_ns: Time of each packet that was seen, shape (n,).
    """

    start_ns: int
    frame_rate_hz: float
    frame_bytes: IntArray
    packet_bytes: int
    packet_gap_s: float
    payload_bytes: IntArray
    time_ns: IntArray

    @property
    def frames(self) -> int:
        """Frames to be sent."""
        return int(self.frame_bytes.size)

    @property
    def mean_bps(self) -> int:
        """Mean rate, whole bit/s: the mean frame, so often in a second."""
        return max(1, round(bps_from_bytes(float(self.frame_bytes.mean()), 1 / self.frame_rate_hz)))

    @property
    def sd_bps(self) -> int:
        """Standard deviation of the frames' sizes as a rate, whole bit/s."""
        return round(bps_from_bytes(float(self.frame_bytes.std()), 1 / self.frame_rate_hz))

    @property
    def run_s(self) -> float:
        """Time to send for: until half a frame clock after the last frame's instant."""
        return (self.frames - 0.5) / self.frame_rate_hz


def project_frames(
    time_ns: IntArray,
    payload_bytes: IntArray,
    *,
    stamps: IntArray | None,
    frame_rate_hz: float,
    least_packet_bytes: int,
    keep_gaps: bool,
    what: str,
    clock_hz: float = 0.0,
) -> FrameProjection:
    """Return packets as frames on a clock.

    Frames are packets of one RTP timestamp; without, the bursts that a valley of the gaps parts;
    where there are none, single packets. Their rate is their number by their time, so that bytes
    and frames of the whole are kept. With a given rate, frames are what falls into each tick of
    that clock, empty ones included.

    Args:
        time_ns: Times of the packets, ascending, shape (n,).
        payload_bytes: Their payloads, shape (n,).
        stamps: Their RTP timestamps; None where there are none.
        frame_rate_hz: Rate of the clock into whose ticks time is cut; 0 takes frames as they are.
        least_packet_bytes: Smallest full packet that the tool can send.
        keep_gaps: Whether packets of a frame keep their median gap; otherwise they are sent back to
            back.
        what: What the packets are, for messages.
        clock_hz: Rate of frames as they are, where it is known; 0 estimates it.

    Raises:
        ExportError: If there are too few frames, or the rate makes frames of nothing.
    """
    first, sizes = _frames(time_ns, payload_bytes, stamps, frame_rate_hz)
    if sizes.size < LEAST_FRAMES:
        raise ExportError(
            f"{what}: {sizes.size} frames are too few for a mean and a standard deviation"
            f" ({LEAST_FRAMES} are needed); use mode=epochs, or export a longer table"
        )
    span_s = s_from_ns(int(time_ns[first[-1]] - time_ns[first[0]]))
    rate_hz = frame_rate_hz or clock_hz or (sizes.size - 1) / span_s
    within = np.ones(time_ns.size, dtype=np.bool_)
    within[first] = False
    gap_s = (
        float(np.median(s_from_ns(np.diff(time_ns))[within[1:]]))
        if keep_gaps and within.any()
        else 0.0
    )
    full_bytes = max(least_packet_bytes, _full_packet_bytes(payload_bytes, first))
    # A frame of the mean size must fit between two ticks of the clock, or frames would be late.
    packets = math.ceil(float(sizes.mean()) / full_bytes)
    return FrameProjection(
        start_ns=int(time_ns[0]),
        frame_rate_hz=rate_hz,
        frame_bytes=sizes,
        packet_bytes=full_bytes,
        packet_gap_s=gap_s if packets * gap_s < 1 / rate_hz else 0.0,
        payload_bytes=payload_bytes,
        time_ns=time_ns,
    )


def _full_packet_bytes(payload_bytes: IntArray, first: IntArray) -> int:
    """Return the payload of packets that another of their frame follows, or the largest where most
    are alone.
    """
    is_last = np.zeros(payload_bytes.size, dtype=np.bool_)
    is_last[np.concatenate((first[1:] - 1, [payload_bytes.size - 1]))] = True
    followed = payload_bytes[~is_last]
    if 2 * followed.size < payload_bytes.size:
        return int(payload_bytes.max())
    return int(np.quantile(followed, _FULL_QUANTILE, method="higher"))


def _frames(
    time_ns: IntArray, payload_bytes: IntArray, stamps: IntArray | None, frame_rate_hz: float
) -> tuple[IntArray, IntArray]:
    """Return the index of the first packet and the size of each frame; of empty ticks the size
    alone.
    """
    if frame_rate_hz:
        tick = ((time_ns - time_ns[0]) * (frame_rate_hz / NS_PER_S)).astype(np.int64)
        sizes = np.bincount(tick, weights=payload_bytes).astype(np.int64)
        return np.unique(tick, return_index=True)[1], sizes
    if stamps is not None:
        first = np.concatenate(([0], np.flatnonzero(np.diff(stamps)) + 1))
        return first, np.add.reduceat(payload_bytes, first)
    threshold_s = find_burst_threshold_s(s_from_ns(np.diff(time_ns)))
    if threshold_s is None:
        return np.arange(time_ns.size), payload_bytes
    bursts = segment_bursts(time_ns, payload_bytes, threshold_s=threshold_s)
    return bursts.first, np.rint(bursts.size_bytes).astype(np.int64)


def distances_of(
    projections: Sequence[FrameProjection], *, least_packet_bytes: int
) -> dict[str, float]:
    """Return how far the laws that iperf 2 draws are from what was seen, pooled over runs: metric
    -> KS distance.

    Args:
        projections: The runs.
        least_packet_bytes: The tool makes packets, and so frames, at least so large.
    """
    drawn = [
        _drawn(projection, least_packet_bytes=least_packet_bytes) for projection in projections
    ]
    seen = [(one.frame_bytes, one.payload_bytes) for one in projections]
    distances = {
        metric: ks_distance(
            np.concatenate([one[place] for one in seen]),
            np.concatenate([one[place] for one in drawn]),
        )
        for place, metric in enumerate(("frame_bytes.ks", "packet_bytes.ks"))
    }
    seen_gaps, drawn_gaps = (
        gaps_s([one.time_ns for one in projections]),
        gaps_s([times for _, _, times in drawn]),
    )
    return {**distances, "gap_s.ks": ks_distance(seen_gaps, drawn_gaps)}


def _drawn(
    projection: FrameProjection, *, least_packet_bytes: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the sizes of frames and packets, and their times, that the tool draws: evenly spread
    over their law.
    """
    probability = (np.arange(projection.frames) + 0.5) / projection.frames
    sizes = np.maximum(
        least_packet_bytes, _lognormal_quantiles(projection, probability).astype(np.int64)
    )
    full = projection.packet_bytes
    whole, rest = sizes // full, sizes % full
    counts = whole + (rest > 0)
    row = np.repeat(np.arange(sizes.size), counts)
    place = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
    packets = np.where(place < whole[row], full, np.maximum(rest[row], least_packet_bytes))
    # Frames that outlast their tick hold back the next one; the tool sends it as soon as it can.
    time_s = np.maximum.accumulate(row / projection.frame_rate_hz + place * projection.packet_gap_s)
    frame_bytes = np.bincount(row, weights=packets).astype(np.int64)
    return frame_bytes, packets, ns_array_from_s(time_s)


def _lognormal_quantiles(projection: FrameProjection, probability: FloatArray) -> FloatArray:
    mean, sd = float(projection.frame_bytes.mean()), float(projection.frame_bytes.std())
    log_variance = math.log1p((sd / mean) ** 2) if mean > 0 else 0.0
    scale = mean / math.sqrt(1 + (sd / mean) ** 2) if mean > 0 else 0.0
    return np.asarray(scale * np.exp(math.sqrt(log_variance) * special.ndtri(probability)))
