"""iperf 2 and iperf3 send what they were told: the bytes of each epoch."""

from __future__ import annotations

import csv
import re
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from tests.real_tools.loopback import captured, is_on_time, need, packets_in, running, send_workload

import trafficgen
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray, IntArray, s_from_ns

#: iperf3's greeting over UDP; the least datagram of a run is longer.
_GREETING_BYTES = 4
_TOOLS = {"iperf2": ("iperf", 15_100), "iperf3": ("iperf3", 15_200)}
_HEAD_START_US = 1_500_000


def _send(folder: Path, capture: Path, what: str) -> int:
    """Run sink and sender; return the origin of the schedule, ns since 1970."""
    with running(["bash", "sink.sh"], cwd=folder, ready_s=0.5), captured(capture, what):
        start_us = time.time_ns() // 1000 + _HEAD_START_US
        done = subprocess.run(
            ["bash", "send.sh"],
            cwd=folder,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "START_US": str(start_us)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr + "".join(
        path.read_text() for path in sorted(folder.glob("*.log"))
    )
    return start_us * 1000


def _epochs(folder: Path, flow: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Return start, datagrams and bytes of each epoch, from the list that lies beside the
    script.
    """
    with (folder / f"flow{flow}.epochs.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    packets = np.array([int(row["packets"]) for row in rows])
    sizes = np.array([int(row["size_bytes"]) for row in rows])
    return np.array([float(row["start_s"]) for row in rows]), packets, packets * sizes


def _of_runs(found: PacketTable) -> tuple[IntArray, IntArray, FloatArray]:
    """Return payload, datagrams and time of the first one of each run (a run has its own source
    port), in order.
    """
    numbers = np.unique(found.flow)
    rows = [np.flatnonzero(found.flow == number) for number in numbers]
    rows.sort(key=lambda own: int(found.time_ns[own[0]]))
    payload = np.array([int(found.payload_bytes[own].sum()) for own in rows])
    first_s = np.array([float(found.time_s[own[0]]) for own in rows])
    return payload, np.array([own.size for own in rows]), first_s


@pytest.mark.parametrize("target", _TOOLS)
def test_the_bytes_of_each_epoch_are_those_of_the_schedule(tmp_path: Path, target: str) -> None:
    tool, port = _TOOLS[target]
    need(tool, "bash", "tcpdump")
    table = trafficgen.generate("realplayer8_chung2002", duration_s=6)
    [media] = [row["flow"] for row in table.flows.to_pylist() if row["protocol"] == "udp"]
    folder = tmp_path / "out"
    trafficgen.export(table, to=target, directory=folder, flow=media, settings={"first_port": port})
    origin_ns = _send(folder, tmp_path / "sent.pcap", f"udp dst portrange {port}-{port + 3}")
    found = packets_in(tmp_path / "sent.pcap")
    found = found.select(found.payload_bytes > _GREETING_BYTES)
    start_s, packets, size_bytes = _epochs(folder, media)

    sent_bytes, sent_packets, _ = _of_runs(found)
    assert sent_packets.sum() == pytest.approx(packets.sum(), rel=0.01)
    np.testing.assert_allclose(sent_bytes, size_bytes, rtol=0.05)

    # by the clock too; on a busy machine single runs may start late
    time_s = s_from_ns(found.time_ns + (found.origin_ns - origin_ns))
    by_clock = np.array(
        [found.payload_bytes[(time_s >= at) & (time_s < at + 1)].sum() for at in start_s]
    )
    assert is_on_time(float(np.median(np.abs(by_clock / size_bytes - 1))) < 0.05)


@pytest.mark.parametrize("target", _TOOLS)
def test_sessions_with_tcp_are_sent_to_the_end(tmp_path: Path, target: str) -> None:
    tool, port = _TOOLS[target][0], _TOOLS[target][1] + 30
    need(tool, "bash", "tcpdump")
    table = trafficgen.generate("wmedia9_nichols2004", duration_s=6)
    folder = tmp_path / "out"
    report = trafficgen.export(table, to=target, directory=folder, settings={"first_port": port})
    [control] = [row["flow"] for row in table.flows.to_pylist() if row["protocol"] == "tcp"]
    _send(folder, tmp_path / "sent.pcap", f"dst portrange {port}-{port + 11}")
    found = packets_in(tmp_path / "sent.pcap")
    udp = np.array([row["protocol"] == "udp" for row in found.flows.to_pylist()])[found.flow]
    _, control_packets, control_bytes = _epochs(folder, control)
    media = found.select(udp & (found.payload_bytes > _GREETING_BYTES))
    assert len(media) == pytest.approx((report.packets or 0) - int(control_packets.sum()), rel=0.01)
    if target == "iperf2":  # it has no connection beside the data
        sent_bytes, _, _ = _of_runs(found.select(~udp & (found.payload_bytes > 0)))
        assert sent_bytes.tolist() == control_bytes.tolist()


def test_a_workload_is_sent_to_the_last_byte(tmp_path: Path) -> None:
    need("iperf3")
    folder, ports = tmp_path / "out", "15301-15399"
    report = send_workload(
        folder,
        tmp_path / "sent.pcap",
        f"udp dst portrange {ports}",
        to="iperf3",
        settings={"first_port": 15_301},
    )
    runs = (folder / "runs.txt").read_text().splitlines()
    udp = [re.search(r" -u .*-k (\d+) -l (\d+)", line) for line in runs]
    wanted = [(int(one[1]), int(one[2])) for one in udp if one]
    found = packets_in(tmp_path / "sent.pcap")
    payload, packets, _ = _of_runs(found.select(found.payload_bytes > _GREETING_BYTES))
    assert sorted(zip(packets.tolist(), payload.tolist(), strict=True)) == sorted(
        (count, count * size) for count, size in wanted
    )
    assert sum(count for count, _ in wanted) <= (report.packets or 0)
    assert (folder / "failed.log").read_text() == ""
