"""The set-ups of the papers, run again: published findings and what the simulation gives."""

from trafficgen.reproduction.finding import Experiment, Finding
from trafficgen.reproduction.reproduce import experiments, run_experiments, select_findings
from trafficgen.reproduction.results import FindingResult, Reproduction

__all__ = [
    "Experiment",
    "Finding",
    "FindingResult",
    "Reproduction",
    "experiments",
    "run_experiments",
    "select_findings",
]
