"""One simulation: its scenario, what the engine brought, and who sent what."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trafficgen._core import SimulationOutcome
from trafficgen._core.types import SimulatedAgentDict, SimulatedFlowDict
from trafficgen.errors import SimulationError, SimulationWarning
from trafficgen.simulation.engine import run_scenario
from trafficgen.simulation.path import Path
from trafficgen.simulation.scenario import LONGEST_SESSION_S, Scenario, build_scenario
from trafficgen.simulation.sources import Participant
from trafficgen.tables import MEDIA
from trafficgen.units import s_from_ns

#: The engine's random streams start from 64 bits.
LARGEST_SEED = 2**64 - 1
#: What counts as media: the rest is control and bulk.
MEDIA_FLOWS = ("audio", "video", "mixed")


@dataclass(frozen=True)
class Run:
    """A simulation that has ended.

    Attributes:
        scenario: What was asked for.
        outcome: What happened.
        seed: Its seed.
    """

    scenario: Scenario
    outcome: SimulationOutcome
    seed: int

    @cached_property
    def agents(self) -> list[SimulatedAgentDict]:
        """Logs and samples of the participants, in their order."""
        return self.outcome.agents()

    @cached_property
    def flows(self) -> list[SimulatedFlowDict]:
        """All flows."""
        return self.outcome.flows()

    @cached_property
    def columns(self) -> dict[str, npt.NDArray[np.generic]]:
        """All packets in the order of their sending, each column of shape (packets,)."""
        return self.outcome.columns()

    @property
    def time_zero_ns(self) -> int:
        """When the first media packet of a session was sent; the scenario's zero where none was."""
        return self.outcome.first_media_ns or 0

    def flows_of(self, agent: int, *, media_only: bool = False) -> list[int]:
        """Return the numbers of a participant's flows."""
        return [
            number
            for number, flow in enumerate(self.flows)
            if flow["agent"] == agent
            and not (media_only and MEDIA[flow["media"]] not in MEDIA_FLOWS)
        ]


def run_path(
    path: Path,
    sessions: Sequence[Participant],
    competitors: Sequence[Participant] = (),
    *,
    seed: int = 0,
    most_packets: int | None = None,
) -> Run:
    """Run sessions beside competitors over a path.

    Args:
        path: The path that all share.
        sessions: The sessions that it is about; the simulation ends when the last has ended.
        competitors: Flows beside them.
        seed: Seed, >= 0.
        most_packets: Packets of all flows after which the simulation is given up; None: as many as
            there is room for.

    Raises:
        SimulationError: If a part of it cannot be simulated, which the message names, the seed is
            too large, or there are more packets.
        InputFileError: If a trace of the path cannot be used.
        ValueError: If the seed is negative or there is no session.

    Warns:
        SimulationWarning: If a session did not end by itself.
    """
    if seed < 0 or not sessions:
        raise ValueError(
            f"the seed must not be negative and there must be a session; got {seed},"
            f" {len(sessions)}"
        )
    if seed > LARGEST_SEED:
        raise SimulationError(f"seed {seed} is above 2^64 - 1; choose a smaller one")
    scenario = build_scenario(path, sessions, competitors, seed=seed, most_packets=most_packets)
    outcome = run_scenario(scenario.config, schedules=scenario.schedules)
    if s_from_ns(outcome.end_ns) >= scenario.end_s:
        warnings.warn(
            f"a session had not ended after {LONGEST_SESSION_S / 3600:g} h and was cut off; give it"
            " a duration",
            SimulationWarning,
            stacklevel=2,
        )
    return Run(scenario, outcome, seed)
