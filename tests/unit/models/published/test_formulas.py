"""Formulas of published models: what they may be, and what they are refused for."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import JsonValue

import trafficgen
from trafficgen.models.published.formulas import evaluate_formulas, names_in_formulas

NAMES: dict[str, JsonValue] = {
    "rate_mbps": 30,
    "fps": 60,
    "bytes": "= rate_mbps * 1e6 / 8 / fps",
    "mode": "on",
}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("= bytes / 2", 31_250),
        ("= -2 ** 3", -8),
        ("= exp(1) - sqrt(4) + log(1)", math.e - 2),
        ("= max(fps, rate_mbps) + min(1, 2) + gamma(4)", 67),
        ("= 'a' if mode == 'on' else 'b'", "a"),
        ("= 'a' if mode != 'on' else 'b'", "b"),
        ("no formula", "no formula"),
    ],
)
def test_a_formula_is_computed_from_options_and_other_formulas(formula: str, value: object) -> None:
    assert evaluate_formulas(formula, NAMES) == value
    assert evaluate_formulas({"a": [formula]}, NAMES) == {"a": [value]}


def test_a_key_whose_formula_gives_nothing_is_left_out() -> None:
    assert evaluate_formulas({"a": "= None", "b": None, "c": 1}, {}) == {"b": None, "c": 1}


def test_a_whole_number_stays_one() -> None:
    assert repr(evaluate_formulas("= 8 - 1", {})) == "7"


@pytest.mark.parametrize(
    ("formula", "problem"),
    [
        ("= rate_kbps", "cannot have 'rate_kbps'"),
        ("= open('x')", "cannot have"),
        ("= fps.real", "cannot have"),
        ("= [1][0]", "cannot have"),
        ("= 1 / 0", "cannot be computed"),
        ("= 9 ** 9 ** 9", "cannot be computed"),
        ("= mode + fps", "cannot be computed"),
        ("= loop", "cannot be computed"),
        ("= 1 +", "is not a formula"),
    ],
)
def test_what_is_no_formula_says_why(formula: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        evaluate_formulas(formula, {**NAMES, "loop": "= loop"})


#: Formulas that would take memory or time without end, or that are not numbers.
HOSTILE = {
    "texts of gigabytes": "= 'a' * many",
    "lists of gigabytes": "= rows * many",
    "powers of whole numbers": "= many ** many",
    "no real number": "= (-8) ** 0.5",
    "imaginary": "= 1j",
    "infinite": "= 1e999",
    "overflowing": "= 1e308 * 10",
    "too long": "= " + " + ".join(["1"] * 500),
    "nested": "= " + "(" * 400 + "1" + ")" * 400,
    "signs": "= " + "-" * 900 + "1",
    "digits": "= " + "9" * 900,
    "without a letter": "= \x00",
    "lone surrogate": "= '\ud800' + \ud800",
    "of tables": "= rows",
    "bytes": "= b'a'",
    "true": "= True + True",
    "of no value": "= max()",
    "long words": "= '" + "a" * 900 + "' + 1",
}


@pytest.mark.parametrize("formula", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_formula_is_refused_in_a_short_line(formula: str) -> None:
    names: dict[str, JsonValue] = {"many": "= 1e10", "rows": [1, 2]}
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - each has its own words
        evaluate_formulas(formula, names)
    assert len(str(refused.value)) < 700
    with suppress(ValueError):
        names_in_formulas(formula)


@pytest.mark.parametrize("formula", ["= {0} + {0}", "= max({0}, {0})"])
@pytest.mark.parametrize("listed", [False, True])
def test_formulas_of_formulas_take_no_exponential_time(formula: str, *, listed: bool) -> None:
    names: dict[str, JsonValue] = {"v0": 1}
    for number in range(1, 60):
        text = formula.format(f"v{number - 1}")
        names[f"v{number}"] = [text, text] if listed else text
    began_s = time.process_time()
    with suppress(ValueError):
        evaluate_formulas("= v59", names)
    assert time.process_time() - began_s < 1


def test_names_are_those_of_all_formulas_in_a_table() -> None:
    table: JsonValue = {"a": ["= rate_mbps / exp(fps)", "plain"], "b": 3}
    assert names_in_formulas(table) == {"rate_mbps", "fps"}


def test_a_wrong_formula_in_a_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(
        "extends: xr_3gpp38838_pose\nname: own\nmechanism:\n  parameters:\n"
        "    budget_s: {value: = pdb / 1000, basis: derived, source: S, reason: R}\n"
    )
    with pytest.raises(trafficgen.ModelFileError, match="a formula cannot have 'pdb'"):
        trafficgen.load_model(file)
