"""Bursts of packets as a part of the model file."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from trafficgen.distributions.law import LawOfBytes, LawOfPackets, LawOfTime
from trafficgen.formatting import format_duration, number
from trafficgen.model_parts.estimate import ModelPart
from trafficgen.processes.process import Process
from trafficgen.processes.trains.model import Trains


class BurstDependence(ModelPart):
    """How the bursts of a stream are correlated: chunk after chunk, and within a chunk.

    Correlations are between ranks (Spearman), so that they do not depend on the laws.
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

    @property
    def of_gaps(self) -> BurstDependence | None:
        """What it says of gaps within bursts; None for nothing."""
        found = BurstDependence(
            gap_correlation=self.gap_correlation, packets_to_gap=self.packets_to_gap
        )
        return None if found == BurstDependence() else found


class BurstProcess(Process):
    """Bursts of packets: laws of start-to-start spacing, packets of a burst, and gaps within it.

    The last packet of a burst has a size law of its own, since a frame or a chunk rarely fills its
    last packet.
    """

    title: ClassVar[str] = "bursts"

    kind: Literal["bursts"] = "bursts"
    threshold_s: float = Field(gt=0)
    """Largest gap within a burst, s."""
    spacing_s: LawOfTime
    """Start of one burst to the start of the next, s."""
    pause_s: LawOfTime | None = None
    """Last packet of a burst to the first of the next, s, where that varies less than the spacing,
    which then follows from it and the burst; null where bursts start at their spacing."""
    burst_packets: LawOfPackets
    """Packets of a burst."""
    gap_within_s: LawOfTime | None
    """Gap between packets of a burst, s; null when bursts are single packets."""
    packet_bytes: LawOfBytes
    """IP total length of packets but the last of a burst, bytes."""
    last_packet_bytes: LawOfBytes
    """IP total length of the last packet of a burst, bytes."""
    largest_first: bool = False
    """Whether the phase begins with its largest burst, as where a player fills its buffer."""
    dependence: BurstDependence | None = None
    """How bursts are correlated; null where they are independent."""
    order: Trains | None = None
    """What burst follows what: ranks of the spacing, or pause, after each burst, where trains have
    those of gaps, and of its packets, where they have those of sizes; null where ``dependence``
    says how bursts are correlated, or they are not."""
    trains: Trains | None = None
    """What follows what within a burst; null where gaps and sizes are independent."""

    @model_validator(mode="after")
    def _order_has_sizes(self) -> Self:
        if self.order is not None and not self.order.size_ranks:
            raise ValueError("order needs size_ranks: those of the packets of each burst")
        return self

    def describe(self, *, mean_gap_s: float | None = None) -> str:
        """Say in a few words what it plays."""
        packets = number(self.burst_packets.distribution().mean)
        return f"{packets} packets every {format_duration(self.spacing_s.distribution().mean)}"
