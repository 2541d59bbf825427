"""JSON of strangers: what Python's reader lets pass or stumbles over is refused with its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trafficgen.json_text import MOST_LEVELS, JsonTextError, read_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
def test_what_json_can_say_is_read_as_it_is(value: object) -> None:
    assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1,\n "b": }', "line 2, column 7: it is not valid JSON"),
        ("", "line 1, column 1: it is not valid JSON"),
        ('{"a": {"b": 1, "c": 2, "b": 3}}', 'the key "b" is given twice'),
        ('{"a": [0.5, NaN]}', "a.1: nan is not a number of JSON"),
        ('{"a": {"b": -Infinity}}', "a.b: -inf is not a number of JSON"),
        ('{"a": 1e999}', "a: inf is not a number of JSON"),
        ("1e999", "the file as a whole: inf"),
        ('{"a": ' + "9" * 5000 + "}", "a whole number of thousands of digits"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("[" * (MOST_LEVELS + 1) + "]" * (MOST_LEVELS + 1), "nested too deeply"),
    ],
)
def test_what_no_file_of_ours_holds_is_refused(text: str, problem: str) -> None:
    with pytest.raises(JsonTextError, match=problem.replace("[", r"\[")):
        read_json(text)


def test_as_many_levels_as_are_allowed_are_read() -> None:
    assert read_json("[" * MOST_LEVELS + "]" * MOST_LEVELS) is not None
