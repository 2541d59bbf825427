"""Rate states with dwell times of any law, as a part of the model file."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from trafficgen.distributions.law import LawOfTime
from trafficgen.formatting import rate_text
from trafficgen.model_parts.estimate import ModelPart
from trafficgen.processes.bursts.model import BurstProcess
from trafficgen.processes.process import MOST_STATES, JumpRow, Process, check_jump_chain
from trafficgen.processes.renewal.model import RenewalProcess
from trafficgen.units import kbps_from_bps

StatePackets = Annotated[RenewalProcess | BurstProcess, Field(discriminator="kind")]


class RateState(ModelPart):
    """One rate, the time that the source stays at it, and the packets that it sends meanwhile."""

    rate_bps: float = Field(ge=0)
    """Mean IP rate of the capture in this state, bit/s."""
    dwell_s: LawOfTime | None
    """Time until the state is left, s; null for a state that the capture did not see left."""
    process: StatePackets
    """How packets are placed and sized in this state."""


class SemiMarkovProcess(Process):
    """Rate states with a jump chain, dwell times of any law, and packets of their own."""

    title: ClassVar[str] = "semi-Markov rate states"

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

    def describe(self, *, mean_gap_s: float | None = None) -> str:
        """Say in a few words what it plays."""
        levels = ", ".join(rate_text(kbps_from_bps(state.rate_bps)) for state in self.states)
        return f"switching between {levels}"
