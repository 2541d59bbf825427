"""What is wrong with a part of a model or another file, on one line."""

from __future__ import annotations

import re

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from trafficgen.formatting import describe_value, suggest_name

#: Problems of keys, not of values -> what to say.
PROBLEMS_OF_KEYS = {"extra_forbidden": "unknown key", "missing": "it is missing"}
#: Phrases of pydantic -> ours.
_PLAIN = (
    ("Input should be", "it must be"),
    ("Tuple should have", "it must have"),
    ("List should have", "it must have"),
    ("String should have", "it must have"),
    ("a valid dictionary", "keys with values"),
    ("a valid integer", "a whole number"),
    ("a valid", "a"),
    (" after validation", ""),
)
#: What Python takes besides the keys of a file.
_CLASS = re.compile(r" or instance of \w+$")
_MOST_PROBLEMS = 10_000
#: Places of further problems that a message names.
_NAMED_PLACES = 5


def describe_problems(error: ValidationError) -> str:
    """Return the place of the first problem, what it is, and where others are."""
    if error.error_count() > _MOST_PROBLEMS:
        # To list so many takes long.
        return f"the file as a whole: {error.error_count():,} of its values are wrong"
    first, place, more = split_problems(error)
    return f"{place}: {explain_problem(first)}{more}"


def explain_problem(problem: ErrorDetails) -> str:
    """Return what is wrong in words that need no knowledge of pydantic."""
    if problem["type"] in PROBLEMS_OF_KEYS:
        return PROBLEMS_OF_KEYS[problem["type"]]
    if problem["type"].startswith("union_tag_"):
        return _explain_tag(problem["ctx"])
    message = problem["msg"].removeprefix("Value error, ").partition(", unable to")[0]
    for prose, plain in _PLAIN:
        message = message.replace(prose, plain)
    return _CLASS.sub("", message)


def _explain_tag(context: dict[str, str]) -> str:
    """Return what is wrong with the key that says what kind of part it is."""
    key = context["discriminator"].strip("'")
    if "tag" not in context:
        return f"{key} is missing, which says what the other keys mean"
    tag, known = context["tag"], re.findall(r"'([^']*)'", context["expected_tags"])
    suggestion = suggest_name(tag, known)
    return f"{key} must be one of {', '.join(known)}, not {describe_value(tag)}{suggestion}"


def split_problems(error: ValidationError) -> tuple[ErrorDetails, str, str]:
    """Return the first problem of a file, its place, and how many others there are and where."""
    found = error.errors(include_url=False, include_input=False)
    # A list whose items are wrong is reported as too short as well.
    found = [problem for problem in found if problem["type"] != "too_short"] or found
    # A key that is spelt wrong is missing too.
    found.sort(key=lambda problem: problem["type"] == "missing")
    places = [".".join(map(str, one["loc"])) or "the file as a whole" for one in found]
    rest = len(found)
    if found[0]["type"] != "missing":
        rest = sum(one["type"] != "missing" for one in found)
    others = [place for place in dict.fromkeys(places[1:rest]) if place != places[0]]
    more = f" (and {rest - 1} more{': ' * bool(others)}{_list_places(others)})" if rest > 1 else ""
    missing = f"; missing: {_list_places(places[rest:])}" if places[rest:] else ""
    return found[0], places[0], f"{more}{missing}"


def _list_places(places: list[str]) -> str:
    return ", ".join([*places[:_NAMED_PLACES], *["..."] * (len(places) > _NAMED_PLACES)])
