"""`trafficgen models`: the catalogue for people and for programs, and files of one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trafficgen
from trafficgen.models.published import entry_names

Command = Callable[..., Any]


def test_list_names_every_entry_with_options_and_citation(command: Command) -> None:
    found = command("models", "list", "--json").json["models"]
    assert [one["name"] for one in found] == list(entry_names())
    keys = {"name", "group", "description", "transport", "options", "citation", "review", "digest"}
    assert all(set(one) == keys for one in found)
    (cbr,) = [one for one in found if one["name"] == "cbr"]
    assert {"rate_kbps", "packet_bytes", "duration_s"} <= set(cbr["options"])
    assert cbr["transport"] == "udp"
    shown = command("models", "list").out
    assert all(f"\n{name}  (" in f"\n{shown}" for name in entry_names())


def test_list_shows_groups_and_finds_words(command: Command) -> None:
    shown = command("models", "list", "XR", "pose", "without jitter").out
    assert shown.startswith("3GPP XR (TR 38.838):\nxr_3gpp38838_pose  (udp; second-hand)\n")
    assert shown.count("(udp; second-hand)") == 1
    assert command("models", "list", "no", "such").out == "No model has no and such.\n"


def test_show_prints_computed_values_places_and_traps(command: Command) -> None:
    words = " ".join(command("models", "show", "xr_3gpp38838_video").out.split())
    assert "frame_bytes 62500 (= rate_mbps * 1e6 / 8 / fps / eyes) figure TR 38.838" in words
    assert "jitter_bound_s 0.004 figure TR 38.838 5.1.1.2 2 places" in words
    assert "success_share 0.99 open TR 38.838 memory" in words
    assert "Traps rate_mbps: 5G-LENA has 5 Mbit/s by default." in words


@pytest.mark.parametrize("name", entry_names())
def test_show_prints_citations_limits_options_and_parameters(command: Command, name: str) -> None:
    model = trafficgen.models_show(name)
    assert isinstance(model, trafficgen.PublishedModel)
    words = " ".join(command("models", "show", name).out.split())
    shown = {
        key: not (model.mechanism.kind == "streams" and isinstance(one.value, list))
        for key, one in model.mechanism.parameters.items()
    }
    assert all(" ".join(source.title.split()) in words for source in model.provenance.citations)
    assert all(" ".join(limit.split()) in words for limit in model.provenance.limitations)
    assert all(f"{key} = " in words for key in model.options)
    assert all(f" {key}{' ' if is_plain else '.'}" in words for key, is_plain in shown.items())


def test_show_lists_parameters_that_options_set(command: Command) -> None:
    words = " ".join(command("models", "show", "cbr").out.split())
    assert "rate_bps 340000 option rate_kbps baseline" in words


def test_a_file_that_cannot_be_simulated_is_one_line(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("extends: cbr\nname: own\noptions: {rate_kbps: null}\n", encoding="utf-8")
    result = command("models", "show", str(file))
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"trafficgen: {file}: mechanism.parameters.rate_bps: missing; add its value, basis and"
        " source, or an option that sets it; for an example: `trafficgen models show cbr`\n"
    )


def test_show_as_json_is_a_file_that_can_be_loaded(command: Command, tmp_path: Path) -> None:
    result = command("models", "show", "cbr", "--json")
    (tmp_path / "copy.json").write_text(result.out, encoding="utf-8")
    assert trafficgen.load_model(tmp_path / "copy.json") == trafficgen.load_model("cbr")


def test_show_prints_a_fitted_model_as_its_fit_does(command: Command, table_file: Path) -> None:
    fitted = command("fit", "-q", str(table_file), "-o", "model.json").out.splitlines()
    title, about, *shown = command("models", "show", "model.json").out.splitlines()
    assert title.startswith("table  (fitted 20")
    assert about == "Session 0 of table.parquet."
    assert shown == fitted[2 : 2 + len(shown)]
    assert shown[0] == "silence    0 s before the first media packet"
    assert any(", playout: 0 s to " in line for line in shown)
    assert shown[-1].startswith("self-check ")


def test_show_describes_a_model_that_no_capture_gave(command: Command, model_file: Path) -> None:
    assert command("models", "show", str(model_file)).out.splitlines() == [
        "by_hand",
        "silence    1 s before the first media packet",
        "playout    0 s to 10 s at 800 kbit/s",
        "the model plays, stream by stream:",
        "  video, playout: 0 s to 10 s at 0 kbit/s, a packet every 10 ms",
    ]


def test_show_prints_the_whole_file_too(command: Command, model_file: Path) -> None:
    assert (
        command("models", "show", str(model_file), "--full").json
        == command("models", "show", str(model_file), "--json").json
    )


@pytest.mark.parametrize("words", [("show",), ("diff", "other.json")])
def test_a_workload_is_no_model_to_look_at(command: Command, words: tuple[str, ...]) -> None:
    Path("evening.yaml").write_text("sessions: 4\ngroups: [{model: cbr}]\n")
    result = command("models", *words, "evening.yaml")
    assert (result.code, result.out) == (2, "")
    assert "see it with trafficgen generate evening.yaml -o OUT --dry-run" in result.err


def test_an_unknown_name_is_one_line_with_those_there_are(command: Command) -> None:
    result = command("models", "show", "realvideo11")
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert "cbr" in result.err


def test_a_published_model_without_a_path_plays_as_nothing_in_its_way(tmp_path: Path) -> None:
    table = trafficgen.generate(
        "cbr", tmp_path / "a.pcap", settings={"rate_kbps": "340", "duration_s": "10"}
    )
    assert table.ip_bytes.sum() * 8 / 10 == pytest.approx(340e3, rel=0.01)
    assert table.is_known("arrival_ns").all()


def test_diff_shows_what_differs_and_says_how_much_does(
    command: Command, model_file: Path, rtp_model_file: Path
) -> None:
    same = command("models", "diff", str(model_file), str(model_file))
    assert same.out == "0 of 5 estimates and laws differ beyond their uncertainty.\n"
    shown = command("models", "diff", str(model_file), str(rtp_model_file))
    assert "streams.video.phases.playout.process  renewal" in shown.out
    found = command("models", "diff", str(model_file), str(rtp_model_file), "--json").json
    assert {one["basis"] for one in found["differences"]} == {"value"}
