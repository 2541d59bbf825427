"""`trafficgen demo`: the tour on the capture that comes with the package."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trafficgen
from trafficgen.demo import take_steps

Command = Callable[..., Any]


def test_an_earlier_tour_is_kept_without_force(command: Command, tmp_path: Path) -> None:
    (tmp_path / "tour").mkdir()
    (tmp_path / "tour" / "model.json").write_text("mine")
    result = command("demo", "-o", "tour")
    assert (result.code, result.out) == (2, "")
    assert "has an earlier output in it; give --force" in result.err
    assert [path.name for path in (tmp_path / "tour").iterdir()] == ["model.json"]


def test_steps_are_taken_one_by_one(tmp_path: Path) -> None:
    steps = take_steps(tmp_path / "tour")
    assert not (tmp_path / "tour").exists()
    assert next(steps) == "inspect   7,072 packets of 1 flow in 51.3 s: capture.pcap.gz"
    assert not (tmp_path / "tour" / "model.json").exists()


@pytest.mark.long
def test_in_python_it_is_a_plain_call(tmp_path: Path) -> None:
    steps = trafficgen.demo(tmp_path / "tour")
    assert [line.split()[0] for line in steps] == [
        "inspect",
        "fit",
        "generate",
        "compare",
        "export",
    ]
    assert (tmp_path / "tour" / "model.json").exists()


@pytest.mark.long
def test_its_commands_do_what_the_demo_did_without_the_extra_report(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = command("demo", "-o", "tour")
    assert result.code == 0
    steps = ["inspect", "fit", "generate", "compare", "export"]
    assert [line.split()[0] for line in result.out.splitlines()] == steps
    assert "pip install 'trafficgen-streaming[report]'" in result.err
    tour = tmp_path / "tour"
    assert list(tour.glob("*.html")) == []
    packets = (tour / "synthetic.pcap").read_bytes()
    monkeypatch.chdir(tour)
    for line in (tour / "commands.sh").read_text().splitlines():
        assert command(*shlex.split(line)[1:]).code == 0, line
    assert (tour / "synthetic.pcap").read_bytes() == packets
