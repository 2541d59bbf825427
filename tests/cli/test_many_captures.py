"""`trafficgen fit --population` and `--same-source` on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trafficgen.models import Model, read_model

Command = Callable[..., Any]


@pytest.fixture
def captures(command: Command, rtp_model_file: Path) -> list[str]:
    """Write three short captures of video frames."""
    names = []
    for number, length in enumerate(("6", "8", "10")):
        names.append(f"capture{number}.pcap")
        assert (
            command("generate", str(rtp_model_file), "-o", names[-1], "--duration", length).code
            == 0
        )
    return names


def test_a_population_is_fitted_written_and_played(command: Command, captures: list[str]) -> None:
    result = command("fit", *captures, "--population", "--workers", "1", "-o", "many.json")
    assert result.code == 0
    assert "3 sessions of 3 captures" in result.out
    model = read_model("many.json")
    assert isinstance(model, Model)
    assert model.population is not None
    assert result.out in command("models", "show", "many.json").out
    assert model.population.laws["media_duration_s"].median.value == pytest.approx(6.9, rel=0.05)
    assert Path("many.json").stat().st_size < 64_000
    assert command("generate", "many.json", "-o", "out.pcap", "--sessions", "5").code == 0
    assert len(command("inspect", "out.pcap", "--json").json["sessions"]) == 5


def test_a_capture_that_a_plain_fit_leaves_out_is_named(
    command: Command, captures: list[str]
) -> None:
    command("generate", "chunked", "-o", "other.pcap", "--duration", "4", "-q")
    said = command("fit", captures[2], "other.pcap").err
    assert "is not in the model, which is of session" in said
    assert "--population fits each capture by itself" in said
    assert "--population" not in command("fit", captures[2]).err


def test_an_interval_that_says_nothing_is_not_printed(
    command: Command, captures: list[str]
) -> None:
    command("generate", "cbr", "-o", "cbr.pcap", "--duration", "60", "--set", "rate_kbps=9000")
    result = command("fit", captures[0], "cbr.pcap", "--population", "--workers", "1")
    assert "not known from 2 sessions" in result.out


@pytest.mark.long
def test_the_population_does_not_depend_on_the_workers(
    command: Command, captures: list[str]
) -> None:
    found = [
        command("fit", *captures, "--population", "--json", "--workers", workers).json
        for workers in ("1", "2")
    ]
    assert found[0] == found[1]


def test_json_holds_the_typical_session_and_the_population(
    command: Command, captures: list[str]
) -> None:
    found = command("fit", *captures, "--population", "--json", "-q").json
    assert {"flow", "phases", "packet_bytes", "gap_s", "warnings", "population"} <= set(found)
    population = found["population"]
    assert set(population) == {
        *(
            "captures",
            "sessions",
            "laws",
            "dependence",
            "prototypes",
            "ladder",
            "absent",
            "left_out",
        )
    }
    assert {"law", "median", "log_deviation", "sessions", "positive_share"} <= set(
        population["laws"]["playout_rate_bps"]
    )


def test_a_capture_that_cannot_be_fitted_is_named_and_left_out(
    command: Command, captures: list[str]
) -> None:
    Path("broken.pcap").write_bytes(b"no capture")
    result = command("fit", *captures, "broken.pcap", "--population", "--workers", "1", "--json")
    assert result.code == 0
    assert result.err.count("; it is left out") == 1
    assert "broken.pcap" in result.err
    assert list(result.json["population"]["left_out"]) == ["broken.pcap"]
    assert result.json["population"]["sessions"] == 3


@pytest.mark.parametrize("option", ["--population", "--same-source"])
def test_captures_none_of_which_can_be_fitted_are_an_error(command: Command, option: str) -> None:
    for name in ("one.pcap", "two.pcap"):
        Path(name).write_bytes(b"no capture")
    result = command("fit", "one.pcap", "two.pcap", option, "-q")
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert "one.pcap" in result.err


def test_one_capture_is_a_population_with_a_warning(command: Command, captures: list[str]) -> None:
    result = command("fit", captures[0], "--population", "--workers", "1")
    assert result.code == 0
    assert "one session" in result.err


def test_two_captures_that_differ_say_what_their_intervals_need(
    command: Command, captures: list[str], rtp_model_file: Path
) -> None:
    command("generate", str(rtp_model_file), "-o", "long.pcap", "--duration", "40")
    result = command("fit", captures[0], "long.pcap", "--population", "--workers", "1")
    assert result.code == 0
    (warning,) = (line for line in result.err.splitlines() if line.startswith("warning: too few"))
    assert "sessions for media duration (2), " in warning
    assert "give 5 or more captures" in warning


def test_a_population_of_too_small_sessions_is_one_warning(
    command: Command, captures: list[str], rtp_model_file: Path
) -> None:
    command("generate", str(rtp_model_file), "-o", "short.pcap", "--duration", "2")
    result = command("fit", captures[0], "short.pcap", "--population", "--workers", "1")
    (warning,) = (line for line in result.err.splitlines() if "do not rely" in line)
    assert warning.startswith("warning: 1 of 2 sessions are too short, too slow")


def test_a_capture_with_too_little_shows_no_path(
    command: Command, captures: list[str], rtp_model_file: Path
) -> None:
    command("generate", str(rtp_model_file), "-o", "short.pcap", "--duration", "2")
    result = command("fit", *captures, "short.pcap", "--same-source", "--json")
    (warning,) = (line for line in result.err.splitlines() if "it is left out" in line)
    assert "short.pcap: too little media traffic for a model" in warning
    assert result.json["same_source"]["captures"] == captures


def test_one_source_over_several_paths(command: Command, captures: list[str]) -> None:
    result = command("fit", *captures, "--same-source", "--json", "-o", "one.json")
    assert result.code == 0
    response = result.json["same_source"]
    assert response["kind"] == "unknown"  # no path is congested
    assert response["captures"] == captures
    model = read_model("one.json")
    assert isinstance(model, Model)
    assert model.same_source is not None
    assert command("generate", "one.json", "-o", "out.parquet").code == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--population", "--same-source"),
        ("--population", "--flow", "0"),
        ("--same-source", "--flow", "0"),
        ("--population", "--player-log", "player.json"),
        ("--workers", "2", "--same-source"),
        ("--workers", "2"),
    ],
)
def test_options_that_do_not_go_together_are_refused_in_one_line(
    command: Command, options: tuple[str, ...]
) -> None:
    result = command("fit", "a.pcap", "b.pcap", *options)
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert options[0] in result.err
