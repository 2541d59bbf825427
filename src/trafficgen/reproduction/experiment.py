"""A set-up of a paper that can be run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trafficgen.reproduction.finding import Finding, findings_by_experiment

Measures = dict[str, Any]
#: Simulates a part of a run from a seed and returns small measures of it.
Piece = Callable[[int], Measures]


def average_pieces(pieces: Sequence[Measures]) -> Measures:
    """Return the mean of each measure over the pieces of a run."""
    return {key: np.mean([piece[key] for piece in pieces]) for key in pieces[0]}


def merge_pieces(pieces: Sequence[Measures]) -> Measures:
    """Return the measures of all pieces of a run, whose keys differ."""
    return {key: value for piece in pieces for key, value in piece.items()}


@dataclass(frozen=True)
class Experiment:
    """A set-up of a paper: what is simulated, and the values that follow from it.

    Its functions are functions of a module or partials of them, which other processes can load.

    Attributes:
        name: Name, unique among all experiments; seeds are derived from it.
        pieces: Simulations that make up one run, each in any process. Each takes a seed, which
            differs from piece to piece and from run to run, and returns small measures.
        combine: Returns the value of every finding's key from the measures of all pieces of a run;
            NaN marks a quantity that could not be measured.
        repeats: How often `reproduce` does it in each run, whose values are the means: more often
            where the mean of the default runs would still be a matter of the seed. Studies that
            move open values do it once.
    """

    name: str
    pieces: tuple[Piece, ...]
    combine: Callable[[Sequence[Measures]], Measures] = average_pieces
    repeats: int = 1

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Rows that it measures: those of the data files with its name."""
        return findings_by_experiment()[self.name]
