from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from trafficgen.errors import OutputFileError
from trafficgen.export.targets import TARGETS, target_for
from trafficgen.output_files import whole_files
from trafficgen.tables import PacketTable

_REPORT_KEYS = [
    "target",
    "files",
    "packets",
    "packets_changed",
    "bytes_before",
    "bytes_after",
    "timing_error_s",
    "cannot_express",
]


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_writes_the_files_it_reports_and_nothing_else(
    table: PacketTable, tmp_path: Path, name: str
) -> None:
    target = TARGETS[name]
    report = target.write(table, tmp_path / f"out{target.suffix}")
    assert {path.name for path in tmp_path.iterdir()} == set(report.files)
    assert (report.target, report.packets, report.bytes_before) == (name, 6, 2360)


@pytest.mark.parametrize("name", TARGETS)
def test_every_report_is_the_published_json_object(table: PacketTable, tmp_path: Path, name: str) -> None:
    target = TARGETS[name]
    report = target.write(table, tmp_path / f"out{target.suffix}").to_dict()
    assert list(report) == _REPORT_KEYS
    assert json.loads(json.dumps(report)) == report
    assert report["timing_error_s"] == {"max": 0.0, "mean": 0.0}


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_writes_the_same_bytes_for_the_same_table(table: PacketTable, tmp_path: Path, name: str) -> None:
    target = TARGETS[name]
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        target.write(table, tmp_path / folder / f"out{target.suffix}")
    for first in (tmp_path / "a").iterdir():
        assert first.read_bytes() == (tmp_path / "b" / first.name).read_bytes()


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_writes_a_table_without_packets(table: PacketTable, tmp_path: Path, name: str) -> None:
    target = TARGETS[name]
    empty = replace(table, packets=table.packets.slice(0, 0))
    report = target.write(empty, tmp_path / f"out{target.suffix}")
    assert (report.packets, report.bytes_before, report.bytes_after) == (0, 0, 0)


@pytest.mark.parametrize("name", TARGETS)
def test_no_target_leaves_anything_in_a_folder_it_cannot_write(table: PacketTable, tmp_path: Path, name: str) -> None:
    target = TARGETS[name]
    with pytest.raises(OutputFileError, match="cannot be written"):
        target.write(table, tmp_path / "missing" / f"out{target.suffix}")
    assert list(tmp_path.iterdir()) == []


def test_endings_find_their_target_in_any_case() -> None:
    found = target_for(".PCAP")
    assert found is not None
    assert found.name == "pcap"
    assert target_for(".txt") is None


def test_a_failure_before_the_end_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("old")

    def fail_half_way() -> None:
        with whole_files([path]) as [part]:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_half_way()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]
