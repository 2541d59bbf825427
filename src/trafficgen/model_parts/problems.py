"""What is wrong with a part of a model or another file, on one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from trafficgen.formatting import describe_value, suggest_name

#: Problems of keys, not of values -> what to say.
_OF_KEYS = {"extra_forbidden": "unknown key", "missing": "it is missing"}
#: Phrases of pydantic -> ours.
_PLAIN = (
    ("Input should be", "it must be"),
    ("Tuple should have", "it must have"),
    ("List should have", "it must have"),
    ("String should have", "it must have"),
    ("Keys should be strings", "keys are texts"),
    ("Dictionary should have", "it must have"),
    ("JSON input should be string, bytes or bytearray", "it must be a text with JSON"),
    ("input was not a valid JSON value", "it must be a value that JSON has"),
    (" or object to extract fields from", ""),
    ("an object", "keys with values"),
    ("a valid dictionary", "keys with values"),
    ("a valid integer", "a whole number"),
    (", got a number with a fractional part", ""),
    ("a valid tuple", "a list"),
    ("a valid array", "a list"),
    ("a valid string", "a text"),
    ("a valid boolean", "true or false"),
    ("a valid", "a"),
    (" after validation", ""),
)
#: Problems whose messages have the value already, or the length of it.
_WITH_VALUE = ("value_error", "too_short", "too_long", "json_invalid", "tag_invalid", "not_found")
#: What Python takes besides the keys of a file.
_CLASS = re.compile(r" or instance of \w+$")
#: Parts of a place that are not keys: the type tried there.
_TYPE = re.compile(r"(tuple|list|union|function-\w+)\[.*\]|\[key\]|str|float|int|bool")
_MOST_PROBLEMS = 10_000
#: Places of further problems that a message names.
_NAMED_PLACES = 5


def describe_problem(error: ValidationError, whole: type[BaseModel]) -> tuple[str, str]:
    """Return the first problem of a ``whole`` with its place, and what to do, or "" if unclear."""
    if error.error_count() > _MOST_PROBLEMS:
        # To list them all takes long.
        return f"{error.error_count():,} of its values are wrong", ""
    first, at, more = _split_problems(error)
    place = f"{at}: " if at else ""
    problem = explain_problem(first)
    if first["type"] not in _OF_KEYS and not first["type"].endswith(_WITH_VALUE):
        problem += f", not {describe_value(first['input'])}"
    if first["type"] in _OF_KEYS:
        keys = _keys_at(whole, [str(part) for part in first["loc"][:-1]])
        is_unknown = first["type"] != "missing"
        problem += suggest_name(str(first["loc"][-1]), keys) if is_unknown else ""
        is_helpful = keys and (is_unknown or len(first["loc"]) > 1)
        return f"{place}{problem}{more}", f"keys there are {', '.join(keys)}" if is_helpful else ""
    before, _, remedy = problem.rpartition("; ")
    return f"{place}{before or problem}{more}", remedy if before else ""


def explain_problem(problem: ErrorDetails) -> str:
    """Return what is wrong in words that need no knowledge of pydantic."""
    if problem["type"] in _OF_KEYS:
        return _OF_KEYS[problem["type"]]
    if problem["type"].startswith("union_tag_"):
        return _explain_tag(problem["ctx"])
    if problem["type"] == "json_invalid":
        return _explain_json(problem["ctx"]["error"])
    message = problem["msg"].removeprefix("Value error, ").partition(", unable to")[0]
    message = _CLASS.sub("", message)
    for prose, plain in _PLAIN:
        message = message.replace(prose, plain)
    return message


def _explain_json(problem: str) -> str:
    """Return where a text is not JSON."""
    place = problem.rpartition(" at ")[2]
    if problem.startswith("EOF"):
        return f"it must be JSON, but the text ends too early, at {place}"
    return f"it must be JSON, but {place} is not"


def _explain_tag(context: dict[str, str]) -> str:
    """Return what is wrong with the key that says what kind of part it is."""
    key = context["discriminator"].strip("'")
    if "tag" not in context:
        return f"{key} is missing, which says what the other keys mean"
    tag, known = context["tag"], re.findall(r"'([^']*)'", context["expected_tags"])
    suggestion = suggest_name(tag, known)
    return f"{key} must be one of {', '.join(known)}, not {describe_value(tag)}{suggestion}"


def _split_problems(error: ValidationError) -> tuple[ErrorDetails, str, str]:
    """Return the first problem of a file, its place, and how many others there are and where."""
    found = error.errors(include_url=False)
    # A list whose items are wrong is reported as too short as well.
    found = [problem for problem in found if problem["type"] != "too_short"] or found
    # A key that is spelt wrong is missing too.
    found.sort(key=lambda problem: problem["type"] == "missing")
    missing = dict.fromkeys(_place_of(one) for one in found if one["type"] == "missing")
    wrong = dict.fromkeys(_place_of(one) for one in found if one["type"] != "missing")
    (first, *others), absent = (list(wrong), list(missing)) if wrong else (list(missing), [])
    more = f" (and {len(others)} more: {_list_places(others)})" if others else ""
    return found[0], first, more + (f"; missing: {_list_places(absent)}" if absent else "")


def _place_of(problem: ErrorDetails) -> str:
    return ".".join(str(key) for key in problem["loc"] if not _TYPE.fullmatch(str(key)))


def _list_places(places: list[str]) -> str:
    return ", ".join([*places[:_NAMED_PLACES], *["..."] * (len(places) > _NAMED_PLACES)])


def _keys_at(whole: type[BaseModel], place: list[str]) -> list[str]:
    """Return the keys that what is at a place may have; none if its kind is unknown."""
    parts = [whole]
    for key in place:
        if len(parts) > 1 and not key.isdecimal():
            parts = [part for part in parts if key in get_args(_keys_of(part).get("kind"))]
        elif len(parts) == 1 and key in (keys := _keys_of(parts[0])):
            parts = list(_parts_in(keys[key]))
    return list(_keys_of(parts[0])) if len(parts) == 1 else []


def _keys_of(part: type[BaseModel]) -> dict[str, Any]:
    """Return the type of each key of a part."""
    fields = part.model_fields.items()
    return {field.alias or name: field.annotation for name, field in fields}


def _parts_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the parts that a type holds: itself, or inside of unions, lists and annotations."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif getattr(annotation, "__origin__", None) is not Literal:
        for inside in get_args(annotation):
            yield from _parts_in(inside)
