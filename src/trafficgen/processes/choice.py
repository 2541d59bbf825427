"""Which processes were tried for a phase, as a part of the model file."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from trafficgen.model_parts.estimate import ModelPart


class RateShares(ModelPart):
    """Where the distributions of a rate, measured and played, are farthest apart."""

    rate_bps: float = Field(ge=0)
    """Rate over a bin; 0 is silence."""
    measured: float = Field(ge=0, le=1)
    """Share of the bins of the capture that have this rate at most."""
    played: float = Field(ge=0, le=1)
    """The same share of the played sessions."""


class TriedProcess(ModelPart):
    """One process that was fitted and played."""

    kind: str
    """Kind of the process."""
    passed: bool
    """Whether rates at several scales and their autocorrelation differ from the capture by no
    more than chance, or by less than 2% of the mean rate."""
    score: float = Field(ge=0)
    """Weighted sum of its distances to the capture; smaller is better."""
    distances: dict[str, float]
    """Statistic -> median distance of played sessions to the capture: Kolmogorov-Smirnov
    distances, and for rate_acf half the largest difference at lags 1 to 20."""
    beyond_chance: dict[str, float] = Field(default_factory=dict)
    """Statistics of the rate that differ by more than chance -> the distance that chance
    explains; empty for a process that passed."""
    differs_at: dict[str, RateShares] = Field(default_factory=dict)
    """Rates of beyond_chance, such as rate.0.5 in bins of 0.5 s -> where they differ most."""


class ProcessChoice(ModelPart):
    """The processes that were tried for a phase, in order; the phase has one of them."""

    chosen: int = Field(ge=0)
    """Which of those tried was chosen, from 0."""
    tried: tuple[TriedProcess, ...] = Field(min_length=1, max_length=32)
    """Processes in order of complexity."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.chosen >= len(self.tried):
            count = len(self.tried)
            raise ValueError(f"chosen must be below the number of those tried, {count}")
        return self
