"""From a path and those who take part in it to what the engine reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trafficgen.errors import SimulationError
from trafficgen.simulation.links import Links
from trafficgen.simulation.path import Path
from trafficgen.simulation.sources import Participant, Schedule

#: Competitors go on for so long after the last session has ended, so that its last packets meet
#: them too.
RUN_ON_S = 1.0
#: A session that does not end by itself is cut off here after its start, s.
LONGEST_SESSION_S = 6 * 3600.0


@dataclass(frozen=True)
class Scenario:
    """What the engine runs.

    Attributes:
        config: Scenario without schedules, JSON-compatible.
        schedules: Schedules that parameters refer to by their number.
        participants: Who takes part, in the engine's order.
        path: The path.
        path_rate_bps: Mean capacity of its narrowest link towards the client, bit/s; None: no
            limit.
        end_s: When it is cut off at the latest, s.
    """

    config: dict[str, object]
    schedules: tuple[Schedule, ...]
    participants: tuple[Participant, ...]
    path: Path
    path_rate_bps: float | None
    end_s: float


def build_scenario(
    path: Path,
    sessions: Sequence[Participant],
    competitors: Sequence[Participant],
    *,
    seed: int,
    most_packets: int | None = None,
) -> Scenario:
    """Return the scenario of some sessions beside competitors on one path.

    Sessions come first, so that a competitor more or less does not change the random numbers of a
    session. More than ``most_packets`` are then not simulated; None: as many as the engine has room
    for.

    Raises:
        SimulationError: If two names are equal, or TCP would have nothing to limit it.
        InputFileError: If a trace of the path cannot be used.
    """
    taking_part = (*sessions, *competitors)
    _check_names(taking_part)
    links = Links.of(path)
    if links.rate_bps is None:
        _check_limited(taking_part)
    agents = []
    schedules: list[Schedule] = []
    for one in taking_part:
        forward, reverse = links.route(one.name)
        parameters = dict(one.source.parameters)
        if one.source.schedules:
            parameters["first_schedule"] = len(schedules)
            schedules += one.source.schedules
        agents.append(
            {
                "name": one.name,
                "kind": one.source.kind,
                "parameters": parameters,
                "start_s": one.start_s,
                "stop_s": one.stop_s,
                "awaited": one.is_session,
                "forward": forward,
                "reverse": reverse,
            }
        )
    end_s = max(one.start_s for one in sessions) + LONGEST_SESSION_S
    config: dict[str, object] = {
        "seed": seed,
        "links": links.configs,
        "agents": agents,
        "run_on_s": RUN_ON_S,
        "end_s": end_s,
        "most_packets": most_packets,
    }
    return Scenario(config, tuple(schedules), tuple(taking_part), path, links.rate_bps, end_s)


def _check_names(taking_part: Sequence[Participant]) -> None:
    names = [one.name for one in taking_part]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SimulationError(f"two flows are named {twice!r}; choose other names")


def _check_limited(taking_part: Sequence[Participant]) -> None:
    if any(
        one.source.kind == "bulk_tcp" and one.source.parameters.get("bytes") is None
        for one in taking_part
    ):
        raise SimulationError(
            "a bulk TCP flow takes all there is, and the path has no limit; add rate=... to the"
            " path"
        )
