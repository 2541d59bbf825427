"""All experiments and figures, paper by paper."""

from __future__ import annotations

from trafficgen.reproduction import boyden, chung, latecki, latecki_figures, nichols
from trafficgen.reproduction.base import Experiment
from trafficgen.reproduction.boyden.figures import FIGURES as BOYDEN_FIGURES
from trafficgen.reproduction.chung.figures import FIGURES as CHUNG_FIGURES
from trafficgen.reproduction.figures import Figure
from trafficgen.reproduction.nichols.figures import FIGURES as NICHOLS_FIGURES

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


def figures() -> tuple[Figure, ...]:
    """Return the figures of all papers, in the order in which a report shows them."""
    return (*CHUNG_FIGURES, *BOYDEN_FIGURES, *NICHOLS_FIGURES, *latecki_figures.FIGURES)
