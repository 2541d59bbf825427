"""The basic packet processes: how a stream places packets in time and how large they are, within one phase."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trafficgen.models.estimate import ModelPart
from trafficgen.models.law import LawOfBytes, LawOfPackets, LawOfTime


class RenewalProcess(ModelPart):
    """Independent gaps between packets (a renewal process), sizes drawn apart."""

    kind: Literal["renewal"] = "renewal"
    gap_s: LawOfTime = Field(description="Gap between successive packets, s.")
    packet_bytes: LawOfBytes = Field(description="IP total length of a packet, bytes.")


class BurstProcess(ModelPart):
    """Bursts of packets: the start-to-start spacing, the packets of a burst and the gaps within it are drawn apart.

    The last packet of a burst has a size law of its own, since a frame or a chunk rarely fills its last packet.
    """

    kind: Literal["bursts"] = "bursts"
    threshold_s: float = Field(gt=0, description="Largest gap within a burst, s.")
    spacing_s: LawOfTime = Field(description="Start of one burst to the start of the next, s.")
    burst_packets: LawOfPackets = Field(description="Packets of a burst.")
    gap_within_s: LawOfTime | None = Field(
        description="Gap between packets of a burst, s; null when bursts are single packets."
    )
    packet_bytes: LawOfBytes = Field(description="IP total length of packets but the last of a burst, bytes.")
    last_packet_bytes: LawOfBytes = Field(description="IP total length of the last packet of a burst, bytes.")
