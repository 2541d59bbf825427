"""RealVideo 10 and the Helix server, with and without TurboPlay (BMW05)."""

from trafficgen.reproduction.base import Experiment
from trafficgen.reproduction.boyden.alone import ALONE
from trafficgen.reproduction.boyden.beside_tcp import BESIDE_TCP
from trafficgen.reproduction.boyden.table import TABLE

EXPERIMENTS: tuple[Experiment, ...] = (TABLE, *ALONE, *BESIDE_TCP)

__all__ = ["EXPERIMENTS"]
