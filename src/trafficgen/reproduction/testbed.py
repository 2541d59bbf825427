"""Test beds of the papers for the engine, an agent's log, and values that the papers leave open."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, JsonValue

from trafficgen.models.published import load_entry, parameters_for_engine, with_settings
from trafficgen.models.published_model import Parameter, PublishedModel, leaves
from trafficgen.simulation.outcome import Outcome
from trafficgen.units import bps_from_kbps, s_from_ns

Part = TypeVar("Part", bound=BaseModel)
#: Name of an open value -> factor by which it is moved.
Moves = Mapping[str, float]

#: Tables that describe many clips at once, which experiments read before a setting is known.
_KEPT = ("playlist",)
_COMPETING_TCP = "competing_tcp"
_SHARE = re.compile(r"(_share|_loss|_probability)(\.|$)")

_moved: dict[str, PublishedModel] = {}


def entry_of(name: str) -> PublishedModel:
    """Return a catalogue entry, moved where :func:`with_moves` says so."""
    return _moved.get(name) or load_entry(name)


@contextmanager
def with_moves(entries: Iterable[str], moves: Moves) -> Iterator[None]:
    """Let :func:`entry_of` return entries whose open values are moved, in this process."""
    _moved.update({name: move_values(load_entry(name), moves) for name in entries if moves})
    try:
        yield
    finally:
        _moved.clear()


def list_open_values(entries: Iterable[str]) -> tuple[str, ...]:
    """List the numbers of entries that the papers leave open, such as ``clear_s``.

    Numbers of one column are one value, ``clips.*.audio_kbps``, and so are those of one list.
    """
    found: dict[str, None] = {}
    for name in entries:
        for parameter, one in _parameters(load_entry(name)).items():
            for path, value in leaves(one.value):
                if _is_number(value) and one.basis_of(path) == "open":
                    found[_name(parameter, path)] = None
    return tuple(found)


def move_values(model: PublishedModel, moves: Moves) -> PublishedModel:
    """Return an entry whose open values are moved by factors; a share is at most 1."""
    moved = {
        name: _replace(one, {"value": _move(one, name, one.value, "", moves)})
        for name, one in _parameters(model).items()
    }
    changes: dict[str, object] = {_COMPETING_TCP: moved.pop(_COMPETING_TCP, None)}
    parameters = {**model.mechanism.parameters, **moved}
    changes["mechanism"] = _replace(model.mechanism, {"parameters": parameters})
    return _replace(model, changes)


def _parameters(model: PublishedModel) -> dict[str, Parameter]:
    parameters = {
        name: one for name, one in model.mechanism.parameters.items() if name not in _KEPT
    }
    tcp = model.competing_tcp
    return parameters if tcp is None else {**parameters, _COMPETING_TCP: tcp}


def _move(parameter: Parameter, name: str, value: JsonValue, path: str, moves: Moves) -> JsonValue:
    if isinstance(value, dict):
        return {
            key: _move(parameter, name, one, _join(path, key), moves) for key, one in value.items()
        }
    if isinstance(value, list):
        return [
            _move(parameter, name, one, _join(path, str(key)), moves)
            for key, one in enumerate(value)
        ]
    key = _name(name, path)
    if key not in moves or not _is_number(value) or parameter.basis_of(path) != "open":
        return value
    return _scale(cast("float", value), moves[key], key)


def _scale(value: float, factor: float, name: str) -> float:
    """Return a moved number; a whole one moves by 1 at least, and stays above 0 if it was."""
    if isinstance(value, int):
        step = 0 if factor == 1 else 1 if factor > 1 else -1
        moved = round(value * factor)
        return max(moved if moved != value else value + step, min(value, 1))
    scaled = value * factor
    return min(scaled, 1.0) if _SHARE.search(name) and value <= 1 else scaled


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value != 0


def _name(parameter: str, path: str) -> str:
    return _join(parameter, re.sub(r"(?<![^.])\d+(?![^.])", "*", path))


def _join(head: str, tail: str) -> str:
    return f"{head}.{tail}" if head and tail else head or tail


def _replace(part: Part, changes: Mapping[str, object]) -> Part:
    """Return a part with values that are right already."""
    return BaseModel.model_copy(part, update=changes)


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
