"""D-ITG sends what its files say: captured on the loopback interface and put beside the
schedule.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest, weibull_min
from tests.real_tools.loopback import (
    Sent,
    captured,
    compared,
    is_on_time,
    need,
    packets_in,
    running,
    send_workload,
    sent_of,
)
from tests.unit.generation.conftest import model_with, phase, stream

import trafficgen
from trafficgen.models import Law, RenewalProcess
from trafficgen.tables import PacketTable
from trafficgen.units import s_from_ns


@pytest.fixture(scope="module")
def table() -> PacketTable:
    return trafficgen.generate("realplayer8_chung2002", duration_s=6, seed=1)


def sent_by_ditg(
    table: PacketTable, folder: Path, *, port: int, **settings: str | float | bool
) -> tuple[Sent, str]:
    """Return what ITGSend sent of the media flow, and what ITGDec says of the log of the
    receiver.
    """
    need("ITGSend", "ITGRecv", "ITGDec", "tcpdump")
    ports = {"first_port": port, "signal_port": port - 1000}
    report = trafficgen.export(table, to="ditg", directory=folder, settings={**ports, **settings})
    with (
        running(["ITGRecv", "-Sp", str(port - 1000)], cwd=folder, ready_s=0.5),
        captured(folder / "sent.pcap", f"udp dst port {port}"),
    ):
        command = ["ITGSend", report.files[0], "-l", "send.log", "-x", "recv.log"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    decoded = subprocess.run(
        ["ITGDec", "recv.log"], cwd=folder, check=True, capture_output=True, text=True
    )
    return sent_of(table, folder / "sent.pcap", flow=0), decoded.stdout


def test_every_packet_leaves_with_its_size_and_after_its_gap(
    table: PacketTable, tmp_path: Path
) -> None:
    sent, decoded = sent_by_ditg(table, tmp_path / "out", port=10001)
    wanted, found = sent.payload_bytes()
    assert np.array_equal(found, np.maximum(wanted, 16))
    error_s = np.abs(s_from_ns(np.diff(sent.found.time_ns) - np.diff(sent.wanted.time_ns)))
    assert is_on_time(float(np.median(error_s)) < 0.001)
    assert compared(sent, tmp_path / "out" / "sent.pcap")["packet_bytes.ks"] < 0.01
    assert "Total packets" in decoded


def test_flows_start_one_after_the_other_as_they_did(table: PacketTable, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    sent, _ = sent_by_ditg(table, folder, port=10011, start_ms=500)
    media = table.select((table.flow == 0) & table.to_client)
    control = table.select((table.flow == 1) & table.to_client & (table.payload_bytes > 0))
    wait_s = s_from_ns(int(media.time_ns[0] - control.time_ns[0]))
    first_gaps = [float((folder / f"flow{k}.idt").read_text().split()[0]) for k in (0, 1)]
    assert first_gaps[0] - first_gaps[1] == pytest.approx(1000 * wait_s, abs=1)
    assert sent.packets_ratio == 1


def _drawn_by_ditg(folder: Path) -> PacketTable:
    """Return eight seconds of Weibull gaps and sizes, as ITGSend drew and sent them."""
    need("ITGSend", "ITGRecv", "tcpdump")
    gap = Law(
        unit="s",
        family="weibull_min",
        params={"c": 2.0, "loc": 0.0, "scale": 0.006},
        observations=1,
    )
    size = Law(
        unit="bytes",
        family="weibull_min",
        params={"c": 1.5, "loc": 28.0, "scale": 200.0},
        observations=1,
    )
    process = RenewalProcess(gap_s=gap, packet_bytes=size)
    model = model_with(stream(phases=(phase("playout", 0.0, 8.0, process),)))
    report = trafficgen.export(
        model, to="ditg", directory=folder, settings={"first_port": 10021, "signal_port": 9021}
    )
    assert max(report.distances.values()) < 0.03
    with (
        running(["ITGRecv", "-Sp", "9021"], cwd=folder, ready_s=0.5),
        captured(folder / "sent.pcap", "udp dst port 10021"),
    ):
        subprocess.run(["sh", "run.sh"], cwd=folder, check=True, capture_output=True, timeout=60)
    return packets_in(folder / "sent.pcap")


def _bound(packets: int) -> float:
    """Return a 99.9% bound of a KS distance, and what rounding sizes and waking up late may add."""
    return float(1.95 / np.sqrt(packets) + 0.03)


def test_sizes_are_drawn_as_the_export_says(tmp_path: Path) -> None:
    found = _drawn_by_ditg(tmp_path / "out")
    payload_bytes = np.clip(found.payload_bytes.astype(np.float64), 16, None)
    assert len(found) > 500
    assert kstest(payload_bytes, weibull_min(1.5, scale=200).cdf).statistic < _bound(len(found))


@pytest.mark.slow  # gaps of milliseconds need a machine that does nothing else
def test_gaps_are_drawn_as_the_export_says(tmp_path: Path) -> None:
    gap_s = np.diff(s_from_ns(_drawn_by_ditg(tmp_path / "out").time_ns))
    assert kstest(gap_s, weibull_min(2.0, scale=0.006).cdf).statistic < _bound(gap_s.size) + 0.05


def _received(folder: Path) -> tuple[int, int]:
    """Return packets and bytes of payload in all logs of receivers.

    On a busy machine ITGRecv logs some of ten thousand less than were captured.
    """
    totals = [0, 0]
    for log in folder.glob("*recv*.log"):
        done = subprocess.run(
            ["ITGDec", log.name], cwd=folder, capture_output=True, text=True, check=False
        )
        text = done.stdout.rpartition("TOTAL RESULTS")[2]
        for place, name in enumerate(("Total packets", "Bytes received")):
            found = re.search(rf"{name} *= *(\d+)", text)
            totals[place] += 0 if found is None else int(found[1])
    return totals[0], totals[1]


def test_a_workload_is_sent_to_the_last_byte(tmp_path: Path) -> None:
    need("ITGSend", "ITGRecv", "ITGDec")
    folder = tmp_path / "out"
    report = send_workload(
        folder,
        tmp_path / "sent.pcap",
        "udp dst portrange 12001-12199",
        to="ditg",
        settings={"first_port": 12_001},
    )
    found = packets_in(tmp_path / "sent.pcap")
    runs = [line for line in (folder / "runs.txt").read_text().splitlines() if "TCP" not in line]
    udp = [tuple(map(int, re.findall(r" -[cz] (\d+)", line))) for line in runs]
    assert len(found) == sum(count for _, count in udp)
    assert found.payload_bytes.sum() == sum(count * size for size, count in udp)
    packets, received_bytes = _received(folder)
    assert 0.99 * (report.packets or 0) <= packets <= (report.packets or 0)
    assert 0.99 * (report.bytes_after or 0) <= received_bytes <= (report.bytes_after or 0)


def test_flows_of_several_processes_are_sent_to_the_last_byte(tmp_path: Path) -> None:
    need("ITGSend", "ITGRecv", "ITGDec", root=False)
    table = trafficgen.generate("cbr", sessions=12, arrival_rate_per_s=20, duration_s=2, seed=1)
    settings = {"first_port": 12_301, "signal_port": 12_501, "poll": False}
    report = trafficgen.export(table, to="ditg", directory=tmp_path, settings=settings)
    with running(["bash", "sink.sh"], cwd=tmp_path, ready_s=1.0):
        subprocess.run(["sh", "run.sh"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    packets, received_bytes = _received(tmp_path)
    assert 0.99 * len(table) <= packets <= len(table) == report.packets
    assert received_bytes == pytest.approx(int(table.payload_bytes.sum()), rel=0.01)
