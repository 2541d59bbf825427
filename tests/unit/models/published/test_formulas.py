"""Formulas of published models: what they may be, and what they are refused for."""

from __future__ import annotations

import math
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
        ("= 1 +", "is no formula"),
    ],
)
def test_what_is_no_formula_says_why(formula: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        evaluate_formulas(formula, {**NAMES, "loop": "= loop"})


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
