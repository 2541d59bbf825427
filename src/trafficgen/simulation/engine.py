"""The one call into the engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from trafficgen._core import SimulationOutcome, simulate
from trafficgen.progress import has_listener, report_step
from trafficgen.simulation.sources import Schedule


def run_scenario(
    scenario: Mapping[str, object], *, schedules: Sequence[Schedule] = ()
) -> SimulationOutcome:
    """Run a scenario as the engine reads it: seed, links, agents and when it ends.

    Args:
        scenario: The scenario, JSON-compatible.
        schedules: What streams of fitted models want to send; parameters refer to them by their
            number.

    Raises:
        SimulationError: If a link, a route or a parameter is not valid; the message names it.
    """
    config = json.dumps(scenario, allow_nan=False)
    return simulate(config, [schedule.arrays() for schedule in schedules], _teller(scenario))


def _teller(scenario: Mapping[str, object]) -> Callable[[float], None] | None:
    """Return what tells the simulated time, with the last stop where there is one; None where
    nobody listens.
    """
    if not has_listener():
        return None
    agents = scenario["agents"]
    assert isinstance(agents, list)
    stops = [agent.get("stop_s") for agent in agents if agent.get("awaited")]
    end_s = None if None in stops else max(stops, default=None)
    return lambda now_s: report_step(
        "simulating", now_s, None if end_s is None else max(now_s, end_s), unit="simulated s"
    )
