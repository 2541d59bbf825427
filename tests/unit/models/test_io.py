"""The text of a model file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import trafficgen
from trafficgen.errors import ModelFileError
from trafficgen.models import io
from trafficgen.models.io import read_yaml
from trafficgen.processes.frames.model import GroupOfPictures


def test_short_parts_stand_on_one_line_and_long_ones_are_indented() -> None:
    points = [{"p": number / 1000, "value": 1.5} for number in range(12)]
    value = {
        "name": "a",
        "law": {"family": "quantiles", "quantiles": points, "atoms": []},
        "text": "x" * 200,
    }
    text = io._text(value, indent=0, before=0)
    assert json.loads(text) == value
    lines = text.splitlines()
    assert lines[0] == "{"
    assert lines[1] == ' "name": "a",'
    assert max(len(line) for line in lines if "xxx" not in line) <= 120
    assert sum('"p"' in line for line in lines) < 6


@pytest.mark.parametrize("name", ["model.json", "model.yaml"])
def test_a_file_larger_than_any_model_is_refused_by_its_beginning(
    tmp_path: Path, name: str
) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(10**12)  # as long as a disk, and empty
    with pytest.raises(
        ModelFileError, match=r"is larger than 4,000,000 bytes; give a file made by"
    ):
        io.read_model(tmp_path / name)


@pytest.mark.parametrize("number", ["5e-06", "1E6", "-2e+3", "1.5e-07", ".5e1", "7"])
def test_yaml_reads_numbers_as_json_does(number: str) -> None:
    assert read_yaml(f"a: {number}") == {"a": float(number)}


@pytest.mark.parametrize("text", ["'5e-06'", "12e", "e5", "5e", "1e5x"])
def test_yaml_takes_for_text_what_is_no_number(text: str) -> None:
    assert read_yaml(f"a: {text}") == {"a": text.strip("'")}


def test_a_list_of_nothing_but_mistakes_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    file.write_text('{"schema_version": "1", "streams": [' + "1, " * 20_000 + "1]}")
    with pytest.raises(ModelFileError, match=r"model\.json: 20,006 of its values are wrong; see"):
        io.read_model(file)


@pytest.mark.parametrize("field", ["first_key_frame", "reference_period", "reference_position"])
def test_numbers_of_frames_that_no_session_has_are_refused(field: str) -> None:
    content = {"distances": ({"frames": 50, "share": 1.0},), "first_key_frame": 0, field: 10**400}
    with pytest.raises(ValueError, match="less than or equal to 2147483647"):
        GroupOfPictures.model_validate(content)
    with pytest.raises(ValueError, match="less than or equal to 2147483647"):
        GroupOfPictures.model_validate(
            {"distances": ({"frames": 10**400, "share": 1.0},), "first_key_frame": 0}
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "framez"}, r"process: kind must be one of bursts, .*not 'framez' \(did you mean"),
        ({"kind": 7}, "process: kind must be one of bursts, .*, not '7';"),
        ({"kind": None}, "process: kind is missing, which says what the other keys mean;"),
    ],
)
def test_a_kind_that_there_is_not_is_said_plainly(
    tmp_path: Path, change: dict[str, object], words: str
) -> None:
    trafficgen.generate("cbr", tmp_path / "cbr.parquet", duration_s=20)
    model = trafficgen.fit(tmp_path / "cbr.parquet").model.model_dump(mode="json")
    process = model["streams"][0]["phases"][0]["process"]
    process.update(change)
    if change["kind"] is None:
        del process["kind"]
    (tmp_path / "model.json").write_text(json.dumps(model), encoding="utf-8")
    with pytest.raises(trafficgen.ModelFileError, match=words):
        trafficgen.load_model(tmp_path / "model.json")


def test_a_workload_is_told_from_a_model(tmp_path: Path) -> None:
    file = tmp_path / "evening.yaml"
    file.write_text("sessions: 2\nfor: 10s\ngroups:\n  - {model: cbr}\n", encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"is a workload, .* simulate_workload\(workload"):
        trafficgen.load_model(file)
