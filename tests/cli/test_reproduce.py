"""`trafficgen reproduce`: rows, exit codes, and the keys that scripts rely on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trafficgen.reproduction import Experiment, Finding
from trafficgen.reproduction import reproduce as reproducing
from trafficgen.reproduction.finding import Measures, Piece

Command = Callable[..., Any]

KEYS = {
    *(
        "id",
        "quantity",
        "unit",
        "published",
        "accept",
        "simulated",
        "ok",
        "role",
        "runs",
        "repeats",
        "low",
        "high",
        "entry",
    ),
    "entry_digest",
}


def _finding(name: str, **parts: Any) -> Finding:
    given = {
        "quantity": f"quantity of {name}",
        "unit": "kbps",
        "published": 5.0,
        "low": 1.0,
        "high": 9.0,
    }
    return Finding(
        **{"id": name, "role": "predicted", "entry": "cbr", "key": "value", **given, **parts}
    )


def _measure(_: int) -> Measures:
    return {"value": 5.0, "never": math.nan}


@dataclass(frozen=True)
class _Constant(Experiment):
    name: str = "constant"
    pieces: tuple[Piece, ...] = (_measure,)
    findings: tuple[Finding, ...] = (
        _finding("AAA-B1"),
        _finding("AAA-B10", published="about five", low=None, role="input"),
        _finding("AAA-M1", high=4.0, gap="nobody knows the queue"),
        _finding("AAA-M2", key="never"),
    )


@pytest.fixture(autouse=True)
def _experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproducing, "experiments", lambda: (_Constant(),))


def test_json_has_the_published_keys(command: Command) -> None:
    result = command("reproduce", "AAA-B", "--json", "--workers", "1", "--runs", "3", "--seed", "7")
    assert (result.code, result.err) == (0, "")
    found = result.json
    assert (found["seed"], found["runs"]) == (7, 3)
    first, second = found["findings"]
    assert set(first) == set(second) == KEYS
    assert (first["id"], first["accept"], first["ok"], first["runs"]) == (
        "AAA-B1",
        [1.0, 9.0],
        True,
        3,
    )
    assert second["accept"] == [None, 9.0]
    assert first["entry_digest"].startswith("sha256:")


def test_a_miss_exits_with_1_and_says_why(command: Command) -> None:
    result = command("reproduce", "AAA-M1", "--workers", "1", "-q")
    assert result.code == 1
    assert "MISS" in result.out
    assert (
        result.err
        == "missed: AAA-M1 quantity of AAA-M1, kbit/s: 5, accepted 1 to 4: nobody knows the queue\n"
    )


def test_what_cannot_be_measured_is_null_and_a_miss(command: Command) -> None:
    result = command("reproduce", "AAA-M2", "--workers", "1", "--json")
    assert result.code == 1
    (row,) = result.json["findings"]
    assert (row["simulated"], row["low"], row["ok"], row["runs"]) == (None, None, False, 0)


def test_the_table_ends_with_digests_and_a_summary(command: Command) -> None:
    lines = command("reproduce", "--workers", "1").out.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["AAA-B1", "AAA-B10", "AAA-M1", "AAA-M2"]
    assert lines[-2].startswith("cbr  sha256:")
    assert (
        lines[-1]
        == "1 of 3 predicted quantities within range (33%), 1 of 1 inputs; 2 of 4 findings in all"
        " they say; mean of 5 runs, seed 0"
    )


def test_an_empty_id_names_nothing(command: Command) -> None:
    result = command("reproduce", "")
    assert (result.code, result.out) == (2, "")
    assert "an empty word; give a name or value" in result.err


def test_an_unknown_id_is_one_line(command: Command) -> None:
    result = command("reproduce", "XYZ-1", "--workers", "1")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "trafficgen: there is no finding 'XYZ-1'; ids look like AAA-B1 and begin with AAA;"
        " `trafficgen reproduce --list` lists them\n"
    )


def test_a_report_is_written_also_when_something_misses(command: Command, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    result = command(
        "reproduce", "AAA-M1", "--workers", "1", "--report", str(report), "--json", "-q"
    )
    assert result.code == 1
    assert [row["id"] for row in result.json["findings"]] == ["AAA-M1"]
    assert result.json == command("reproduce", "AAA-M1", "--workers", "1", "--json", "-q").json
    page = report.read_text(encoding="utf-8")
    reason = "accepted 1 to 4. Why: nobody knows the queue."
    assert f"AAA-M1: quantity of AAA-M1, kbit/s: 5, {reason}" in page


def test_statements_are_listed_without_a_run(command: Command) -> None:
    result = command("reproduce", "--list", "CCZ-H1", "NIC-S1")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("CCZ-H1    At 600 kbit/s about 40% of the pairs get equal rates")
    assert "NIC-S1    A drop-tail router" in result.out


def test_a_statement_of_an_unknown_finding_is_refused(command: Command) -> None:
    result = command("reproduce", "--list", "XYZ")
    assert (result.code, result.out) == (2, "")
    assert "begin with BMW, CCZ, CTX, LJM, NIC" in result.err


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--sensitivity", "--leave-one-out"], "use one of --sensitivity, --leave-one-out"),
        (["--sensitivity", "--seeds", "3"], "use one of --sensitivity, --seeds"),
        (["--draws", "3"], "needs --leave-one-out"),
        (["--leave-one-out", "--report", "a.html"], "this result has no page; give --json"),
    ],
)
def test_options_without_effect_are_refused(
    command: Command, options: list[str], part: str
) -> None:
    result = command("reproduce", "LJM-E7", *options)
    assert (result.code, result.out) == (2, "")
    assert part in result.err


def test_studies_print_what_python_returns(command: Command) -> None:
    given = ["AAA-B1", "AAA-M1", "--runs", "1", "--workers", "1"]
    found = json.loads(command("reproduce", *given, "--sensitivity", "--json").out)
    assert [(row["id"], row["fragile"]) for row in found["findings"]] == [
        ("AAA-B1", False),
        ("AAA-M1", False),
    ]
    text = command("reproduce", *given, "--sensitivity").out
    assert "0 of 2 quantities are fragile" in text
    found = json.loads(command("reproduce", *given, "--leave-one-out", "--json").out)
    assert [one["section"] for one in found["sections"]] == ["AAA-B", "AAA-M"]
    assert found["draws"] == 40
    text = command("reproduce", *given, "--leave-one-out", "--draws", "2").out
    assert text.splitlines()[0].split() == ["section", "within", "range", "missed"]
    assert "the best of 2 draws" in text


def test_seeds_give_each_row_its_share_of_passes(command: Command) -> None:
    given = ["AAA-B1", "--runs", "1", "--seeds", "4", "--workers", "1"]
    found = json.loads(command("reproduce", *given, "--json").out)
    assert (found["runs"], found["seeds"]) == (1, 4)
    assert found["findings"][0]["runs"] == 4
    assert 0 <= found["findings"][0]["passes"]["value"] <= 1
    assert "mean of 4 runs, seed 0" in command("reproduce", *given).out
