"""Fractional Gaussian noise as a rate: bins of bytes with long memory, filled with packets."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trafficgen.models.estimate import Estimate, ModelPart
from trafficgen.models.law import LawOfBytes


class FractionalNoiseProcess(ModelPart):
    """Bytes of bins that follow fractional Gaussian noise (Mandelbrot and Van Ness 1968), mapped to
    their law.
    """

    kind: Literal["fgn"] = "fgn"
    bin_s: float = Field(gt=0)
    """Width of a bin, s."""
    hurst: Estimate
    """Hurst parameter of the bytes of the bins."""
    bin_bytes: LawOfBytes
    """IP bytes of a bin, as the rate asks for them."""
    packet_bytes: LawOfBytes
    """IP total length of a packet, bytes."""
    placement: Literal["even", "poisson"]
    """even: packets follow the rate evenly; poisson: they come at independent times, so that
    their number varies beside the rate."""
