"""Figures of the papers, drawn again: from runs of their own, from measures of the experiments, or
from the rows.

Whatever a figure shows belongs to the first run of its experiments, with the same seeds: the curves
are those of a run that the table of findings counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from trafficgen.drawings import Drawing
from trafficgen.reproduction.base import Experiment, Finding
from trafficgen.reproduction.results import FindingResult

#: Experiment's name -> seeds of the pieces of its first run.
Seeds: TypeAlias = Mapping[str, Sequence[int]]
#: Experiment's name -> what the pieces of its first run measured.
Measures: TypeAlias = Mapping[str, Sequence[dict[str, Any]]]


@dataclass(frozen=True, kw_only=True)
class _Figure:
    """A figure or table of a paper.

    Attributes:
        name: Name, unique among all figures.
        experiments: Names of the experiments whose set-ups it shows.
        findings: Ids of the findings that it belongs to; each is one of an experiment of its.
    """

    name: str
    experiments: tuple[str, ...]
    findings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PlayedFigure(_Figure):
    """A figure of series, which experiments do not keep: its runs are played once more.

    Attributes:
        draw: Plays them with the seeds of the first run; a function at the top of its module, since
            processes hand it to each other.
    """

    draw: Callable[[Seeds], tuple[Drawing, ...]]


@dataclass(frozen=True, kw_only=True)
class MeasuredFigure(_Figure):
    """A figure of what the experiments measure anyway.

    Attributes:
        draw: Draws the measures of the first run.
    """

    draw: Callable[[Measures], tuple[Drawing, ...]]


@dataclass(frozen=True, kw_only=True)
class TabledFigure(_Figure):
    """A table of a paper as a drawing.

    Attributes:
        draw: Draws the rows of its findings, means over all runs; it is given those that were asked
            for.
    """

    draw: Callable[[Sequence[FindingResult]], tuple[Drawing, ...]]


Figure: TypeAlias = PlayedFigure | MeasuredFigure | TabledFigure


def select_figures(
    figures: Sequence[Figure], chosen: Sequence[tuple[Experiment, tuple[Finding, ...]]]
) -> list[Figure]:
    """Return the figures that belong to chosen findings and whose experiments are chosen, in order.

    Args:
        figures: The figures.
        chosen: Experiments, each with the findings that are wanted of it.
    """
    wanted = {
        experiment.name: {finding.id for finding in findings} for experiment, findings in chosen
    }
    return [
        one
        for one in figures
        if all(wanted.get(name, set()) & set(one.findings) for name in one.experiments)
    ]
