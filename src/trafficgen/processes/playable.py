"""The packet processes of a model as something to play: one entry a kind."""

from __future__ import annotations

from trafficgen.models import BurstProcess, PacketProcess, RenewalProcess
from trafficgen.processes.base import PlayableProcess
from trafficgen.processes.bursts import BurstLaws
from trafficgen.processes.renewal import RenewalLaws


def playable(process: PacketProcess) -> PlayableProcess:
    """Return a process as laws to draw from, made once for all sessions."""
    match process:
        case BurstProcess():
            return _bursts(process)
        case RenewalProcess():
            return RenewalLaws(gap_s=process.gap_s.distribution(), packet_bytes=process.packet_bytes.distribution())


def _bursts(process: BurstProcess) -> BurstLaws:
    within = process.gap_within_s
    return BurstLaws(
        threshold_s=process.threshold_s,
        spacing_s=process.spacing_s.distribution(),
        burst_packets=process.burst_packets.distribution(),
        gap_within_s=None if within is None else within.distribution(),
        packet_bytes=process.packet_bytes.distribution(),
        last_packet_bytes=process.last_packet_bytes.distribution(),
    )
