"""MGEN sends what its scripts say: captured on the loopback interface and put beside the
schedule.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
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

import trafficgen
from trafficgen.tables import PacketTable

#: A busy machine must not fail the test; an idle one stays below 0.1 ms.
_MEDIAN_ERROR_S = 0.005


@pytest.fixture(scope="module")
def table() -> PacketTable:
    return trafficgen.generate("realplayer8_chung2002", duration_s=6, seed=1)


def sent_by_mgen(
    table: PacketTable, folder: Path, *, port: int, **settings: str | float
) -> tuple[Sent, int]:
    """Return what mgen sent of the media flow, and how many packets its sink logged."""
    need("mgen", "tcpdump")
    ports = {"first_port": port, "first_source_port": port + 10_000}
    trafficgen.export(table, to="mgen", directory=folder, settings={**ports, **settings})
    with (
        running(["mgen", "input", "sink.mgn", "output", "sink.log", "flush"], cwd=folder),
        captured(folder / "sent.pcap", f"udp dst port {port}"),
    ):
        subprocess.run(
            ["sh", "run.sh", "3"], cwd=folder, check=True, capture_output=True, timeout=60
        )
    logged = (folder / "sink.log").read_text().count(f"dst>127.0.0.1/{port} ")
    return sent_of(table, folder / "sent.pcap", flow=0), logged


def test_every_packet_leaves_at_its_time_and_with_its_size(
    table: PacketTable, tmp_path: Path
) -> None:
    sent, logged = sent_by_mgen(table, tmp_path / "out", port=5100)
    wanted, found = sent.payload_bytes()
    assert len(found) == len(wanted)
    assert np.array_equal(np.sort(found), np.sort(wanted))
    assert (
        np.mean(found == wanted) > 0.99
    )  # packets that a busy machine sends at once may change places
    assert is_on_time(float(np.median(sent.timing_errors_s())) < _MEDIAN_ERROR_S)
    assert logged >= 0.99 * len(wanted)
    assert compared(sent, tmp_path / "out" / "sent.pcap")["packet_bytes.ks"] < 0.01
    assert sent.found.flows.num_rows == 1  # one source port


def test_epochs_have_as_many_packets_and_about_as_many_bytes(
    table: PacketTable, tmp_path: Path
) -> None:
    sent, _ = sent_by_mgen(table, tmp_path / "out", port=5110, mode="epochs", epoch_s=0.5)
    wanted, found = sent.payload_bytes()
    assert len(found) == len(wanted)
    assert abs(int(found.sum()) - int(wanted.sum())) <= 0.5 * len(
        wanted
    )  # sizes of epochs are rounded
    assert is_on_time(float(np.median(sent.timing_errors_s())) < 0.25)  # half an epoch


def test_a_tcp_flow_is_written_byte_for_byte(table: PacketTable, tmp_path: Path) -> None:
    need("mgen", root=False)
    streamed = trafficgen.generate("realplayer8_tcp_chung2002", duration_s=5, seed=1)
    folder = tmp_path / "out"
    report = trafficgen.export(
        streamed,
        to="mgen",
        directory=folder,
        settings={"first_port": 5120, "first_source_port": 15120},
    )
    with running(["mgen", "input", "sink.mgn", "output", "sink.log", "flush"], cwd=folder):
        subprocess.run(
            ["sh", "run.sh", "3"], cwd=folder, check=True, capture_output=True, timeout=60
        )
    received = [line for line in (folder / "sink.log").read_text().splitlines() if " RECV " in line]
    assert report.bytes_after is not None
    assert report.bytes_before is not None
    rows = streamed.to_client & (streamed.payload_bytes > 0)
    payload_bytes = (
        int(streamed.payload_bytes[rows].sum()) + report.bytes_after - report.bytes_before
    )
    assert sum(int(line.partition("size>")[2].split()[0]) for line in received) == payload_bytes


#: On a busy machine MGEN sleeps too long and then sends several packets at once: a wrong law fails
#: every time.
_ATTEMPTS = 4


def test_a_workload_is_sent_to_the_last_byte(tmp_path: Path) -> None:
    need("mgen")
    folder, settings = tmp_path / "out", {"first_port": 5200, "ports": 7}
    report = send_workload(
        folder, tmp_path / "sent.pcap", "udp dst portrange 5200-5206", to="mgen", settings=settings
    )
    found = packets_in(tmp_path / "sent.pcap")
    lines = "".join(path.read_text() for path in folder.glob("*.mgn"))
    runs = re.findall(r"(UDP|TCP) .* (\d+)\] COUNT (\d+)", lines)
    udp = [(int(count), int(size)) for protocol, size, count in runs if protocol == "UDP"]
    assert len(found) == sum(count for count, _ in udp)
    assert found.payload_bytes.sum() == sum(count * size for count, size in udp)
    received = re.findall(r" RECV .*size>(\d+)", (folder / "sink.log").read_text())
    assert len(received) > 0.9 * len(found)  # a busy sink loses datagrams
    tcp_bytes = sum(int(count) * int(size) for name, size, count in runs if name == "TCP")
    counted = re.findall(r"(\d+) bytes", (folder / "tcp.txt").read_text())
    assert sum(map(int, counted)) == tcp_bytes == report.bytes_after - found.payload_bytes.sum()
