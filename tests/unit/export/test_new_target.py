"""A new exporter costs one module: a toy one in a folder of its own is found, listed and used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import trafficgen
from reference_pages.formats import targets_page
from trafficgen.cli.app import run
from trafficgen.export import targets
from trafficgen.tables import PacketTable

_TOY = """
from trafficgen.export.flow_schedule import schedule_report, schedules_of
from trafficgen.export.settings import Setting
from trafficgen.export.target import Target, Written


def write_toy(table, folder, settings):
    schedules = schedules_of(table, target="toy", protocols=["udp"])
    name = f"schedule.{settings.text('ending')}"
    sent = [part for flow in schedules.flows for part in zip(flow.time_ns, flow.payload_bytes)]
    lines = [f"{time_ns} {payload_bytes}" for time_ns, payload_bytes in sent]
    (folder / name).write_text("\\n".join(lines) + "\\n")
    report = schedule_report(schedules, schedules.flows, target="toy", files=[name])
    return Written(report, "Run `toy schedule.txt`.")


TARGET = Target(
    name="toy",
    summary="times and sizes",
    versions="toy 1",
    write=write_toy,
    settings=(Setting("ending", "txt", "Ending of the file."),),
    protocols="UDP",
)
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "toy.py").write_text(_TOY, encoding="utf-8")
    monkeypatch.setattr(targets, "__path__", [*targets.__path__, str(folder)])
    yield
    sys.modules.pop(f"{targets.__name__}.toy", None)


@pytest.mark.usefixtures("toy")
def test_one_module_is_a_target_of_the_function(table: PacketTable, tmp_path: Path) -> None:
    report = trafficgen.export(table, to="toy", directory=tmp_path / "out")
    assert (report.target, report.files, report.packets) == ("toy", ("schedule.txt",), 2)
    assert (tmp_path / "out" / "schedule.txt").read_text() == "0 172\n4000 1472\n"
    assert "Run `toy schedule.txt`." in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.usefixtures("toy")
def test_one_module_is_a_target_of_the_command_and_of_the_reference(
    table: PacketTable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trafficgen.export(table, to="parquet", directory=tmp_path / "in")
    arguments = [str(tmp_path / "in" / "packets.parquet"), "--to", "toy", "--set", "ending=dat"]
    assert run(["export", *arguments, "-o", str(tmp_path / "out"), "--quiet"]) == 0
    assert "schedule.dat" in capsys.readouterr().out
    assert "| `toy` | times and sizes | toy 1 |" in targets_page()


def test_each_target_has_the_name_of_its_module() -> None:
    assert [target.name for target in targets.TARGETS.values()] == list(targets.TARGETS)
