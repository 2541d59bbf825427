"""The set-ups of the papers, run again: what they published beside what the simulation gives."""

from trafficgen.reproduction.base import Experiment, Finding
from trafficgen.reproduction.figures import select_figures
from trafficgen.reproduction.registry import experiments, figures
from trafficgen.reproduction.results import DrawnFigure, FindingResult, Reproduction
from trafficgen.reproduction.runner import run_experiments
from trafficgen.reproduction.selection import select_findings

__all__ = [
    "DrawnFigure",
    "Experiment",
    "Finding",
    "FindingResult",
    "Reproduction",
    "experiments",
    "figures",
    "run_experiments",
    "select_figures",
    "select_findings",
]
