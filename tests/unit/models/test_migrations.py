"""Model files of every earlier version load, as their steps leave them, and files of no version do
not.
"""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import trafficgen
from trafficgen.errors import ModelFileError, OutputFileError
from trafficgen.models import SCHEMA_VERSION, Model, model_of, read_versioned_model
from trafficgen.models.migrations import (
    FITTED_STEPS,
    PUBLISHED_STEPS,
    UnknownVersionError,
    migrated,
    steps_from,
)

EARLIER = sorted((Path(__file__).parent / "earlier").glob("*.json"))
#: Keys of a file whose value the step from 1.0 may change.
NAMES = ("name", "description", "provenance", "schema_version")


@pytest.fixture(params=EARLIER, ids=lambda path: path.stem)
def earlier(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def _content(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def test_there_are_files_of_every_earlier_version() -> None:
    assert {path.name.split("_")[0] for path in EARLIER} == {step.before for step in FITTED_STEPS}


def test_each_step_takes_up_where_the_last_one_ends() -> None:
    versions = [FITTED_STEPS[0].before, *(step.after for step in FITTED_STEPS)]
    assert [step.before for step in FITTED_STEPS] == versions[:-1]
    assert versions[-1] == SCHEMA_VERSION
    assert steps_from(SCHEMA_VERSION, published=False) == ()
    assert steps_from("1.0", published=True) == PUBLISHED_STEPS == ()


def test_a_file_of_an_earlier_version_is_the_model_that_it_was(earlier: Path) -> None:
    found = read_versioned_model(earlier)
    content = _content(earlier)
    assert found.version == content["schema_version"] == earlier.name.split("_")[0]
    assert found.steps == FITTED_STEPS
    shown = found.model.model_dump(mode="json")
    assert shown["schema_version"] == SCHEMA_VERSION
    assert _lacking(content, shown) == [
        "schema_version"
    ]  # nothing else of the file has another value now


def _lacking(before: Any, after: Any, place: str = "") -> list[str]:
    """Return the places of a file whose value is not that of the model; keys that came later do not
    count.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        pairs = [(key, one, after.get(key, "nothing")) for key, one in before.items()]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = [
            (str(row), one, other)
            for row, (one, other) in enumerate(zip(before, after, strict=True))
        ]
    else:
        return [] if before == after else [place]
    return [
        found
        for key, one, other in pairs
        for found in _lacking(one, other, f"{place}.{key}" if place else key)
    ]


def test_a_model_of_an_earlier_version_is_played(earlier: Path, tmp_path: Path) -> None:
    model = trafficgen.load_model(earlier)
    assert isinstance(model, Model)
    table = trafficgen.generate(earlier, tmp_path / "played.parquet", duration_s=10)
    assert len(table) > 100


def test_migrating_writes_what_loading_gives(earlier: Path, tmp_path: Path) -> None:
    before = earlier.read_bytes()
    done = trafficgen.models_migrate(earlier, tmp_path / "present.json")
    assert earlier.read_bytes() == before
    assert (done.from_version, done.to_version) == ("1.0", SCHEMA_VERSION)
    assert done.steps == ("addresses in names of files are masked",)
    assert _content(tmp_path / "present.json")["schema_version"] == SCHEMA_VERSION
    assert (
        trafficgen.load_model(tmp_path / "present.json")
        == trafficgen.load_model(earlier)
        == done.model
    )
    assert trafficgen.models_migrate(tmp_path / "present.json", tmp_path / "again.json").steps == ()
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "present.json").read_bytes()


def test_the_step_from_1_0_masks_addresses_in_names_and_nothing_else() -> None:
    content = _content(EARLIER[0])
    content["name"] = "10-1-2-3"
    content["description"] = "Session 0 of 10-1-2-3.pcap."
    content["provenance"] |= {
        "files": ["10-1-2-3.pcap", "b.pcap"],
        "receiver_files": ["fe80::1.pcap"],
        "player_log": "alice@example.org.csv",
    }
    content["same_source"] = {"source": "10.1.2.3.pcap", "captures": ["10.1.2.3.pcap", "b.pcap"]}
    content["population"] = {"prototypes": [{"name": "192.0.2.7.pcap, session 1"}]}
    given = deepcopy(content)
    result, steps = migrated(content, published=False)
    assert content == given  # a step has its own copy
    assert [step.after for step in steps] == ["1.1"]
    assert (result["name"], result["description"]) == ("address", "Session 0 of address.pcap.")
    assert result["provenance"]["files"] == ["address.pcap", "b.pcap"]
    assert result["provenance"]["receiver_files"] == ["address.pcap"]
    assert result["provenance"]["player_log"] == "address"
    assert result["same_source"] == {
        "source": "address.pcap",
        "captures": ["address.pcap", "b.pcap"],
    }
    assert result["population"] == {"prototypes": [{"name": "address.pcap, session 1"}]}
    for key in content.keys() - {*NAMES, "same_source", "population"}:
        assert result[key] == content[key]


@pytest.mark.parametrize(
    "odd", [None, 3, [], "x", {"prototypes": 1}, {"prototypes": [1, {"name": 7}]}]
)
def test_what_a_step_does_not_know_is_left_for_the_schema_to_refuse(odd: object) -> None:
    content = {**_content(EARLIER[0]), "schema_version": "1.0", "name": odd}
    content |= {"provenance": odd, "population": odd, "same_source": odd}
    with pytest.raises(ModelFileError, match=r"model\.json: [a-z]"):
        model_of(content, file="model.json")


@pytest.mark.parametrize("version", ["0.9", "1.2", "2.0", "", "1", "newest"])
@pytest.mark.parametrize("published", [False, True])
def test_versions_that_are_not_known_are_refused(version: str, published: bool) -> None:
    with pytest.raises(
        UnknownVersionError, match=f"it has schema version {version}, this trafficgen reads 1.0"
    ):
        migrated({"schema_version": version}, published=published)


def test_a_file_is_not_migrated_into_itself(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    file.write_bytes(EARLIER[0].read_bytes())
    (tmp_path / "link.json").symlink_to(file)
    (tmp_path / "hard.json").hardlink_to(file)
    for name in ("model.json", "link.json", "hard.json"):
        with pytest.raises(OutputFileError, match="is the file to be migrated, which is kept"):
            trafficgen.models_migrate(file, tmp_path / name)
    assert file.read_bytes() == EARLIER[0].read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "hard.json",
        "link.json",
        "model.json",
    ]


def test_a_published_model_is_written_with_what_it_extends(tmp_path: Path) -> None:
    child = {"extends": "cbr", "name": "mine", "options": {"rate_kbps": {"default": 500}}}
    (tmp_path / "mine.json").write_text(json.dumps(child), encoding="utf-8")
    done = trafficgen.models_migrate(tmp_path / "mine.json", tmp_path / "whole.json")
    assert done.steps == ()
    assert (
        trafficgen.load_model(tmp_path / "whole.json")
        == trafficgen.load_model(tmp_path / "mine.json")
        == done.model
    )
