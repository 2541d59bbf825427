"""iperf 2: runs an epoch, with its last datagram left to the tool."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from tests.unit.export.schedules import steady, table_of

import trafficgen

_RUN = re.compile(r"^epoch (\d+) (\d+) (.*)$", re.MULTILINE)


def test_the_last_datagram_of_a_udp_run_is_left_to_iperf(tmp_path: Path) -> None:
    trafficgen.export(steady(), to="iperf2", directory=tmp_path, settings={"guard_s": 0})
    runs = _RUN.findall((tmp_path / "flow0.sh").read_text())
    # 99 gaps of 864 bytes in a second; iperf adds the hundredth datagram
    assert runs[0] == ("0", "0", "-u --no-udp-fin -p 5001 -n 85536 -l 864 -b 684288")
    assert [start for _, start, _ in runs] == [str(second * 1_000_000) for second in range(12)]


def test_a_single_packet_is_sent_as_two_halves(tmp_path: Path) -> None:
    table = table_of(np.array([0]), np.array([1000]))
    report = trafficgen.export(table, to="iperf2", directory=tmp_path, settings={"guard_s": 0})
    assert (
        _RUN.findall((tmp_path / "flow0.sh").read_text())[0][2]
        == "-u --no-udp-fin -p 5001 -n 500 -l 500 -b 8000"
    )
    assert report.packets == 2
    assert (report.bytes_before, report.bytes_after) == (1028, 1056)


def test_tcp_runs_have_all_their_writes(tmp_path: Path) -> None:
    table = table_of(np.array([0, 500_000_000]), np.array([1000, 1400]), protocol="tcp")
    trafficgen.export(table, to="iperf2", directory=tmp_path, settings={"guard_s": 0})
    assert (
        _RUN.findall((tmp_path / "flow0.sh").read_text())[0][2]
        == "-C -N -p 5001 -n 2400 -l 1200 -b 19200"
    )
    assert "iperf -s -p 5001" in (tmp_path / "sink.sh").read_text()


def test_an_ipv6_destination_is_sent_to_by_ipv6(tmp_path: Path) -> None:
    trafficgen.export(
        steady(), to="iperf2", directory=tmp_path, settings={"destination": "2001:db8::7"}
    )
    assert "iperf -V -c " in (tmp_path / "flow0.sh").read_text()
    assert "iperf -V -s -u -p 5001" in (tmp_path / "sink.sh").read_text()
