"""Play packet processes: from the laws of a model to times and sizes of packets in a span of time.

Generation plays models with it; calibration plays what it fitted, to check it against what was
measured.
"""

from trafficgen.processes.base import (
    LARGEST_IP_BYTES,
    GeneratorOf,
    PlayableProcess,
    PlayedPackets,
    Span,
    playable,
    players,
)
from trafficgen.processes.bursts import BurstLaws
from trafficgen.processes.fractional_noise import FractionalNoiseLaws
from trafficgen.processes.frames import FrameLaws
from trafficgen.processes.mmpp import MmppLaws
from trafficgen.processes.modulated import ModulatedLaws
from trafficgen.processes.renewal import RenewalLaws
from trafficgen.processes.semi_markov import SemiMarkovLaws

__all__ = [
    "LARGEST_IP_BYTES",
    "BurstLaws",
    "FractionalNoiseLaws",
    "FrameLaws",
    "GeneratorOf",
    "MmppLaws",
    "ModulatedLaws",
    "PlayableProcess",
    "PlayedPackets",
    "RenewalLaws",
    "SemiMarkovLaws",
    "Span",
    "playable",
    "players",
]
