"""`help()` of a public function says what each of its arguments is."""

from __future__ import annotations

import inspect

import pytest

import trafficgen

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
