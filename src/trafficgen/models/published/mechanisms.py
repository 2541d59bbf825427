"""What the state machines of the simulation take, and the check of a model against it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache

from trafficgen._core import simulate
from trafficgen.errors import SimulationError
from trafficgen.models import PublishedModel, format_value
from trafficgen.models.published.settings import parameters_for_engine
from trafficgen.quantity_bounds import check_numbers

_NO_NAME = "?"
_TYPES = {
    "f64": "a number",
    "u8": "a whole number from 0 to 255",
    "u16": "a whole number from 0 to 65535",
    "u32": "a whole number from 0 on",
    "u64": "a whole number from 0 on",
    "usize": "a whole number from 0 on",
    "i64": "a whole number",
    "a boolean": "true or false",
    "a sequence": "a list",
    "a map": "a table",
}


@cache
def parameter_names(kind: str) -> tuple[str, ...]:
    """Return the parameters that a mechanism takes, in its order; empty: an unknown mechanism."""
    # The engine answers an unknown parameter with those that it knows.
    problem = _engine_problem(kind, {_NO_NAME: None})
    return tuple(re.findall(r"`(\w+)`", problem)) if problem.startswith("unknown field") else ()


def check_mechanism(model: PublishedModel) -> None:
    """Check that the engine can play a published model as it is.

    Raises:
        ValueError: If its mechanism is unknown, or a parameter is unknown, missing or has a value
            that it cannot have; the message names the key and what to write there.
    """
    kind, names = model.mechanism.kind, parameter_names(model.mechanism.kind)
    if not names:
        raise ValueError(f"mechanism.kind: the simulation has no mechanism {kind!r}")
    _check_bounds(model)
    values, places = parameters_for_engine(model), _places(model)
    for name, value in values.items():
        _check_numbers(places[name], value, name, None)
    unknown = [name for name in values if name not in names]
    if unknown:
        raise ValueError(
            f"{places[unknown[0]]}: the mechanism {kind} has no parameter {unknown[0]!r}; it has"
            f" {', '.join(names)}{_advise_sets(unknown[0], names)}"
        )
    problem = _engine_problem(kind, values)
    missing = _missing_field(problem)
    if missing in names and missing not in values:
        raise ValueError(
            f"mechanism.parameters.{missing}: missing; add its value, basis and source, or an"
            " option that sets it"
        )
    if problem:
        key = _wrong_parameter(kind, values, problem)
        raise ValueError(f"{places.get(key, 'mechanism.parameters')}: {_plain(problem)}")
    _check_competing_tcp(model)


def _advise_sets(option: str, names: Sequence[str]) -> str:
    """Return what an option in kbit/s lacks that sets a parameter in bit/s; empty: nothing."""
    parameter = option.removesuffix("_kbps") + "_bps"
    is_of = option.endswith("_kbps") and parameter in names
    return f"; an option of kbit/s needs `sets: [{parameter}]`" if is_of else ""


def _check_bounds(model: PublishedModel) -> None:
    """Raise ValueError for an option or a parameter with a number that no quantity has."""
    for name, option in model.options.items():
        _check_numbers(f"options.{name}", option.default, name, option.unit)
    for name, parameter in model.mechanism.parameters.items():
        _check_numbers(f"mechanism.parameters.{name}", parameter.value, name, parameter.unit)
    if model.competing_tcp is not None:
        _check_numbers("competing_tcp", model.competing_tcp.value, "", None)


def _check_numbers(place: str, value: object, name: str, unit: str | None) -> None:
    try:
        check_numbers(value, name, unit)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def _check_competing_tcp(model: PublishedModel) -> None:
    if model.competing_tcp is None:
        return
    value = model.competing_tcp.value
    if not isinstance(value, dict):
        raise ValueError(f"competing_tcp: must be a table, not {format_value(value)}")
    if problem := _engine_problem("bulk_tcp", {"tcp": value}):
        raise ValueError(f"competing_tcp: {_plain(problem)}")


def find_problem(kind: str, parameters: Mapping[str, object]) -> str:
    """Return which parameter of a source the engine does not take, and why; empty: it takes all."""
    for name, value in parameters.items():
        if isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
            return f"{name} is {value}; give a finite number"
    problem = _engine_problem(kind, parameters)
    key = _wrong_parameter(kind, parameters, problem)
    return f"{key}: {_plain(problem)}" if key and not problem.startswith(key) else _plain(problem)


def _engine_problem(kind: str, parameters: Mapping[str, object]) -> str:
    """Return why the engine does not take the parameters of a source; empty: it takes them."""
    # The source would start after the end, so that nothing is played.
    agent = {"name": _NO_NAME, "kind": kind, "parameters": parameters, "start_s": 1}
    try:
        simulate(json.dumps({"seed": 0, "links": [], "agents": [agent], "end_s": 0}))
    except SimulationError as error:
        return str(error.args[0]).removeprefix(f'agent "{_NO_NAME}": ')
    return ""


def _places(model: PublishedModel) -> dict[str, str]:
    """Return where in the file each parameter of the mechanism has its value."""
    places = {name: f"mechanism.parameters.{name}" for name in model.mechanism.parameters}
    for name, option in model.options.items():
        places |= dict.fromkeys(option.sets or (name,), f"options.{name}")
    return places


def _missing_field(problem: str) -> str:
    found = re.fullmatch(r"missing field `(\w+)`", problem)
    return found[1] if found else ""


def _wrong_parameter(kind: str, values: Mapping[str, object], problem: str) -> str:
    """Return the parameter that a problem is about; empty if it is not known."""
    named = re.match(r"(\w+) ", problem)
    if named and named[1] in values:
        return named[1]
    if not re.match(r"(missing|unknown|invalid) ", problem):
        return ""
    # The engine stops at the first value that it cannot read: without it the answer is another.
    for name in values:
        others = {key: value for key, value in values.items() if key != name}
        if _engine_problem(kind, others) != problem:
            return name
    return ""


def _plain(problem: str) -> str:
    """Return a problem of the engine in the words of the model file."""
    if missing := _missing_field(problem):
        return f"{missing} is missing"
    found = re.fullmatch(
        r"(?:unknown|invalid) (\w+):? (.*), expected (?:one of )?(.*)", problem.replace("`", "")
    )
    if found is None:
        return problem
    what, value, expected = found.groups()
    if what == "field":
        return f"unknown key {value}; use {expected}"
    return (
        f"{value} is not {'one of ' if what == 'variant' else ''}{_TYPES.get(expected, expected)}"
    )
