"""Published models as data: what the schema refuses, what extends another, what YAML may hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue, TypeAdapter

from trafficgen.errors import ModelFileError
from trafficgen.models import (
    Model,
    Parameter,
    PublishedModel,
    extend,
    leaves,
    model_json_schema,
    model_of,
    read_model,
    save_model,
)

SOURCE = {
    "authors": ["Nichols"],
    "year": 2004,
    "title": "Measurement of Windows Streaming Media",
    "supports": ["all"],
}


def _content(**parts: Any) -> dict[str, Any]:
    """Return a small published model with some parts replaced."""
    content = {
        "name": "a",
        "provenance": {"kind": "published", "citations": [SOURCE]},
        "options": {
            "rate_kbps": {
                "default": 340,
                "choices": [28, 340],
                "description": "Rate.",
                "source": "NIC-S2",
            }
        },
        "mechanism": {
            "kind": "wmedia9",
            "parameters": {"silence_s": {"value": 5.0, "basis": "figure", "source": "NIC-B1"}},
        },
    }
    return content | parts


def _with_parameter(name: str, **parts: Any) -> dict[str, Any]:
    parameter = {"value": 1.0, "basis": "figure", "source": "NIC-B1"} | parts
    return _content(mechanism={"kind": "wmedia9", "parameters": {name: parameter}})


def test_a_published_file_is_told_from_a_fitted_one_by_its_mechanism() -> None:
    assert isinstance(model_of(_content(), file="a"), PublishedModel)
    with pytest.raises(ModelFileError, match="startup: it is missing"):
        model_of(
            {key: part for key, part in _content().items() if key in ("name", "provenance")},
            file="a",
        )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(
            _with_parameter("silence"), "parameters.silence: a number says its unit", id="no-unit"
        ),
        pytest.param(
            _with_parameter("a_s", basis="open", source=None),
            "open needs a reason",
            id="open-no-reason",
        ),
        pytest.param(
            _with_parameter("a_s", basis="derived", reason=" "),
            "needs a reason: the arithmetic",
            id="derived",
        ),
        pytest.param(_with_parameter("a_s", source=None), "figure needs a source", id="no-source"),
        pytest.param(
            _with_parameter("a_s", value="1e6"), "looks like a number", id="number-as-text"
        ),
        pytest.param(
            _with_parameter("a_s", value=[1.0, {"b": "2"}]), "looks like a number", id="nested-text"
        ),
        pytest.param(
            _with_parameter(
                "a_s", value=[{"b_s": 1.0}], parts={"*.c_s": {"basis": "open", "reason": "why"}}
            ),
            "parts.*.c_s names no value of the table",
            id="part-of-nothing",
        ),
        pytest.param(
            _with_parameter("a_s", value=[{"b_s": 1.0}], parts={"*.b_s": {"basis": "open"}}),
            "open needs a reason",
            id="part-without-a-reason",
        ),
        pytest.param(
            _with_parameter("rate_kbps"),
            "options.rate_kbps: rate_kbps is set by mechanism",
            id="set-twice",
        ),
        pytest.param(_content(extra=1), "extra: unknown key", id="unknown-key"),
        pytest.param(_content(schema_version="9"), "schema_version is '9'", id="newer"),
        pytest.param(
            _content(
                options={"a": {"default": 3, "choices": [1, 2], "description": "A.", "source": "X"}}
            ),
            "options.a: 3 is not one of 1, 2",
            id="default-not-among-choices",
        ),
        pytest.param(
            _content(
                options={"a": {"default": True, "high": 2, "description": "A.", "source": "X"}}
            ),
            "options.a: true is not a number",
            id="truth-in-a-range",
        ),
    ],
)
def test_what_the_schema_refuses_is_named(content: dict[str, Any], problem: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        model_of(content, file="a.yaml")
    assert problem in str(caught.value)


def test_a_child_takes_over_what_it_does_not_give_and_leaves_out_what_it_sets_to_null() -> None:
    parent = _content(
        mechanism={
            "kind": "wmedia9",
            "parameters": {
                "silence_s": {
                    "value": 5.0,
                    "basis": "figure",
                    "source": "NIC-B1",
                    "reason": "about 5 s",
                },
                "probe_packets": {"value": 3, "basis": "figure", "source": "NIC-M1"},
                "gap_s": {"value": 0.1, "basis": "figure", "source": "NIC-I1"},
            },
        }
    )
    child = {
        "extends": "a",
        "name": "b",
        "provenance": {"kind": "published", "limitations": ["short"]},
        "options": {"rate_kbps": {"default": 28}},
        "mechanism": {
            "parameters": {
                "silence_s": {"value": 4.0, "basis": "figure", "source": "NIC-B2"},
                "gap_s": None,
            }
        },
    }
    model = model_of(extend(child, parent=parent), file="b")
    assert isinstance(model, PublishedModel)
    assert model.extends is None
    assert model.provenance.citations[0].year == 2004
    assert model.provenance.limitations == ("short",)
    assert model.options["rate_kbps"].default == 28
    assert model.options["rate_kbps"].choices == (28, 340)
    assert set(model.mechanism.parameters) == {"silence_s", "probe_packets"}
    assert model.mechanism.parameters["silence_s"].reason is None  # replaced as a whole


def test_a_file_that_extends_needs_a_parent(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text(json.dumps({"extends": "a", "name": "b"}), encoding="utf-8")
    with pytest.raises(ModelFileError, match="'a' cannot be found here"):
        read_model(file)
    assert read_model(file, parent=lambda _: _content()).name == "b"


def test_a_published_model_written_then_read_is_equal(tmp_path: Path) -> None:
    model = model_of(_content(), file="a")
    save_model(model, tmp_path / "a.json")
    assert read_model(tmp_path / "a.json") == model


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param(
            lambda text: text + "name: again\n", "line 2: 'name' is given twice", id="twice"
        ),
        pytest.param(
            lambda text: text + "b: &x 1\nc: *x\n", "aliases (*x) are not read", id="alias"
        ),
        pytest.param(lambda text: text + "b: 2004-01-01\n", "date", id="date"),
        pytest.param(lambda text: text + "b: .nan\n", "b: nan is not a number of JSON", id="nan"),
        pytest.param(lambda text: text + "b: [1\n", "line 3", id="broken"),
        pytest.param(
            lambda text: text + "b: !!python/object:os.system 1\n",
            "could not determine a constructor",
            id="tag",
        ),
    ],
)
def test_yaml_that_would_lose_something_is_refused(
    tmp_path: Path, change: Callable[[str], str], problem: str
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(change("name: a\n"), encoding="utf-8")
    with pytest.raises(ModelFileError) as caught:
        read_model(file)
    assert problem in str(caught.value)


def test_yaml_and_json_of_the_same_content_are_the_same_model(tmp_path: Path) -> None:
    yaml_file, json_file = tmp_path / "a.yml", tmp_path / "a.json"
    for file in (yaml_file, json_file):
        file.write_text(json.dumps(_content(), indent=1), encoding="utf-8")
    assert read_model(yaml_file) == read_model(json_file)


def test_one_schema_covers_fitted_and_published_models() -> None:
    schema = model_json_schema()
    assert isinstance(schema["$defs"], dict)
    assert {"Model", "PublishedModel"} <= set(schema["$defs"])
    assert schema["anyOf"] == TypeAdapter(Model | PublishedModel).json_schema()["anyOf"]


def test_a_value_of_a_table_has_the_basis_of_the_part_that_names_it_most_closely() -> None:
    rows: JsonValue = [
        {"rate_kbps": 340, "audio_kbps": 40},
        {"rate_kbps": 764, "audio_kbps": 64, "times_s": [1.0, 2.0]},
    ]
    parts = {
        "*.audio_kbps": {"basis": "open", "reason": "not told"},
        "0.audio_kbps": {"basis": "figure", "source": "NIC-S3"},
        "1.times_s": {"basis": "definition", "source": "RFC 3550"},
    }
    parameter = Parameter.model_validate(
        {"value": rows, "basis": "derived", "source": "NIC-S2", "reason": "sums", "parts": parts}
    )
    assert [parameter.basis_of(path) for path, _ in leaves(rows)] == [
        "derived",
        "figure",
        "derived",
        "open",
        "definition",
        "definition",
    ]
    assert parameter.bases == ("derived", "figure", "open", "definition")


def test_the_parts_of_an_empty_or_plain_value_are_itself() -> None:
    plain = Parameter(value=3.0, basis="open", reason="chosen")
    empty = Parameter(value=[], basis="open", reason="chosen")
    assert (plain.bases, empty.bases) == (("open",), ("open",))
