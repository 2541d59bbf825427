"""Playing packet processes: from the laws of a model to times and sizes of packets in a span of
time.

Generation plays models with it; calibration plays what it fitted, to check it against what was
measured.
"""

from trafficgen.processes.base import LARGEST_IP_BYTES, GeneratorOf, PlayableProcess, PlayedPackets
from trafficgen.processes.playable import playable

__all__ = ["LARGEST_IP_BYTES", "GeneratorOf", "PlayableProcess", "PlayedPackets", "playable"]
