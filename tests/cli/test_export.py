"""`export` from the command line: schedules of catalogue models go to every target, and bad
requests are one line.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen.export.targets import TARGETS

Command = Callable[..., Any]

#: Published sources of the catalogue with media over UDP, and one over TCP.
OVER_UDP = (
    "realplayer8_chung2002",
    "realvideo10_boyden2005",
    "wmedia9_nichols2004",
    "twostream_latecki2003",
    "cbr",
)
OVER_TCP = ("realplayer8_tcp_chung2002",)
#: Targets that send UDP alone, unless a setting says otherwise.
UDP_ONLY = {"ns3", *(name for name, target in TARGETS.items() if target.protocols == "UDP")}


@pytest.fixture(scope="module")
def schedules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve seconds of each source, as packet tables."""
    folder = tmp_path_factory.mktemp("schedules")
    for name in (*OVER_UDP, *OVER_TCP):
        trafficgen.generate(name, folder / f"{name}.parquet", duration_s=12, seed=3)
    return folder


@pytest.mark.parametrize("source", OVER_UDP)
@pytest.mark.parametrize("target", TARGETS)
def test_twelve_seconds_of_a_published_source_go_to_every_target(
    command: Command, schedules: Path, tmp_path: Path, target: str, source: str
) -> None:
    result = command(
        "export", str(schedules / f"{source}.parquet"), "--to", target, "-o", "out", "--json"
    )
    assert (result.code, result.err) == (0, "")
    report = result.json
    assert report["target"] == target
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *report["files"],
        "README.md",
        ".trafficgen-export.json",
    }
    if target != "mahimahi":
        assert report["packets"] > 0
        assert report["bytes_after"] == pytest.approx(report["bytes_before"], rel=0.01)


@pytest.mark.parametrize("target", TARGETS)
def test_a_second_export_into_a_folder_leaves_nothing_of_the_first_and_all_of_others(
    command: Command, schedules: Path, tmp_path: Path, target: str
) -> None:
    assert (
        command(
            "export", str(schedules / "twostream_latecki2003.parquet"), "--to", target, "-o", "out"
        ).code
        == 0
    )
    (tmp_path / "out" / "sink.log").write_text("of a run")
    result = command(
        "export", str(schedules / "cbr.parquet"), "--to", target, "-o", "out", "--json", "--force"
    )
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert found == {*result.json["files"], "README.md", ".trafficgen-export.json", "sink.log"}
    assert not found & set(result.json["removed"])


def test_files_of_an_earlier_export_that_are_removed_are_named(
    command: Command, schedules: Path
) -> None:
    cbr = str(schedules / "cbr.parquet")
    assert command("export", cbr, "--to", "pcap", "-o", "out", "--flow", "0").err == ""
    told = command("export", cbr, "--to", "pcap", "-o", "out", "--force")
    assert told.err == "files of an earlier export removed from out: flow0.pcap\n"
    assert command("export", cbr, "--to", "pcap", "-o", "out", "--force").err == ""


def test_a_second_export_knows_the_files_of_a_long_first_one(
    command: Command, make_table: Callable[..., Any], tmp_path: Path
) -> None:
    flow = np.repeat(np.arange(14), 3)
    trafficgen.export(
        make_table(np.arange(flow.size) / 100, flow=flow), to="mgen", directory=tmp_path / "out"
    )
    many = {path.name for path in (tmp_path / "out").iterdir()}
    few = trafficgen.export(make_table(np.arange(9) / 100), to="mgen", directory=tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *few.files,
        "README.md",
        ".trafficgen-export.json",
    }
    assert set(few.removed) == many - {*few.files, "README.md", ".trafficgen-export.json"}


def test_a_file_that_has_changed_since_its_export_is_not_removed(
    command: Command, schedules: Path, tmp_path: Path
) -> None:
    cbr = str(schedules / "cbr.parquet")
    assert command("export", cbr, "--to", "pcap", "-o", "out", "--flow", "0").code == 0
    (tmp_path / "out" / "flow0.pcap").write_text("mine now")
    assert command("export", cbr, "--to", "pcap", "-o", "out", "--force").err == ""
    assert (tmp_path / "out" / "flow0.pcap").read_text() == "mine now"


@pytest.mark.parametrize(
    "listed",
    [
        {"../precious.txt": None, "precious.txt": "sha256:0", "..": None, "": None, "folder": None},
        ["precious.txt"],
        {"precious.txt": ["sha256"]},
        "precious.txt",
    ],
)
def test_a_list_of_a_stranger_removes_nothing(
    command: Command, schedules: Path, tmp_path: Path, listed: object
) -> None:
    folder = tmp_path / "out"
    (folder / "folder").mkdir(parents=True)
    for path in (folder / "precious.txt", tmp_path / "precious.txt", folder / "folder" / "file"):
        path.write_text("precious")
    (folder / "link").symlink_to(tmp_path / "precious.txt")
    (folder / ".trafficgen-export.json").write_text(json.dumps({"files": listed}))
    cbr = str(schedules / "cbr.parquet")
    command("export", cbr, "--to", "pcap", "-o", "out", "--force")
    for path in (folder / "precious.txt", tmp_path / "precious.txt", folder / "folder" / "file"):
        assert path.read_text() == "precious"
    assert (folder / "link").is_symlink()


@pytest.mark.parametrize("name", ["README.md", "packets.pcap"])
def test_files_that_are_not_of_an_earlier_export_are_not_overwritten(
    command: Command, schedules: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("# mine")
    result = command("export", str(schedules / "cbr.parquet"), "--to", "pcap", "-o", "out")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(
        f"trafficgen: out/{name}: would be overwritten, and is not of an earlier export; "
    )
    assert result.err.count("\n") == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]
    assert (tmp_path / "out" / name).read_text() == "# mine"


@pytest.mark.parametrize("target", TARGETS)
def test_a_source_over_tcp_is_taken_or_refused_in_one_line(
    command: Command, schedules: Path, tmp_path: Path, target: str
) -> None:
    result = command(
        "export", str(schedules / f"{OVER_TCP[0]}.parquet"), "--to", target, "-o", "out"
    )
    if target in UDP_ONLY:
        assert result.code == 2
        assert result.err.startswith(f"trafficgen: {target}")
        assert result.err.count("\n") == 1
        assert "TCP" in result.err
        assert list(tmp_path.iterdir()) == []
    else:
        assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("target", TARGETS)
def test_a_folder_that_cannot_be_made_is_one_line(
    command: Command, schedules: Path, tmp_path: Path, target: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    result = command("export", str(schedules / "cbr.parquet"), "--to", target, "-o", "file/out")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("trafficgen: file/out: cannot be written")
    assert result.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--to", "ns4"], ["Unknown target 'ns4'", "pcap"]),
        (["--to", "pcap", "--flow", "7"], ["flow 7"]),
        (["--to", "pcap", "--set", "colour=red"], ["no setting 'colour'", "snaplen_bytes"]),
        (["--to", "pcap", "--set", "snaplen_bytes=0"], ["snaplen_bytes=0"]),
        (["--to", "csv", "--snaplen", "100"], ["--snaplen"]),
        (["--to", "parquet", "--at", "receiver"], ["--at"]),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing(
    command: Command, schedules: Path, tmp_path: Path, arguments: list[str], parts: list[str]
) -> None:
    result = command("export", str(schedules / "cbr.parquet"), "-o", "new/out", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1
    for part in parts:
        assert part in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_published_source_has_no_law_to_hand_over(command: Command, tmp_path: Path) -> None:
    result = command("export", "wmedia9_nichols2004", "--to", "pcap", "-o", "out")
    assert result.code == 2
    assert "generate packets of it" in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_model_is_refused_where_the_target_takes_packets(
    command: Command, model_file: Path, tmp_path: Path
) -> None:
    before = set(tmp_path.iterdir())
    result = command("export", str(model_file), "--to", "pcap", "-o", "out")
    assert result.code == 2
    assert "takes packets, not a model's law" in result.err
    assert set(tmp_path.iterdir()) == before
