"""Links and agents of the papers' test beds as the engine reads them, and an agent's log."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import JsonValue

from trafficgen.models.published import parameters_for_engine, with_settings
from trafficgen.reproduction.open_values import entry_of
from trafficgen.simulation.outcome import Outcome
from trafficgen.units import bps_from_kbps, s_from_ns


def link(name: str, rate_kbps: float | None = None, **settings: Any) -> dict[str, Any]:
    """Return a link of a constant rate, or without a limit; others are the engine's settings."""
    capacity = rate_kbps and {"constant": {"rate_bps": bps_from_kbps(rate_kbps)}}
    return {"name": name, "capacity": capacity, **settings}


def player(
    entry: str,
    options: Mapping[str, JsonValue],
    *,
    forward: list[int],
    reverse: list[int],
    name: str = "media",
) -> dict[str, Any]:
    """Return the source of a catalogue entry with its options; the run ends when it ends."""
    model = with_settings(entry_of(entry), options)
    return {
        "name": name,
        "kind": model.mechanism.kind,
        "parameters": parameters_for_engine(model),
        "awaited": True,
        "forward": forward,
        "reverse": reverse,
    }


def bulk_tcp(tcp: Mapping[str, JsonValue] | None, **settings: Any) -> dict[str, Any]:
    """Return a bulk TCP flow with the settings of its TCP; others are the engine's."""
    return {"name": "tcp", "kind": "bulk_tcp", "parameters": {"tcp": dict(tcp or {})}, **settings}


class Event(NamedTuple):
    """A moment in the log of an agent."""

    time_ns: int
    kind: str
    value: float | None
    level: int | None

    @property
    def time_s(self) -> float:
        """Time, s."""
        return s_from_ns(self.time_ns)


class EventLog:
    """Log of an agent of a run; times count from ``zero_ns`` on the engine's clock."""

    def __init__(self, outcome: Outcome, agent: int = 0, *, zero_ns: int = 0) -> None:
        """Read the log."""
        self._events = [
            Event(time_ns - zero_ns, kind, value, level)
            for time_ns, (kind, value, level) in outcome.agents[agent]["events"]
        ]

    def select(self, *kinds: str) -> list[Event]:
        """Return the moments of some kinds in order."""
        return [event for event in self._events if event.kind in kinds]

    def first_s(self, kind: str) -> float:
        """Return when the log first has a kind, s; NaN: never."""
        return next((event.time_s for event in self.select(kind)), math.nan)

    def values(self, *kinds: str) -> list[float]:
        """Return the known values of some kinds in order."""
        return [event.value for event in self.select(*kinds) if event.value is not None]
