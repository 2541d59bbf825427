"""What every target keeps to, whatever it writes: the table of targets is walked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import trafficgen
from trafficgen.errors import ExportError, OutputFileError, SelectionError, SettingError
from trafficgen.export.targets import TARGETS
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
    "kind",
    "distances",
    "removed",
]
#: Targets that send the packets to the client alone, unless they are told otherwise.
_SENDERS_TO_CLIENT = [
    name
    for name, target in TARGETS.items()
    if ("direction", "to_client") in [(one.name, one.default) for one in target.settings]
]


@pytest.fixture
def media(table: PacketTable) -> PacketTable:
    """The UDP flow of the table over 12 s, in 1200 packets of two sizes."""
    n = 1200
    packets = pa.table(
        {
            "time_ns": np.arange(n) * 10_000_000,
            "flow": np.zeros(n, dtype=np.uint32),
            "to_client": np.ones(n, dtype=np.bool_),
            "frame_bytes": np.where(np.arange(n) % 3, 1042, 642).astype(np.uint32),
            "ip_bytes": np.where(np.arange(n) % 3, 1028, 628).astype(np.uint32),
            "payload_bytes": np.where(np.arange(n) % 3, 1000, 600).astype(np.uint32),
        },
        schema=pa.schema(
            [table.packets.schema.field(name) for name in table.packets.column_names[:6]]
        ),
    )
    return replace(table, packets=packets)


@pytest.mark.parametrize("name", TARGETS)
def test_every_export_has_the_files_it_reports_and_a_readme(
    media: PacketTable, tmp_path: Path, name: str
) -> None:
    report = trafficgen.export(media, to=name, directory=tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *report.files,
        "README.md",
        ".trafficgen-export.json",
    }
    assert report.target == name
    assert report.kind == "schedule"
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "## How to run it" in text
    assert report.files[0] in text


@pytest.mark.parametrize("name", TARGETS)
def test_every_report_is_the_published_json_object(
    media: PacketTable, tmp_path: Path, name: str
) -> None:
    report = trafficgen.export(media, to=name, directory=tmp_path / "out").to_json()
    assert list(report) == _REPORT_KEYS
    assert json.loads(json.dumps(report)) == report


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_writes_the_same_bytes_for_the_same_table(
    media: PacketTable, tmp_path: Path, name: str
) -> None:
    for folder in ("a", "b"):
        trafficgen.export(media, to=name, directory=tmp_path / folder)
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == {path.name for path in (tmp_path / "b").iterdir()}
    for file in names:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize("name", TARGETS)
def test_no_target_exports_nothing(media: PacketTable, tmp_path: Path, name: str) -> None:
    with pytest.raises(ExportError, match="no packets"):
        trafficgen.export(media, to=name, directory=tmp_path / "out", flow=1)
    with pytest.raises(SelectionError, match="flow 9"):
        trafficgen.export(media, to=name, directory=tmp_path / "out", flow=9)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", TARGETS)
def test_no_target_takes_a_setting_it_does_not_have(
    media: PacketTable, tmp_path: Path, name: str
) -> None:
    with pytest.raises(SettingError, match=r"no setting(s; leave)? 'colour'"):
        trafficgen.export(media, to=name, directory=tmp_path / "out", settings={"colour": "red"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", TARGETS)
def test_no_target_leaves_anything_where_it_cannot_write(
    media: PacketTable, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputFileError, match="cannot be written"):
        trafficgen.export(media, to=name, directory=tmp_path / "file" / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", _SENDERS_TO_CLIENT)
def test_senders_refuse_a_table_without_payload_to_the_client(
    table: PacketTable, tmp_path: Path, name: str
) -> None:
    upwards = replace(table, packets=table.packets.filter(pa.array(~table.to_client)))
    with pytest.raises(ExportError, match=name):
        trafficgen.export(upwards, to=name, directory=tmp_path / "new" / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_flow_that_is_not_there_is_refused_with_those_that_are(
    table: PacketTable, tmp_path: Path
) -> None:
    with pytest.raises(SelectionError, match=r"there is no flow 99; there are flows 0, 1"):
        trafficgen.export(table, to="csv", directory=tmp_path / "out", flow=99)
