"""Wrong values in parts of models, paths and workloads: one plain line with key and value."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import trafficgen
from trafficgen.model_parts.estimate import ModelPart
from trafficgen.simulation.path import PathLink, Queue

WRONG = [None, 5, -1, 1.5, True, "x", b"x", [], [5], {}, {"a": 1}, {1: 2}, object(), float("nan")]
#: Words of pydantic and of Python, and places that are not keys.
NOT_PLAIN = re.compile(
    r"\n|pydantic|validation error|[Ii]nput (should|was)|extra_|tuple|valid (string|dict|int|tuple)"
    r"|instance of|type=|NoneType|[Ff]ield required|file as a whole|\[key\]|union|a array|should be"
)
#: Bases without fields of their own.
BASES = ("ModelPart", "ChoicePart", "KindPart", "FamilyPart", "VariedPart")


def _parts(base: type[ModelPart] = ModelPart) -> Iterator[type[ModelPart]]:
    for part in base.__subclasses__():
        if part.__name__ not in BASES and part.__module__.startswith("trafficgen."):
            yield part
        yield from _parts(part)


for _module in pkgutil.walk_packages(trafficgen.__path__, "trafficgen."):
    if _module.name.split(".")[1] in ("models", "workloads", "simulation", "reproduction"):
        importlib.import_module(_module.name)
PARTS = {part.__name__: part for part in _parts()}


def _message_of(check: Callable[[Any], object], content: object) -> str | None:
    """Return what is said of some content; None where it is taken."""
    try:
        check(content)
    except (ValueError, trafficgen.ModelFileError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", PARTS)
def test_a_wrong_value_of_any_key_is_one_plain_line(name: str) -> None:
    part: Any = PARTS[name]
    doors = {
        "class": lambda content: part(**content),
        "values": part.model_validate,
        "texts": part.model_validate_strings,
    }
    contents = [{key: value} for key in (*part.model_fields, "nope") for value in WRONG]
    for door, check in doors.items():
        for content in contents if door == "class" else [*contents, *WRONG]:
            message = _message_of(check, content)
            assert message is None or message.startswith(f"{name}: "), (door, content)
            assert message is None or not NOT_PLAIN.search(message), (door, content)
    with pytest.raises((ValueError, trafficgen.ModelFileError), match="it must be JSON"):
        part.model_validate_json("{")
    with pytest.raises(TypeError, match=f"^{name} takes its keys by name: "):
        part(5)


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        (trafficgen.Path, 5, "Path: it must be keys with values, not 5"),
        (trafficgen.Path, {"links": 5}, "Path: links: it must be a list, not 5"),
        (
            trafficgen.Path,
            {"links": [{"delay_s": -1}]},
            "Path: links.0.delay_s: it must be greater than or equal to 0, not -1",
        ),
        (
            trafficgen.Path,
            {"links": [{"dely_s": 1}], "acces_bps": 1},
            "Path: links.0.dely_s: unknown key (did you mean delay_s?) (and 1 more: acces_bps)",
        ),
        (PathLink, {"delay_s": "soon"}, "PathLink: delay_s: it must be a number, not 'soon'"),
        (PathLink, {"aqm": "cdel", "rate_bps": 1.0}, "PathLink: aqm: it must be 'red', 'pie', "),
        (
            PathLink,
            {"queue": {"packets": 9}},
            "PathLink: queue needs rate_bps, steps or trace; add rate_bps=...",
        ),
        (Queue, {}, "Queue: a queue has one limit; give packets=80 or size_bytes=10_000"),
    ],
)
def test_what_is_wrong_and_what_to_give(part: Any, content: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        part.model_validate(content)
