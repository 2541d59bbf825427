"""Nichols (2004), Windows Media 9: its testbed, its measures, and an experiment for each group of
its figures.
"""

from __future__ import annotations

from trafficgen.reproduction.base import Experiment
from trafficgen.reproduction.nichols.loss_and_latency import InducedLatency, InducedLoss, TcpAlone
from trafficgen.reproduction.nichols.multiple_rates import MultipleRates
from trafficgen.reproduction.nichols.single_rate import SingleRate

EXPERIMENTS: tuple[Experiment, ...] = (
    SingleRate(),
    MultipleRates(),
    InducedLoss(),
    InducedLatency(),
    TcpAlone(),
)

__all__ = ["EXPERIMENTS"]
