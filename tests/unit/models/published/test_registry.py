"""Catalogue entries by name: found, extended, told apart from files, digested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from trafficgen.errors import ModelFileError
from trafficgen.models import PublishedModel, save_model
from trafficgen.models.published import entry_digest, entry_names, load_entry, load_model, registry

PARENT = """
name: parent
provenance: {kind: published, citations: [{authors: [A], year: 2004, title: T, supports: [all]}]}
mechanism:
  kind: cbr
  parameters:
    packet_bytes: {value: 1000, basis: figure, source: NIC-I1}
    rate_bps: {value: 340000, basis: figure, source: NIC-I1}
"""


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put a folder in the place of the shipped entries."""
    monkeypatch.setattr(registry, "ENTRIES", tmp_path)
    (tmp_path / "parent.yaml").write_text(PARENT, encoding="utf-8")
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    entry_names.cache_clear()
    load_entry.cache_clear()


def test_an_entry_that_extends_another_has_its_parameters(entries: Path) -> None:
    (entries / "child.yaml").write_text("extends: parent\nname: child\n", encoding="utf-8")
    child = load_entry("child")
    assert child.mechanism == load_entry("parent").mechanism
    assert (child.name, child.extends) == ("child", None)


def test_digest_of_a_child_changes_with_a_number_of_its_parent(entries: Path) -> None:
    (entries / "child.yaml").write_text("extends: parent\nname: child\n", encoding="utf-8")
    before = entry_digest(load_entry("child"))
    (entries / "parent.yaml").write_text(PARENT.replace("1000", "1001"), encoding="utf-8")
    load_entry.cache_clear()
    assert entry_digest(load_entry("child")) != before


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("extends: child\nname: child\n", "it extends itself", id="itself"),
        pytest.param(
            "extends: nobody\nname: child\n",
            "no such catalogue entry; entries are child, parent",
            id="nobody",
        ),
        pytest.param(
            "extends: parent\nname: other\n", "not a published model of the name child", id="name"
        ),
        pytest.param(
            "extends: parent\nname: child\noptions: 3\n", "options: must be an object", id="shape"
        ),
        pytest.param("[]\n", "it is not an object", id="list"),
    ],
)
def test_an_entry_that_cannot_be_loaded_says_why(entries: Path, text: str, problem: str) -> None:
    (entries / "child.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ModelFileError) as caught:
        load_entry("child")
    assert problem in str(caught.value)


def test_digest_does_not_depend_on_the_form_of_the_file(tmp_path: Path) -> None:
    entry = load_entry("cbr")
    save_model(entry, tmp_path / "copy.json")
    content = json.loads((tmp_path / "copy.json").read_text(encoding="utf-8"))
    (tmp_path / "copy.yaml").write_text(
        json.dumps(dict(reversed(content.items()))), encoding="utf-8"
    )
    digests = {entry_digest(load_model(tmp_path / name)) for name in ("copy.json", "copy.yaml")}
    assert digests == {entry_digest(entry)}


def test_a_file_of_the_name_of_an_entry_is_read_when_its_folder_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_model(load_entry("cbr").model_copy(update={"description": "Mine."}), tmp_path / "cbr")
    assert load_model("cbr") == load_entry("cbr")
    assert load_model("./cbr").description == "Mine."


def test_a_file_may_extend_an_entry(tmp_path: Path) -> None:
    file = tmp_path / "slow.yaml"
    file.write_text(
        "extends: cbr\nname: slow\noptions: {rate_kbps: {default: 28}}\n", encoding="utf-8"
    )
    model = load_model(file)
    assert isinstance(model, PublishedModel)
    assert model.options["rate_kbps"].default == 28
    assert model.provenance == load_entry("cbr").provenance


@pytest.mark.parametrize(
    ("name", "entry"), [("hls.js", "hlsjs"), ("dash.js", "dashjs"), ("Shaka", "shaka")]
)
def test_a_player_is_found_by_the_name_that_people_write(name: str, entry: str) -> None:
    assert load_model(name) == load_entry(entry)


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(
        ModelFileError, match=r"did you mean realvideo10_boyden2005\?\); entries .*cbr"
    ):
        load_model("realvideo11")
