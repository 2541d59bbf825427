"""Packets that do not fit into the memory are exported as they come, or refused before they are
read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trafficgen
from trafficgen.errors import ExportError, InputFileError, SelectionError

#: Room for 20,000 packets, the fewest that are read at once.
MEMORY_BYTES = 4_000_000
PACKETS = 24_000


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "long.parquet"
    trafficgen.generate(
        "cbr", path, sessions=2, arrival_rate_per_s=1.0, settings={"rate_kbps": 1600}, seed=1
    )
    assert len(trafficgen.read_packets(path)) == PACKETS
    return path


@pytest.mark.parametrize("target", ["pcap", "csv", "tcpreplay"])
def test_a_file_is_the_same_as_without_a_limit(file: Path, tmp_path: Path, target: str) -> None:
    folders = tmp_path / "whole", tmp_path / "streamed"
    reports = [
        trafficgen.export(file, to=target, directory=folder, memory_bytes=memory_bytes)
        for folder, memory_bytes in zip(folders, (None, MEMORY_BYTES), strict=True)
    ]
    assert reports[0].packets == reports[1].packets == PACKETS
    assert reports[0].files == reports[1].files
    for name in reports[0].files:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


@pytest.mark.parametrize("target", ["mgen", "ditg", "iperf2", "iperf3"])
def test_tools_of_runs_get_what_each_flow_sends(file: Path, tmp_path: Path, target: str) -> None:
    table = trafficgen.read_packets(file)
    report = trafficgen.export(file, to=target, directory=tmp_path, memory_bytes=MEMORY_BYTES)
    assert "runs.txt" in report.files
    assert report.packets == PACKETS
    assert report.bytes_before == table.payload_bytes.sum(dtype="int64")


def test_one_flow_of_many_packets_is_exported_by_any_target(file: Path, tmp_path: Path) -> None:
    folders = tmp_path / "whole", tmp_path / "one"
    for folder, memory_bytes in zip(folders, (None, MEMORY_BYTES), strict=True):
        trafficgen.export(file, to="ns3", directory=folder, flow=1, memory_bytes=memory_bytes)
    assert (folders[0] / "flow1.trace").read_bytes() == (folders[1] / "flow1.trace").read_bytes()


def test_one_flow_that_does_not_fit_is_streamed_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    trafficgen.generate("cbr", path, settings={"rate_kbps": 3200}, seed=1)
    how: dict[str, Any] = {"flow": 0, "memory_bytes": MEMORY_BYTES}
    report = trafficgen.export(path, to="pcap", directory=tmp_path / "pcap", **how)
    assert (report.files, report.packets) == (("flow0.pcap",), PACKETS)
    with pytest.raises(InputFileError, match=r"one.parquet, flow 0: 24,000 packets need"):
        trafficgen.export(path, to="ns3", directory=tmp_path / "out", **how)
    with pytest.raises(SelectionError, match="flow 3"):
        trafficgen.export(
            path, to="ns3", directory=tmp_path / "out", flow=3, memory_bytes=MEMORY_BYTES
        )


def test_other_targets_refuse_with_what_to_do(file: Path, tmp_path: Path) -> None:
    with pytest.raises(
        InputFileError, match=r"24,000 packets need .* flow=..., or a target .*mgen"
    ):
        trafficgen.export(file, to="ns3", directory=tmp_path / "out", memory_bytes=MEMORY_BYTES)
    assert not (tmp_path / "out").exists()
    with pytest.raises(ExportError, match=r"give more memory_bytes=..., or leave at=... out"):
        trafficgen.export(
            file, to="pcap", directory=tmp_path / "out", at="receiver", memory_bytes=MEMORY_BYTES
        )
