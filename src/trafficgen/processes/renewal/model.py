"""Renewal processes as a part of the model file."""

from __future__ import annotations

from typing import ClassVar, Literal

from trafficgen.distributions.law import LawOfBytes, LawOfTime
from trafficgen.formatting import format_duration
from trafficgen.processes.process import Process
from trafficgen.processes.trains.model import Trains

#: Gaps whose standard deviation is more than this many times their mean are those of bursts.
_BURSTY = 3.0


class RenewalProcess(Process):
    """Independent gaps between packets (a renewal process), sizes drawn apart."""

    title: ClassVar[str] = "independent gaps (renewal)"

    kind: Literal["renewal"] = "renewal"
    gap_s: LawOfTime
    """Gap between successive packets, s."""
    packet_bytes: LawOfBytes
    """IP total length of a packet, bytes."""
    trains: Trains | None = None
    """What follows what; null where gaps and sizes are independent."""

    def describe(self, *, mean_gap_s: float | None = None) -> str:
        """Say in a few words what it plays; ``mean_gap_s`` is that of the packets of the phase."""
        gaps = self.gap_s.distribution()
        text = f"a packet every {format_duration(mean_gap_s or gaps.mean)}"
        is_bursty = gaps.variance > (_BURSTY * gaps.mean) ** 2
        return f"{text} on average, in bursts with pauses between them" if is_bursty else text
