"""The one call into the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from trafficgen._core import SimulationOutcome, simulate
from trafficgen.simulation.sources import Schedule


def run_scenario(scenario: Mapping[str, object], *, schedules: Sequence[Schedule] = ()) -> SimulationOutcome:
    """Run a scenario as the engine reads it: seed, links, agents and when it ends.

    Args:
        scenario: The scenario, JSON-compatible.
        schedules: What streams of fitted models want to send; parameters refer to them by their number.

    Raises:
        SimulationError: If a link, a route or a parameter is not valid; the message names it.
    """
    return simulate(json.dumps(scenario, allow_nan=False), [schedule.arrays() for schedule in schedules])
