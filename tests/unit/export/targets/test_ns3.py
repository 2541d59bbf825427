"""Files for ns-3, worked by hand; that ns-3 takes them is shown in
``tests/real_tools/test_ns3.py``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import build_table

import trafficgen
from trafficgen.errors import ExportError, SettingError
from trafficgen.tables import PacketTable

TIMES_S = [0.0, 0.0004, 0.0006, 0.0126, 0.0126]
PAYLOADS = [100, 5, 12, 1500, 0]


@pytest.fixture
def packets() -> PacketTable:
    return build_table(TIMES_S, ip_bytes=np.array(PAYLOADS) + 28)


def test_a_trace_counts_from_one_in_whole_milliseconds_without_a_last_newline(
    packets: PacketTable, tmp_path: Path
) -> None:
    report = trafficgen.export(packets, to="ns3", directory=tmp_path)
    assert (
        (tmp_path / "flow0.trace").read_bytes()
        == b"1 P 1 100\n2 P 1 12\n3 P 2 12\n4 P 14 1500\n5 P 14 12"
    )  # 0.4, 0.6 and 12.6 ms, one more each
    assert report.packets_changed == 2
    assert report.bytes_after - (report.bytes_before or 0) == 7 + 12  # type: ignore[operator]
    assert report.timing_error_s is not None
    assert report.timing_error_s.max == pytest.approx(0.0004)
    assert "sizes below 12 bytes were raised to 12 (2 packets)" in report.cannot_express


def test_packets_of_tcp_are_told_of_the_mode_that_takes_them(tmp_path: Path) -> None:
    tcp = build_table([0.0, 0.1], flows=[{"flow": 0, "protocol": "tcp"}])
    with pytest.raises(
        ExportError, match=r"mode=trace sends UDP.* are TCP; add settings=.'mode': 'exact'"
    ):
        trafficgen.export(tcp, to="ns3", directory=tmp_path)


def test_a_trace_has_no_error_that_grows(tmp_path: Path) -> None:
    n = 30_000
    packets = build_table(np.arange(n) * 0.0333333)
    report = trafficgen.export(packets, to="ns3", directory=tmp_path)
    assert report.timing_error_s is not None
    assert report.timing_error_s.max <= 0.0005
    times_ms = np.loadtxt(tmp_path / "flow0.trace", usecols=2)
    np.testing.assert_allclose(times_ms - 1, np.arange(n) * 33.3333, atol=0.5)


def test_the_exact_schedule_beside_a_trace_has_the_nanoseconds_and_sizes_of_the_table(
    packets: PacketTable, tmp_path: Path
) -> None:
    trafficgen.export(packets, to="ns3", directory=tmp_path)
    assert (
        (tmp_path / "flow0.csv").read_text()
        == "time_ns,payload_bytes\n0,100\n400000,5\n600000,12\n12600000,1500\n12600000,0\n"
    )


def test_the_table_of_flows_says_what_the_scenario_must_know(tmp_path: Path) -> None:
    flows = [{"flow": number} for number in range(3)]
    packets = build_table([0.0, 0.25, 0.5], flow=[2, 1, 2], ip_bytes=[128, 528, 1028], flows=flows)
    trafficgen.export(packets, to="ns3", directory=tmp_path, settings={"first_port": 6000})
    assert (tmp_path / "flows.csv").read_text().splitlines() == [
        "flow,protocol,port,first_ns,last_ns,packets,largest_payload_bytes",
        "1,udp,6000,250000000,250000000,1,500",
        "2,udp,6001,0,500000000,2,1000",
    ]


@pytest.mark.parametrize("name", ["scenario.py", "scenario.cc"])
def test_the_scenario_has_the_link_and_the_mode_of_the_settings(
    packets: PacketTable, tmp_path: Path, name: str
) -> None:
    settings: dict[str, str | float] = {
        "mode": "exact",
        "link_rate_kbps": 725,
        "link_delay_ms": 22.5,
        "queue_packets": 80,
    }
    trafficgen.export(packets, to="ns3", directory=tmp_path, settings=settings)
    text = (tmp_path / name).read_text()
    assert [
        value for value in ("725kbps", "22.5ms", "80p", "exact") if f'"{value}"' not in text
    ] == []
    assert "@" not in text


def test_exact_schedules_change_nothing(packets: PacketTable, tmp_path: Path) -> None:
    report = trafficgen.export(packets, to="ns3", directory=tmp_path, settings={"mode": "exact"})
    assert report.packets_changed == 0
    assert "flow0.trace" not in report.files


def test_bursts_are_packets_and_the_time_to_the_next(packets: PacketTable, tmp_path: Path) -> None:
    report = trafficgen.export(packets, to="ns3", directory=tmp_path, settings={"mode": "bursts"})
    assert (tmp_path / "flow0.bursts.csv").read_text().splitlines() == [
        "# burst_size_bytes,time_to_next_burst_s",
        "100,0.0004000003",
        "24,0.0002000003",
        "24,0.0120000003",
        "1500,0.0000000003",
        "24,0.0000000003",
    ]
    assert "sizes below 24 bytes were raised to 24 (3 packets)" in report.cannot_express
    assert "flow0.bursts.csv" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("whole", [np.floor, np.rint])
def test_times_between_bursts_are_whole_nanoseconds_whether_cut_or_rounded(
    tmp_path: Path, whole: np.ufunc
) -> None:
    time_ns = np.cumsum(np.random.default_rng(3).integers(0, 10**8, 5000))
    packets = build_table(time_ns / 1e9)
    trafficgen.export(packets, to="ns3", directory=tmp_path, settings={"mode": "bursts"})
    gap_s = np.loadtxt(tmp_path / "flow0.bursts.csv", delimiter=",", usecols=1)
    np.testing.assert_array_equal(whole(gap_s * 1e9)[:-1], np.diff(packets.time_ns))


def test_a_trace_that_its_times_cannot_count_is_refused(tmp_path: Path) -> None:
    packets = build_table([0.0, 2**32 / 1000])
    with pytest.raises(
        ExportError, match=r"flow 0: a trace of ns-3 counts 32 bits of milliseconds.*'exact'"
    ):
        trafficgen.export(packets, to="ns3", directory=tmp_path / "out")
    trafficgen.export(packets, to="ns3", directory=tmp_path / "out", settings={"mode": "exact"})


def test_a_datagram_larger_than_udp_is_refused(tmp_path: Path) -> None:
    packets = build_table([0.0, 1.0], ip_bytes=[1000, 65_535 + 28])
    with pytest.raises(ExportError, match="ns3 sends at most 65507 payload bytes, not 65535"):
        trafficgen.export(packets, to="ns3", directory=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_more_flows_than_ports_are_refused(tmp_path: Path) -> None:
    packets = build_table([0.0, 1.0], flow=[0, 1])
    with pytest.raises(SettingError, match="2 flows need the ports from first_port=65535 to 65536"):
        trafficgen.export(
            packets, to="ns3", directory=tmp_path / "out", settings={"first_port": 65_535}
        )


def test_what_travels_in_fragments_is_told(tmp_path: Path) -> None:
    report = trafficgen.export(
        build_table([0.0, 1.0], ip_bytes=[1500, 1501]), to="ns3", directory=tmp_path
    )
    text = "datagrams above 1472 payload bytes travel as IP fragments (1 datagrams)"
    assert text in report.cannot_express
