"""Chung, Zhu and Claypool 2002 and 2003: RealPlayer 8 over UDP and over TCP, alone and head to head
(CCZ-*).
"""

from trafficgen.reproduction.base import Experiment
from trafficgen.reproduction.chung.experiments import Alone, Clearing, HeadToHead, Unconstrained
from trafficgen.reproduction.chung.population import Population

EXPERIMENTS: tuple[Experiment, ...] = (
    Population(),
    HeadToHead(),
    Alone(),
    Unconstrained(),
    Clearing(),
)

__all__ = ["EXPERIMENTS", "Alone", "Clearing", "HeadToHead", "Population", "Unconstrained"]
