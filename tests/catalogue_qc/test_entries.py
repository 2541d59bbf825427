"""Every entry accounts for its numbers, and a second derivation agrees with those that papers
give.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from trafficgen.models import (
    Parameter,
    PublishedModel,
    TablePart,
    has_unit,
    leaves,
    read_yaml,
    same_value,
)
from trafficgen.models.published import (
    entry_digest,
    entry_names,
    load_entry,
    parameters_for_engine,
    values_of,
)
from trafficgen.models.published.formulas import evaluate_formulas, names_in_formulas

HERE = Path(__file__).parent
FINDING_IDS = frozenset((HERE / "finding_ids.txt").read_text(encoding="utf-8").split())
DERIVED = HERE / "derived"
_ID = re.compile(r"\b(?:CCZ|BMW|NIC|LJM|CTX)-[A-Z]*\d+(?:\.\d+)?")
_ROUNDING = 1e-9


def _derivations(entry: str) -> list[dict[str, Any]]:
    """Return what the second derivation of an entry says; nothing where there is none yet.

    An item ``like`` stands for those of another entry, as far as this one has no other.
    """
    file = DERIVED / f"{entry}.yaml"
    read = read_yaml(file.read_text(encoding="utf-8")) if file.exists() else []
    assert isinstance(read, list), f"{file.name} is not a list"
    own: list[dict[str, Any]] = [one for one in read if "like" not in one]
    paths = {one["path"] for one in own}
    others = [_derivations(one["like"]) for one in read if "like" in one]
    return [*own, *(one for other in others for one in other if one["path"] not in paths)]


def _value_at(model: PublishedModel, path: str) -> Any:
    """Return the value at a path such as ``clips.0.playback_kbps``; formulas are computed."""
    name, *inside = path.split(".")
    if name in model.options:
        value: Any = model.options[name].default
    else:
        value = model.mechanism.parameters[name].value
    for key in inside:
        value = value[int(key)] if isinstance(value, list) else value[key]
    return evaluate_formulas(value, values_of(model))


def _agrees(model: PublishedModel, derivation: dict[str, Any]) -> bool:
    value = _value_at(model, derivation["path"])
    if "value" in derivation:
        expected: Any = evaluate_formulas(derivation["value"], values_of(model))
        numbers = all(
            isinstance(one, int | float) and not isinstance(one, bool) for one in (value, expected)
        )
        return (
            abs(value - expected) <= _ROUNDING * abs(expected)
            if numbers
            else same_value(value, expected)
        )
    return bool(derivation["low"] <= value <= derivation["high"])


def _places(parameter: Parameter) -> list[str]:
    """Return where a parameter has values: inside a table each of its own, else in one place, the
    empty path.
    """
    paths = [path for path, _ in leaves(parameter.value)]
    is_table = any(not key.isdigit() for path in paths for key in path.split(".") if key)
    return paths if is_table else [""]


def _accounts(parameter: Parameter) -> list[Parameter | TablePart]:
    """Return a parameter and the parts of its table, each of which has a basis."""
    return [parameter, *parameter.parts.values()]


@pytest.mark.parametrize("name", entry_names())
def test_numbers_of_an_entry_have_a_basis_and_a_source(name: str) -> None:
    entry = load_entry(name)
    assert entry.provenance.citations
    assert entry.provenance.limitations, "no source is without limits; state them"
    for key, option in entry.options.items():
        assert option.description.strip(), key
        assert option.source.strip(), key
        assert option.unit or has_unit(key) or not isinstance(option.default, float), key
    for key, parameter in entry.mechanism.parameters.items():
        for one in _accounts(parameter):
            assert one.reason if one.basis == "open" else one.source, key


@pytest.mark.parametrize("name", entry_names())
def test_findings_that_an_entry_cites_exist(name: str) -> None:
    entry = load_entry(name)
    texts = [option.source for option in entry.options.values()]
    for parameter in entry.mechanism.parameters.values():
        for one in _accounts(parameter):
            texts += [one.source or "", one.reason or ""]
    cited = {found for text in texts for found in _ID.findall(text)}
    assert cited - FINDING_IDS == set()


@pytest.mark.parametrize("name", entry_names())
def test_figures_of_an_entry_agree_with_a_second_derivation(name: str) -> None:
    entry = load_entry(name)
    wrong = [
        f"{one['path']}: {_value_at(entry, one['path'])!r} in the entry, {one} derived"
        for one in _derivations(name)
        if not _agrees(entry, one)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", entry_names())
def test_the_review_of_an_entry_is_what_it_was_derived_from_a_second_time(name: str) -> None:
    entry = load_entry(name)
    figures = {
        f"{key}.{path}" if path else key
        for key, parameter in entry.mechanism.parameters.items()
        for path in _places(parameter)
        if parameter.basis_of(path) == "figure"
    }
    derivations = _derivations(name)
    missing = figures - {one["path"] for one in derivations}
    cited = {one["path"] for one in derivations if one.get("cited")}
    if not derivations or missing:
        expected = "provisional"
    else:
        expected = "second-hand" if cited else "reviewed"
    assert entry.provenance.review == expected, f"not derived a second time: {sorted(missing)}"


def test_second_derivations_are_of_entries_and_say_where_they_come_from() -> None:
    for file in DERIVED.glob("*.yaml"):
        assert file.stem in entry_names()
        for one in _derivations(file.stem):
            assert one["from"].strip(), f"{file.name}: {one['path']}"
            assert ("value" in one) != ({"low", "high"} <= set(one)), f"{file.name}: {one['path']}"


def test_entries_are_distinguishable_by_their_digests() -> None:
    digests = [entry_digest(load_entry(name)) for name in entry_names()]
    assert len(set(digests)) == len(digests) > 0


@pytest.mark.parametrize("name", entry_names())
def test_every_parameter_reaches_the_engine_under_one_name(name: str) -> None:
    entry = load_entry(name)
    targets = [target for key, option in entry.options.items() for target in option.sets or (key,)]
    values = {*targets, *entry.mechanism.parameters}
    inputs = names_in_formulas([*values_of(entry).values()])
    assert inputs <= values, "a formula names what there is"
    assert set(parameters_for_engine(entry)) == values - inputs
