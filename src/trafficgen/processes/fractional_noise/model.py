"""Fractional Gaussian noise as a part of the model file."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from trafficgen.distributions.law import LawOfBytes
from trafficgen.formatting import number
from trafficgen.model_parts.estimate import Estimate
from trafficgen.processes.process import Process


class FractionalNoiseProcess(Process):
    """Bytes of bins: fractional Gaussian noise (Mandelbrot and Van Ness 1968), mapped to a law.

    They are those that the rate asks for, before they are cut into packets.
    """

    title: ClassVar[str] = "fractional Gaussian noise"

    kind: Literal["fgn"] = "fgn"
    bin_s: float = Field(gt=0)
    """Width of a bin, s."""
    hurst: Estimate
    """Hurst parameter of the bytes of the bins."""
    bin_bytes: LawOfBytes
    """IP bytes of a bin."""
    packet_bytes: LawOfBytes
    """IP total length of a packet, bytes."""
    placement: Literal["even", "poisson"]
    """even: packets follow the rate evenly; poisson: they come at independent times, so that
    their number varies around the rate."""

    def describe(self, *, mean_gap_s: float | None = None) -> str:
        """Say in a few words what it plays."""
        return f"fractional Gaussian noise with H = {number(self.hurst.value)}"
