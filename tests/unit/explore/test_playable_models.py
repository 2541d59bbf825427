"""What can be chosen: the catalogue with its options, and models and captures that the page was
opened with.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trafficgen.errors import ExploreError, InputFileError, ModelFileError, SelectionError
from trafficgen.explore.application import FIRST_MODEL, application
from trafficgen.explore.controls import COMPETITORS, CONTROLS, PRESETS
from trafficgen.explore.playable_models import PlayableModel, describe_options, open_model
from trafficgen.explore.request import SimulationRequest
from trafficgen.models import Model, save_model
from trafficgen.models.published import entry_names, load_entry
from trafficgen.packet_files.writing import write_packets
from trafficgen.units import bytes_from_bps


@pytest.fixture
def table(make_table: Callable[..., Any], tmp_path: Path) -> Path:
    """Write 20 s of a stream whose packets grow every 10 s."""
    time_s = np.arange(1000) * 0.02
    write_packets(
        make_table(time_s, ip_bytes=np.where(time_s < 10, 600, 1200)), tmp_path / "session.parquet"
    )
    return tmp_path / "session.parquet"


def test_choices_hold_the_catalogue_the_controls_and_what_is_chosen_first(client: Any) -> None:
    choices = client.get("/api/models").json()
    assert [model["name"] for model in choices["models"]] == list(entry_names())
    assert [control["name"] for control in choices["controls"]] == list(CONTROLS)
    assert [one["name"] for one in choices["competitors"]] == list(COMPETITORS)
    assert choices["defaults"] == {"model": FIRST_MODEL, "competitor": "none"}


@pytest.mark.parametrize("name", entry_names())
def test_published_model_brings_its_citations_limits_and_options(client: Any, name: str) -> None:
    entry = load_entry(name)
    (model,) = (
        model for model in client.get("/api/models").json()["models"] if model["name"] == name
    )
    assert model["citations"] == [source.text for source in entry.provenance.citations]
    assert model["limits"] == list(entry.provenance.limitations)
    assert [option["name"] for option in model["options"]] == list(entry.options)


@pytest.mark.parametrize("name", entry_names())
def test_defaults_and_choices_of_options_are_taken_back_as_they_are_shown(
    models: dict[str, PlayableModel], name: str
) -> None:
    for field in describe_options(load_entry(name)):
        for text in filter(None, (field["default"], *field["choices"])):
            asked = SimulationRequest.parse(
                {"model": name, "settings": {field["name"]: text}}, models
            )
            assert asked.settings == {field["name"]: text}


def test_presets_stay_within_the_controls(models: dict[str, PlayableModel]) -> None:
    for preset in PRESETS:
        asked = SimulationRequest.parse(
            {"model": "cbr", "competitor": preset.competitor, **preset.values}, models
        )
        assert preset.values.items() <= asked.values.items()


def test_capture_brings_its_measured_rate_and_a_path_like_its_own(table: Path) -> None:
    offer = open_model(str(table))
    assert offer.name == "session.parquet"
    assert offer.measured is not None
    rates = offer.measured["media_kbps"]
    # 25 packets of 600, then of 1200 bytes in each half second.
    assert rates[:20] == pytest.approx([240] * 20)
    assert rates[21:] == pytest.approx([480] * len(rates[21:]))
    carried = sum(bytes_from_bps(1000 * rate, offer.measured["interval_s"]) for rate in rates)
    assert carried == pytest.approx(500 * 600 + 25 * (len(rates) - 20) * 1200)
    assert CONTROLS["rate_kbps"].low <= offer.values["rate_kbps"] <= CONTROLS["rate_kbps"].high
    assert offer.values["duration_s"] == pytest.approx(20, abs=0.5)


def test_fitted_model_opens_at_the_length_of_its_whole_session(
    make_table: Callable[..., Any], tmp_path: Path
) -> None:
    """The longest session holds the start-up silence and the buffering before the playout."""
    time_s = np.append(np.arange(1000) * 0.02, 20 + np.arange(1000) * 0.08)
    write_packets(make_table(time_s, ip_bytes=np.full(2000, 1000)), tmp_path / "fast_start.parquet")
    offer = open_model(str(tmp_path / "fast_start.parquet"))
    assert isinstance(offer.model, Model)
    assert offer.model.streams[0].phases[0].name == "buffering"
    assert offer.values["duration_s"] == pytest.approx(100, abs=1)


def test_capture_is_fitted_by_the_command_that_is_shown(table: Path) -> None:
    offer = open_model(str(table), session=0, seed=5)
    assert offer.preparation == (f"trafficgen fit {table} -o model.json --session 0 --seed 5",)


def test_model_file_and_model_can_be_opened(table: Path, tmp_path: Path) -> None:
    fitted = open_model(str(table)).model
    save_model(fitted, tmp_path / "own.json")
    from_file, from_model = open_model(tmp_path / "own.json"), open_model(fitted)
    assert (from_file.name, from_file.argument) == ("own.json", str(tmp_path / "own.json"))
    assert from_file.model == from_model.model == fitted
    assert from_file.measured is None


def test_fitted_model_has_no_options(table: Path) -> None:
    offer = open_model(str(table))
    with pytest.raises(ExploreError, match="has no options"):
        SimulationRequest.parse(
            {"model": offer.name, "settings": {"rate_kbps": "5"}}, {offer.name: offer}
        )


@pytest.mark.parametrize(
    ("name", "error", "part"),
    [
        ("nothing_of_this_name", ModelFileError, "entries are cbr, chunked, dashjs and"),
        ("missing.json", InputFileError, "missing.json"),
        ("missing.pcap", InputFileError, "missing.pcap"),
    ],
)
def test_what_cannot_be_opened_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: type[Exception], part: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=part):
        open_model(name)


def test_a_capture_beyond_the_limit_of_memory_is_refused(
    make_table: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "offload.parquet"  # 10 kB, of packets that are cut into 350 each
    write_packets(make_table(np.arange(100_000) * 0.01, ip_bytes=8 * 65_535), file)
    with pytest.raises(InputFileError, match="1 GB is allowed"):
        open_model(file)


def test_session_that_is_not_there_is_told(table: Path) -> None:
    with pytest.raises(SelectionError):
        open_model(str(table), session=9)


def test_choices_are_json_whatever_a_model_says(table: Path) -> None:
    fitted = open_model(str(table)).model.model_copy(update={"name": "</script><img src=x>"})
    offer = open_model(fitted)
    assert callable(application({offer.name: offer}, port=1))
    assert json.loads(json.dumps(offer.to_json()))["name"] == "</script><img src=x>"
