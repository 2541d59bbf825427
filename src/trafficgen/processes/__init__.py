"""Play packet processes: from the laws of a model to times and sizes of packets in a span of time.

Generation plays models with it; calibration plays what it fitted, to check it against what was
measured.
"""

# Each of these modules registers the class that plays its kind of process.
from trafficgen.processes import bursts, fractional_noise, frames, mmpp, modulated, semi_markov
from trafficgen.processes.base import (
    LARGEST_IP_BYTES,
    GeneratorOf,
    PlayableProcess,
    PlayedPackets,
    Span,
    playable,
    players,
)

__all__ = [
    "LARGEST_IP_BYTES",
    "GeneratorOf",
    "PlayableProcess",
    "PlayedPackets",
    "Span",
    "bursts",
    "fractional_noise",
    "frames",
    "mmpp",
    "modulated",
    "playable",
    "players",
    "semi_markov",
]
