"""The basic packet processes: how a stream places packets in time and how large they are, within
one phase.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trafficgen.models.estimate import ModelPart
from trafficgen.models.law import LawOfBytes, LawOfPackets, LawOfTime


class RenewalProcess(ModelPart):
    """Independent gaps between packets (a renewal process), sizes drawn apart."""

    kind: Literal["renewal"] = "renewal"
    gap_s: LawOfTime
    """Gap between successive packets, s."""
    packet_bytes: LawOfBytes
    """IP total length of a packet, bytes."""


class BurstDependence(ModelPart):
    """How the bursts of a stream hang together: chunk after chunk, and within a chunk.

    Correlations are between ranks (Spearman), so they say nothing about the laws themselves.
    """

    packets_autocorrelation: tuple[float, ...] = Field(default=(), max_length=64)
    """Autocorrelation of the packets of successive bursts, from lag 1."""
    spacing_autocorrelation: tuple[float, ...] = Field(default=(), max_length=64)
    """Autocorrelation of successive spacings, from lag 1."""
    packets_to_spacing: float = Field(default=0.0, ge=-1, le=1)
    """Rank correlation of a burst's packets with the spacing that follows."""
    gap_correlation: float = Field(default=0.0, ge=0, le=1)
    """Rank correlation of gaps of one burst: above 0 where some bursts are faster than others."""
    packets_to_gap: float = Field(default=0.0, ge=-1, le=1)
    """Rank correlation of a burst's packets with the mean rank of its gaps."""


class BurstProcess(ModelPart):
    """Bursts of packets: the start-to-start spacing, the packets of a burst and the gaps within it
    have their laws.

    The last packet of a burst has a size law of its own, since a frame or a chunk rarely fills its
    last packet.
    """

    kind: Literal["bursts"] = "bursts"
    threshold_s: float = Field(gt=0)
    """Largest gap within a burst, s."""
    spacing_s: LawOfTime
    """Start of one burst to the start of the next, s."""
    burst_packets: LawOfPackets
    """Packets of a burst."""
    gap_within_s: LawOfTime | None
    """Gap between packets of a burst, s; null when bursts are single packets."""
    packet_bytes: LawOfBytes
    """IP total length of packets but the last of a burst, bytes."""
    last_packet_bytes: LawOfBytes
    """IP total length of the last packet of a burst, bytes."""
    dependence: BurstDependence | None = None
    """How bursts hang together; null where they are independent."""
