"""What every packet process is in the model file, which were tried, and what several share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import Field, model_validator

from trafficgen.model_parts.estimate import ModelPart


class Process(ModelPart):
    """How a stream places packets in time and how large they are, in one phase."""

    #: What reports call it.
    title: ClassVar[str]

    kind: str
    """Which process it is."""

    def describe(self, *, mean_gap_s: float | None = None) -> str:
        """Say in a few words what it plays; ``mean_gap_s`` is that of the packets of the phase."""
        return f"placed by {self.title}"


JumpRow = tuple[float, ...]


def check_jump_chain(rows: Sequence[JumpRow | None], *, states: int) -> None:
    """Check the transition probabilities of a jump chain.

    There is a row a state, from which, with a probability a state, to which; None for a state that
    is never left.

    Raises:
        ValueError: If the chain is not square, has a jump from a state to itself, or a row does not
            sum to 1.
    """
    if len(rows) != states:
        raise ValueError(f"transition has {len(rows)} rows for {states} states")
    for number, row in enumerate(rows):
        if row is None:
            continue
        if len(row) != states:
            raise ValueError(
                f"row {number} of transition has {len(row)} numbers for {states} states"
            )
        if min(row) < 0 or row[number] != 0 or not math.isclose(sum(row), 1.0, abs_tol=1e-6):
            raise ValueError(
                f"row {number} of transition must have a zero diagonal, no negative number and sum"
                " to 1"
            )


#: No capture distinguishes more states than this.
MOST_STATES = 16


_MOST_BANDS = 64


class SpectralLine(ModelPart):
    """A strict period: power at one frequency."""

    frequency: float = Field(gt=0, le=0.5)
    """Cycles per value of the series."""
    share: float = Field(ge=0, le=1)
    """Share of the series' variance."""


class ScoreSpectrum(ModelPart):
    """The power spectrum of a series of normal scores: bands of frequency, and strict periods."""

    upper_frequency: tuple[float, ...] = Field(min_length=1, max_length=_MOST_BANDS)
    """Upper ends of the bands, ascending, cycles per value."""
    share: tuple[float, ...] = Field(min_length=1, max_length=_MOST_BANDS)
    """Share of variance by band."""
    lines: tuple[SpectralLine, ...] = Field(default=(), max_length=16)
    """Strict periods."""

    @model_validator(mode="after")
    def _matches(self) -> Self:
        ends = self.upper_frequency
        if (
            len(ends) != len(self.share)
            or list(ends) != sorted(set(ends))
            or ends[0] <= 0
            or ends[-1] > 0.5 + 1e-9
        ):
            raise ValueError(
                "upper_frequency must ascend from above 0 to at most 0.5, with one share for each"
                " band"
            )
        if min(self.share) < 0 or sum(self.share) + sum(line.share for line in self.lines) <= 0:
            raise ValueError("shares of variance must not be negative, nor all of them 0")
        return self


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
