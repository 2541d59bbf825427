"""`help()` of a public function says what each of its arguments is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import pytest

import trafficgen

#: Words of the command line, and where they may be: in a command, or a sentence about it.
FLAG = re.compile(r"(?<![\w-])(--[a-z]|-[a-z]\b)|\bOUT\b(?!\.)|\bthe command\b")
QUOTED = re.compile(r"`+trafficgen [^`]*`|From the command line[^.]*\.|Example:.*", re.S | re.I)

FUNCTIONS = [
    name
    for name in trafficgen.__all__
    if inspect.isfunction(function := getattr(trafficgen, name))
    and hasattr(function, "other_names")
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_option_has_a_line_in_the_help(name: str) -> None:
    function = getattr(trafficgen, name)
    arguments = (inspect.getdoc(function) or "").partition("Args:\n")[2].partition("\n\n")[0]
    lines = arguments.split("\n")
    described = {line.strip().partition(":")[0] for line in lines if line[4:5] != " "}
    assert described == set(inspect.signature(function).parameters)
    assert all(line.partition(":")[2].strip() for line in lines if line[4:5] != " ")
    assert "options: See" not in arguments


def _help_texts(thing: object) -> Iterator[str]:
    """Yield the help of a function, or of a class and its members."""
    yield inspect.getdoc(thing) or ""
    for part in inspect.getmro(thing) if isinstance(thing, type) else ():
        if part.__module__.startswith("trafficgen."):
            yield from (
                inspect.getdoc(member) or ""
                for name, member in vars(part).items()
                if not name.startswith("_") and (callable(member) or isinstance(member, property))
            )


@pytest.mark.parametrize("name", [name for name in trafficgen.__all__ if name != "__version__"])
def test_help_has_words_of_the_command_line_in_commands_alone(name: str) -> None:
    for text in _help_texts(getattr(trafficgen, name)):
        assert not FLAG.search(QUOTED.sub("", text)), text
        assert "[--" not in text
