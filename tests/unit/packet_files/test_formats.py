from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from trafficgen.errors import OutputFileError
from trafficgen.packet_files.formats import FILE_FORMATS, format_for
from trafficgen.packet_files.writing import write_packets
from trafficgen.tables import PacketTable


@pytest.mark.parametrize("name", FILE_FORMATS)
def test_every_format_writes_the_files_it_reports_and_nothing_else(
    table: PacketTable, tmp_path: Path, name: str
) -> None:
    known = FILE_FORMATS[name]
    report = write_packets(table, tmp_path / f"out{known.suffix}")
    assert {path.name for path in tmp_path.iterdir()} == set(report.files)
    assert (report.target, report.packets, report.bytes_before) == (name, 6, 2360)


@pytest.mark.parametrize("name", FILE_FORMATS)
def test_every_format_writes_a_table_without_packets(
    table: PacketTable, tmp_path: Path, name: str
) -> None:
    known = FILE_FORMATS[name]
    empty = replace(table, packets=table.packets.slice(0, 0))
    report = write_packets(empty, tmp_path / f"out{known.suffix}")
    assert (report.packets, report.bytes_before, report.bytes_after) == (0, 0, 0)


@pytest.mark.parametrize("name", FILE_FORMATS)
def test_no_format_leaves_anything_in_a_folder_it_cannot_write(
    table: PacketTable, tmp_path: Path, name: str
) -> None:
    known = FILE_FORMATS[name]
    with pytest.raises(OutputFileError, match="cannot be written"):
        write_packets(table, tmp_path / "missing" / f"out{known.suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", FILE_FORMATS)
def test_reports_of_formats_are_json(table: PacketTable, tmp_path: Path, name: str) -> None:
    report = write_packets(table, tmp_path / f"out{FILE_FORMATS[name].suffix}").to_json()
    assert json.loads(json.dumps(report)) == report


def test_endings_find_their_format_in_any_case() -> None:
    found = format_for(".PCAP")
    assert found is not None
    assert found.name == "pcap"
    assert format_for(".txt") is None
