"""Markov-modulated Poisson processes as a part of the model file."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from trafficgen.distributions.law import LawOfBytes
from trafficgen.formatting import number
from trafficgen.model_parts.estimate import Estimate, ModelPart
from trafficgen.processes.process import MOST_STATES, JumpRow, Process, check_jump_chain


class MmppState(ModelPart):
    """One state of the chain."""

    rate_per_s: Estimate
    """Packets per second in this state."""
    mean_sojourn_s: Estimate
    """Mean time until the state is left, s; sojourns are exponential."""

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.rate_per_s.value < 0 or not self.mean_sojourn_s.value > 0:
            raise ValueError(
                "a state needs a rate_per_s of at least 0 and a mean_sojourn_s above 0"
            )
        return self


class MmppProcess(Process):
    """A Poisson process of packets whose rate is switched by a Markov chain."""

    title: ClassVar[str] = "Markov-modulated Poisson"

    kind: Literal["mmpp"] = "mmpp"
    states: tuple[MmppState, ...] = Field(min_length=2, max_length=MOST_STATES)
    """States, fastest first."""
    transition: tuple[JumpRow, ...]
    """Jump chain: row = from, column = to, zero diagonal, rows sum to 1."""
    packet_bytes: LawOfBytes
    """IP total length of a packet, bytes."""
    mean_rate_per_s: float = Field(gt=0)
    """Packets per second over the whole phase of the capture."""
    observed_s: float = Field(gt=0)
    """Length of that phase, s; sessions of this length and more are played at its mean rate."""
    evidence_bic: float | None = None
    """BIC of independent gaps less that of this process, on the gaps that were fitted."""

    @model_validator(mode="after")
    def _chain(self) -> Self:
        check_jump_chain(self.transition, states=len(self.states))
        if not any(state.rate_per_s.value > 0 for state in self.states):
            raise ValueError("at least one state needs a rate_per_s above 0")
        return self

    def describe(self, *, mean_gap_s: float | None = None) -> str:
        """Say in a few words what it plays."""
        rates = " or ".join(number(state.rate_per_s.value) for state in self.states)
        return f"{rates} packets per second at random, switched by a Markov chain"
