"""Packets under a slowly varying rate, as a part of the model file."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from trafficgen.distributions.law import LawOfBytes, LawOfPackets, LawOfTime
from trafficgen.formatting import format_duration
from trafficgen.model_parts.estimate import ModelPart
from trafficgen.processes.process import Process
from trafficgen.processes.trains.model import Trains


class RateClass(ModelPart):
    """How packets are placed while the rate is in one range."""

    up_to_bytes: float | None = Field(gt=0)
    """Largest bytes of a bin of this class; null for the class of the highest rates."""
    gap_s: LawOfTime
    """Gap between successive packets of such a bin (within a burst of it), s."""
    idle_s: LawOfTime | None = None
    """Gap between bursts, s; null without bursts."""
    burst_packets: LawOfPackets | None = None
    """Packets of a burst; null without bursts."""
    packet_bytes: LawOfBytes
    """IP total length of a packet in such a bin, bytes."""
    trains: Trains | None = None
    """What follows what in such bins; null where gaps and sizes are independent."""
    pauses_in_trains: bool = False
    """Whether ranks of gaps in the trains count the gaps between bursts too: these are then where
    the trains have them."""

    @model_validator(mode="after")
    def _bursts_whole(self) -> Self:
        if (self.idle_s is None) != (self.burst_packets is None):
            raise ValueError("idle_s and burst_packets are given together or not at all")
        if self.pauses_in_trains and (self.idle_s is None or self.trains is None):
            raise ValueError("pauses_in_trains needs idle_s and trains")
        return self


class ModulatedProcess(Process):
    """Renewal gaps or bursts under a slowly varying rate.

    Time is cut into bins. The bytes of the bins follow a law and have an autocorrelation, in the
    manner of ARTA processes (Cario and Nelson 1996); within a bin, packets are placed by the laws
    of its class of rates.
    """

    title: ClassVar[str] = "slowly varying rate"

    kind: Literal["modulated"] = "modulated"
    bin_s: float = Field(gt=0)
    """Width of a bin, s."""
    bin_bytes: LawOfBytes
    """IP bytes of a bin; 0 is an idle bin."""
    autocorrelation: tuple[float, ...] = Field(max_length=256)
    """Sample autocorrelation of the bytes of the bins, from lag 1."""
    classes: tuple[RateClass, ...] = Field(min_length=1, max_length=16)
    """Classes of rates, ascending."""

    @model_validator(mode="after")
    def _classes_ascend(self) -> Self:
        bounds = [part.up_to_bytes for part in self.classes]
        known = [bound for bound in bounds[:-1] if bound is not None]
        if bounds[-1] is not None or len(known) != len(bounds) - 1 or known != sorted(set(known)):
            raise ValueError(
                "up_to_bytes must ascend from class to class and be null in the last one alone"
            )
        if any(not -1 <= value <= 1 for value in self.autocorrelation):
            raise ValueError("an autocorrelation lies between -1 and 1")
        return self

    @property
    def gap_model(self) -> Literal["renewal", "bursts"]:
        """What generates the gaps within a bin."""
        return "renewal" if self.classes[-1].idle_s is None else "bursts"

    def describe(self, *, mean_gap_s: float | None = None) -> str:
        """Say in a few words what it plays."""
        return f"the rate going up and down over bins of {format_duration(self.bin_s)}"
