"""All experiments, paper by paper."""

from __future__ import annotations

from trafficgen.reproduction.boyden.experiments import EXPERIMENTS as BOYDEN
from trafficgen.reproduction.chung.experiments import EXPERIMENTS as CHUNG
from trafficgen.reproduction.experiment import Experiment
from trafficgen.reproduction.latecki.experiments import EXPERIMENTS as LATECKI
from trafficgen.reproduction.nichols.experiments import EXPERIMENTS as NICHOLS


def experiments() -> tuple[Experiment, ...]:
    """List the experiments of all papers in the order in which their findings are printed."""
    return (*CHUNG, *BOYDEN, *NICHOLS, *LATECKI)
