"""The one call into the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping

from trafficgen._core import SimulationOutcome, simulate


def run_scenario(scenario: Mapping[str, object]) -> SimulationOutcome:
    """Run a scenario as the engine reads it: seed, links, agents and when it ends.

    Raises:
        SimulationError: If a link, a route or a parameter is not valid; the message names it.
    """
    return simulate(json.dumps(scenario, allow_nan=False))
