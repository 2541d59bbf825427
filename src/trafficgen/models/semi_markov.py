"""Semi-Markov rate states: a source that stays at one of a few rates for a while and then switches
to another.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from trafficgen.models.estimate import ModelPart
from trafficgen.models.jump_chain import JumpRow, check_jump_chain
from trafficgen.models.law import LawOfTime
from trafficgen.models.process import BurstProcess, RenewalProcess

#: More states than this are not told apart in any capture.
MOST_STATES = 16

StatePackets = Annotated[RenewalProcess | BurstProcess, Field(discriminator="kind")]


class RateState(ModelPart):
    """One rate with the time that the source stays at it and the packets that it sends
    meanwhile.
    """

    rate_bps: float = Field(ge=0)
    """Mean IP rate of the capture in this state, bit/s."""
    dwell_s: LawOfTime | None
    """Time until the state is left, s; null for a state that the capture did not see left."""
    process: StatePackets
    """How packets are placed and sized in this state."""


class SemiMarkovProcess(ModelPart):
    """Rate states with a jump chain, dwell times of any law, and packets of their own."""

    kind: Literal["semi_markov"] = "semi_markov"
    states: tuple[RateState, ...] = Field(min_length=2, max_length=MOST_STATES)
    """States, slowest first."""
    transition: tuple[JumpRow | None, ...]
    """Jump chain: row = from, column = to, zero diagonal, rows sum to 1; null where dwell_s is
    null."""
    first_state: int | None = Field(default=None, ge=0)
    """State that a session begins in, with a whole dwell, as the capture did; null to draw one
    by the long-run shares of the time."""
    mean_rate_bps: float = Field(gt=0)
    """Mean IP rate of the phase of the capture, bit/s."""
    observed_s: float = Field(gt=0)
    """Length of that phase, s; sessions of half this length and more keep its mean rate."""
    evidence_bic: float | None = None
    """BIC of a single level with correlated noise less that of the levels."""

    @model_validator(mode="after")
    def _chain(self) -> Self:
        check_jump_chain(self.transition, states=len(self.states))
        for number, (state, row) in enumerate(zip(self.states, self.transition, strict=True)):
            if (state.dwell_s is None) != (row is None):
                raise ValueError(
                    f"state {number} needs both dwell_s and its row of transition, or neither"
                )
        if self.first_state is not None and self.first_state >= len(self.states):
            raise ValueError(
                f"first_state is {self.first_state}, there are {len(self.states)} states"
            )
        return self
