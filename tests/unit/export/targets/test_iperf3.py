"""iperf3: one run an epoch with the epoch's bytes, and the scripts that start runs and servers."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.unit.export.schedules import steady, table_of

import trafficgen
from trafficgen.errors import ExportError, SettingError

_RUN = re.compile(r"^epoch (\d+) (\d+) (.*)$", re.MULTILINE)


def test_each_epoch_is_a_run_with_its_packets_mean_size_and_rate(tmp_path: Path) -> None:
    report = trafficgen.export(steady(), to="iperf3", directory=tmp_path)
    runs = _RUN.findall((tmp_path / "flow0.sh").read_text())
    assert len(runs) == 12
    # 86400 bytes in the 0.97 s that the guard leaves: 712577.3 bit/s
    assert runs[0] == ("0", "0", "-u -p 5201 -k 100 -l 864 -b 712578")
    assert [start for _, start, _ in runs] == [str(second * 1_000_000) for second in range(12)]
    assert [run.split()[2] for _, _, run in runs] == ["5201", "5202", "5203", "5204"] * 3
    assert report.files == ("flow0.sh", "flow0.epochs.csv", "send.sh", "sink.sh")


def test_the_list_of_epochs_says_the_same_as_the_script(tmp_path: Path) -> None:
    trafficgen.export(steady(), to="iperf3", directory=tmp_path)
    with (tmp_path / "flow0.epochs.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0] == {
        "start_s": "0.000000000",
        "length_s": "1.000000000",
        "packets": "100",
        "payload_bytes": "86400",
        "size_bytes": "864",
        "rate_bps": "712578",
    }
    runs = _RUN.findall((tmp_path / "flow0.sh").read_text())
    assert [f"-k {row['packets']} -l {row['size_bytes']} -b {row['rate_bps']}" for row in rows] == [
        run.partition(" -k ")[1].strip() + " " + run.partition(" -k ")[2] for _, _, run in runs
    ]


def test_tcp_is_written_by_tcp_and_said_to_be_packetised_by_the_tool(tmp_path: Path) -> None:
    table = table_of(np.array([0, 500_000_000]), np.array([1000, 1400]), protocol="tcp")
    report = trafficgen.export(table, to="iperf3", directory=tmp_path, settings={"guard_s": 0})
    assert _RUN.findall((tmp_path / "flow0.sh").read_text()) == [
        ("0", "0", "-N -p 5201 -k 2 -l 1200 -b 19200")
    ]
    assert any("segments" in text for text in report.cannot_express)


def test_every_server_that_a_run_needs_is_started(tmp_path: Path) -> None:
    trafficgen.export(
        steady(), to="iperf3", directory=tmp_path, settings={"first_port": 6000, "servers": 2}
    )
    started = re.findall(
        r"^iperf3 -s -p (\d+) >> sink", (tmp_path / "sink.sh").read_text(), re.MULTILINE
    )
    used = {run.split()[2] for _, _, run in _RUN.findall((tmp_path / "flow0.sh").read_text())}
    assert started == ["6000", "6001"]
    assert used == set(started)


@pytest.mark.parametrize("name", ["iperf2", "iperf3"])
@pytest.mark.skipif(shutil.which("bash") is None, reason="not installed: bash")
def test_scripts_are_well_formed_for_bash(tmp_path: Path, name: str) -> None:
    trafficgen.export(steady(), to=name, directory=tmp_path)
    for script in ("flow0.sh", "send.sh", "sink.sh"):
        subprocess.run(["bash", "-n", script], cwd=tmp_path, check=True)


@pytest.mark.parametrize("name", ["iperf2", "iperf3"])
def test_what_leaves_no_epoch_or_no_port_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ExportError, match=r"lower guard_s or raise epoch_s"):
        trafficgen.export(steady(), to=name, directory=tmp_path / "a", settings={"guard_s": 0.6})
    with pytest.raises(ExportError, match=r"ports up to 65537.*lower first_port"):
        trafficgen.export(
            steady(), to=name, directory=tmp_path / "a", settings={"first_port": 65534}
        )
    with pytest.raises(SettingError, match="epoch_s"):
        trafficgen.export(steady(), to=name, directory=tmp_path / "a", settings={"epoch_s": 0})
    assert list(tmp_path.iterdir()) == []
