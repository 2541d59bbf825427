"""Outputs on disks that are full or may not be written: one line, exit code 2, and nothing is
left.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import trafficgen
from trafficgen.cli.app import run
from trafficgen.export.targets import TARGETS

#: What each command writes into a folder `disk`, from files beside it.
WRITERS = {
    **{
        f"generate-{ending}": f"generate model.json -o disk/out.{ending}"
        for ending in ("parquet", "csv", "pcap")
    },
    "generate-pcapng": "generate model.json -o disk/out.pcapng",
    "generate-dataset": "generate model.json -o disk/out",
    "generate-link": "generate model.json -o link.csv --force",
    "generate-in-blocks": "generate model.json -o disk/out.pcap --sessions 20 --memory 4MB",
    "fit": "fit table.parquet -o disk/out.json",
    "fit-report": "fit table.parquet --report disk/out.html",
    "fit-plots": "fit table.parquet --plots disk/out",
    "convert": "convert table.parquet -o disk/out.csv",
    "simulate": "simulate cbr --path rate=1Mbps --duration 20 -o disk/out.parquet",
    "compare": "compare table.parquet table.parquet --report disk/out.html",
    "demo": "demo -o disk/a/b",
    "reproduce": "reproduce BMW-T1.1 --runs 1 --workers 1 --report disk/out.html",
    **{f"export-{target}": f"export table.parquet --to {target} -o disk/a/b" for target in TARGETS},
}


def write_inputs(folder: Path) -> None:
    """Write a packet table, and a model that is fitted to it."""
    trafficgen.generate("cbr", folder / "table.parquet", duration_s=20)
    trafficgen.save_model(trafficgen.fit(folder / "table.parquet").model, folder / "model.json")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read."""
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    return folder


@pytest.fixture
def place(small_disk: Path, inputs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the inputs and a disk that is empty."""
    folder = small_disk.parent
    for path in inputs.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / "link.csv").symlink_to("disk/out.csv")
    monkeypatch.chdir(folder)
    return folder


def filled(disk: Path, *, but_bytes: int) -> None:
    """Leave so much room on a disk, in whole pages."""
    size_bytes = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - but_bytes
    (disk / "filler").write_bytes(bytes(size_bytes))


def refused(words: str, capfd: pytest.CaptureFixture[str]) -> str:
    """Run a command that cannot do its work, and return the line that it says."""
    capfd.readouterr()
    before = sorted(Path().rglob("*"))
    code = run(words.split())
    said = capfd.readouterr().err
    lines = [line for line in said.splitlines() if not line.startswith("warning: ")]
    assert (code, len(lines)) == (2, 1), said
    assert sorted(Path().rglob("*")) == before
    return lines[0]


@pytest.mark.parametrize("room_bytes", [0, 12_288])
def test_on_a_full_disk_every_command_says_so_in_a_line_and_leaves_nothing(
    room_bytes: int, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    filled(place / "disk", but_bytes=room_bytes)
    for name, words in WRITERS.items():
        if room_bytes and name not in LARGE:
            continue
        line = refused(words, capfd)
        assert "No space left on device" in line or "0 B are free" in line, (name, line)


#: Those whose output does not fit into three pages.
LARGE = (
    "generate-csv",
    "generate-pcap",
    "generate-pcapng",
    "generate-dataset",
    "fit-report",
    "fit-plots",
    "export-trex",
)


def test_on_a_disk_that_may_not_be_written_every_command_says_so_before_the_work(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(place / "disk")], check=True)
    for name, words in WRITERS.items():
        assert "Read-only file system" in refused(words, capfd), name
