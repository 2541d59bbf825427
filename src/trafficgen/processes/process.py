"""What every packet process is in the model file, and parts that several of them share."""

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
