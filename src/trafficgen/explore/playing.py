"""From what was asked to what the page shows: the result of `trafficgen simulate --json`, and how
to get it again.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

from trafficgen.errors import ExploreError, TrafficgenError, TrafficgenWarning
from trafficgen.explore.asked import Asked
from trafficgen.models import PublishedModel
from trafficgen.simulation import SimulationResult
from trafficgen.simulation.simulate import run_sessions, sources_of

#: Packets after which a simulation is given up: about three seconds of work, and memory of 300 MB.
MOST_PACKETS = 2_000_000


def play(asked: Asked, *, most_packets: int = MOST_PACKETS) -> dict[str, Any]:
    """Return the result of a simulation with the commands that print it and what is odd about it.

    Raises:
        ExploreError: If it cannot be simulated, or is too long; the control is named where the
            message does.
    """
    try:
        # One simulation runs at a time, so that no other thread of ours meets the filters of this
        # block.
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TrafficgenWarning)
            result = _simulated(asked, most_packets=most_packets)
    except TrafficgenError as error:
        message = str(error).removeprefix('agent "media": ')
        raise ExploreError(message, control=_control_of(message, asked)) from error
    odd = [str(one.message) for one in caught]
    if result.arrivals_s == (0.0, 0.0):
        odd.append("no media packet reached the client, so that rates and delays are unknown")
    return {**result.to_dict(), "commands": asked.commands, "odd": odd}


def _simulated(asked: Asked, *, most_packets: int) -> SimulationResult:
    run, notes = run_sessions(
        sources_of(asked.offer.model, asked.settings, duration_s=asked.duration_s, seed=asked.seed),
        path=asked.path,
        compete=asked.compete,
        seed=asked.seed,
        duration_s=asked.duration_s,
        most_packets=most_packets,
    )
    return SimulationResult(run, notes)


def _control_of(message: str, asked: Asked) -> str | None:
    """Return the option that an error of the engine is about, where it names one."""
    if not isinstance(asked.offer.model, PublishedModel):
        return None
    named = [
        name for name in asked.offer.model.options if re.search(rf"\b{re.escape(name)}\b", message)
    ]
    return f"set.{named[0]}" if named else None
