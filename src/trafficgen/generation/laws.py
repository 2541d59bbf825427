"""The packet processes of a model as laws to draw from, made once for all sessions."""

from __future__ import annotations

from dataclasses import dataclass

from trafficgen.distributions import MixedLaw
from trafficgen.models import BurstProcess, PacketProcess


@dataclass(frozen=True, kw_only=True)
class RenewalLaws:
    """Laws of a :class:`~trafficgen.models.RenewalProcess`; meanings and units as there."""

    gap_s: MixedLaw
    packet_bytes: MixedLaw


@dataclass(frozen=True, kw_only=True)
class BurstLaws:
    """Laws of a :class:`~trafficgen.models.BurstProcess`; meanings and units as there."""

    threshold_s: float
    spacing_s: MixedLaw
    burst_packets: MixedLaw
    gap_within_s: MixedLaw | None
    packet_bytes: MixedLaw
    last_packet_bytes: MixedLaw


ProcessLaws = RenewalLaws | BurstLaws


def laws_of(process: PacketProcess) -> ProcessLaws:
    """Return the laws of a process."""
    if isinstance(process, BurstProcess):
        within = process.gap_within_s
        return BurstLaws(
            threshold_s=process.threshold_s,
            spacing_s=process.spacing_s.distribution(),
            burst_packets=process.burst_packets.distribution(),
            gap_within_s=None if within is None else within.distribution(),
            packet_bytes=process.packet_bytes.distribution(),
            last_packet_bytes=process.last_packet_bytes.distribution(),
        )
    return RenewalLaws(gap_s=process.gap_s.distribution(), packet_bytes=process.packet_bytes.distribution())
