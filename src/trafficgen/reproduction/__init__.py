"""The set-ups of the papers, run again: what they published beside what the simulation gives."""

from trafficgen.reproduction.base import Experiment, Finding
from trafficgen.reproduction.registry import experiments
from trafficgen.reproduction.results import FindingResult, Reproduction
from trafficgen.reproduction.runner import run_experiments
from trafficgen.reproduction.selection import select_findings

__all__ = [
    "Experiment",
    "Finding",
    "FindingResult",
    "Reproduction",
    "experiments",
    "run_experiments",
    "select_findings",
]
