"""A set-up of a paper that can be run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from trafficgen.reproduction.finding import Finding, findings_by_experiment


class Experiment(ABC):
    """A set-up of a paper: a frozen dataclass at the top of its module, so that it can be pickled.

    Attributes:
        name: Name, unique among all experiments; seeds are derived from it.
    """

    name: str

    @property
    def parts(self) -> int:
        """Number of pieces of one run, at least 1; each may run in another process."""
        return 1

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Rows that it measures: those of the data files with its name."""
        return findings_by_experiment()[self.name]

    @abstractmethod
    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Simulate a piece and return small measures of it.

        Args:
            part: Number of the piece, from 0.
            seed: Seed of this piece of this run; other pieces and runs have others.
        """

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the value of every finding's key from the measures of all pieces of one run.

        NaN marks a quantity that could not be measured. By default: means over the pieces.
        """
        return {key: float(np.mean([part[key] for part in parts])) for key in parts[0]}
