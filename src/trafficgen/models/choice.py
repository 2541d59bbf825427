"""Why a packet process was chosen: what was tried, and how near each came to the packets when it
was played.
"""

from __future__ import annotations

from pydantic import Field

from trafficgen.models.estimate import ModelPart


class TriedProcess(ModelPart):
    """One process that was fitted and played."""

    kind: str
    """Kind of the process."""
    passed: bool
    """Whether rates at several scales and their autocorrelation differ from the capture by no
    more than chance."""
    score: float = Field(ge=0)
    """Weighted sum of its distances to the capture; smaller is better."""
    distances: dict[str, float]
    """Statistic -> median distance of played sessions to the capture: Kolmogorov-Smirnov
    distances, and for rate_acf half the largest difference at lags 1 to 20."""


class ProcessChoice(ModelPart):
    """What was tried for a phase, in order; the process of the phase is one of them."""

    chosen: int = Field(ge=0)
    """Which of those tried was chosen, from 0."""
    tried: tuple[TriedProcess, ...] = Field(min_length=1, max_length=32)
    """Processes in order of complexity."""
