"""A published source on a mechanism of the engine costs one data file: nothing else knows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import trafficgen
from trafficgen.models import PublishedModel, read_yaml
from trafficgen.models.published import entry_names, load_entry

#: One entry of each mechanism in the catalogue.
ENTRIES = {load_entry(name).mechanism.kind: name for name in reversed(entry_names())}


@pytest.fixture
def own_entry(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Write a new source on the mechanism of an entry, with another name, as a data file."""
    text = load_entry(request.param).model_dump_json(exclude_defaults=True)
    entry = {**json.loads(text), "name": "some_player_author2026"}
    file = tmp_path / "some_player_author2026.yaml"  # JSON is YAML
    file.write_text(json.dumps(entry), encoding="utf-8")
    return file


def test_a_mechanism_is_named_by_the_data_alone() -> None:
    assert {"cbr", "chunked", "realplayer8", "realvideo10", "wmedia9", "twostream"} <= set(ENTRIES)


@pytest.mark.parametrize("own_entry", ENTRIES.values(), ids=ENTRIES, indirect=True)
def test_a_source_from_a_file_plays_over_a_path_without_any_registration(own_entry: Path) -> None:
    assert read_yaml(own_entry.read_text(encoding="utf-8"))
    model = trafficgen.load_model(own_entry)
    assert isinstance(model, PublishedModel)
    result = trafficgen.simulate(
        str(own_entry), path="rate=2Mbps,delay=20ms", duration_s=8, compete="tcp@-1s"
    )
    assert result.notes["model"] == "some_player_author2026"
    assert result.flows[0].measure.rate_kbps > 0
