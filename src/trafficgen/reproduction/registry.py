"""All experiments, paper by paper."""

from __future__ import annotations

from trafficgen.reproduction import boyden, chung, latecki, nichols
from trafficgen.reproduction.base import Experiment

#: What each paper's module calls ``EXPERIMENTS``, in the order of printing.
_PAPERS: tuple[tuple[Experiment, ...], ...] = (
    chung.EXPERIMENTS,
    boyden.EXPERIMENTS,
    nichols.EXPERIMENTS,
    latecki.EXPERIMENTS,
)


def experiments() -> tuple[Experiment, ...]:
    """Return the experiments of all papers, in the order in which their findings are printed."""
    return tuple(experiment for paper in _PAPERS for experiment in paper)
