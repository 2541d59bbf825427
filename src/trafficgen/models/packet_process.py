"""The packet processes that a phase can have, told apart by their ``kind``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trafficgen.models.fractional_noise import FractionalNoiseProcess
from trafficgen.models.frames import FrameProcess
from trafficgen.models.mmpp import MmppProcess
from trafficgen.models.modulated import ModulatedProcess
from trafficgen.models.process import BurstProcess, RenewalProcess
from trafficgen.models.semi_markov import SemiMarkovProcess

PacketProcess = Annotated[
    RenewalProcess
    | BurstProcess
    | FrameProcess
    | ModulatedProcess
    | FractionalNoiseProcess
    | MmppProcess
    | SemiMarkovProcess,
    Field(discriminator="kind"),
]
