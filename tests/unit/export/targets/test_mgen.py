from __future__ import annotations

import re
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import trafficgen
from trafficgen.errors import CaptureWarning, ExportError, SettingError
from trafficgen.tables import PACKET_SCHEMA, PacketTable


def sending(
    table: PacketTable, time_ns: list[int], payload_bytes: list[int], *, flow: int = 0
) -> PacketTable:
    """Return the table's flow with these packets to the client."""
    payload = np.array(payload_bytes, dtype=np.uint32)
    columns = {
        "time_ns": np.array(time_ns, dtype=np.int64),
        "flow": np.full(payload.size, flow, dtype=np.uint32),
        "to_client": np.ones(payload.size, dtype=np.bool_),
        "frame_bytes": payload + 42,
        "ip_bytes": payload + 28,
        "payload_bytes": payload,
    }
    return replace(
        table,
        packets=pa.table(
            columns, schema=pa.schema([PACKET_SCHEMA.field(name) for name in columns])
        ),
    )


def lines_of(file: Path) -> list[str]:
    return [line for line in file.read_text().splitlines() if not line.startswith("#")]


def test_every_datagram_is_a_flow_of_one_message_at_its_microsecond(
    table: PacketTable, tmp_path: Path
) -> None:
    report = trafficgen.export(
        sending(table, [5_000, 1_005_600, 2_000_004_499], [100, 200, 300]),
        to="mgen",
        directory=tmp_path,
    )
    assert lines_of(tmp_path / "flow0.mgn") == [
        "0.000000 ON 1 UDP SRC 15100 DST 127.0.0.1/5100 PERIODIC [1000 100] COUNT 1,off",
        "0.001001 ON 2 UDP SRC 15100 DST 127.0.0.1/5100 PERIODIC [1000 200] COUNT 1,off",
        "1.999999 ON 3 UDP SRC 15100 DST 127.0.0.1/5100 PERIODIC [1000 300] COUNT 1,off",
    ]
    assert lines_of(tmp_path / "sink.mgn") == ["0.0 LISTEN UDP 5100"]
    assert report.timing_error_s is not None
    assert report.timing_error_s.max == pytest.approx(499e-9)


def test_packets_of_one_microsecond_keep_their_order(table: PacketTable, tmp_path: Path) -> None:
    trafficgen.export(
        sending(table, [0, 0, 0, 1_000], [40, 50, 60, 70]), to="mgen", directory=tmp_path
    )
    times = [line.split()[0] for line in lines_of(tmp_path / "flow0.mgn")]
    assert times == ["0.000000", "0.000001", "0.000002", "0.000003"]


def test_small_datagrams_are_raised_and_counted(table: PacketTable, tmp_path: Path) -> None:
    report = trafficgen.export(
        sending(table, [0, 10, 20, 30], [27, 28, 1, 29]), to="mgen", directory=tmp_path
    )
    assert "sizes below 28 bytes were raised to 28 (2 packets)" in report.cannot_express
    assert report.bytes_before is not None
    assert report.bytes_after == report.bytes_before + 1 + 27


def test_large_datagrams_are_refused_or_cut(table: PacketTable, tmp_path: Path) -> None:
    packets = sending(table, [0, 1_000_000], [8_193, 100])
    with pytest.raises(
        ExportError, match=r"packet 0 at 0\.000000 s: mgen sends at most 8192 .*'oversize': 'split'"
    ):
        trafficgen.export(packets, to="mgen", directory=tmp_path / "a")
    report = trafficgen.export(
        packets, to="mgen", directory=tmp_path / "b", settings={"oversize": "split"}
    )
    sizes = [
        int(line.split("[1000 ")[1].split("]")[0])
        for line in lines_of(tmp_path / "b" / "flow0.mgn")
    ]
    assert sizes == [4_097, 4_096, 100]
    assert report.bytes_before == 8_193 + 100 + 2 * 28
    assert report.bytes_after == 8_193 + 100 + 3 * 28


def test_epochs_are_flows_that_end_after_their_packets(table: PacketTable, tmp_path: Path) -> None:
    times = [0, 100_000_000, 900_000_000, 5_250_000_000]
    report = trafficgen.export(
        sending(table, times, [100, 200, 303, 400]),
        to="mgen",
        directory=tmp_path,
        settings={"mode": "epochs"},
    )
    assert lines_of(tmp_path / "flow0.mgn") == [
        "0.000000 ON 1 UDP SRC 15100 DST 127.0.0.1/5100 PERIODIC [3 201] COUNT 3,off",
        "5.000000 ON 2 UDP SRC 15100 DST 127.0.0.1/5100 PERIODIC [1 400] COUNT 1,off",
    ]
    assert report.timing_error_s is not None
    assert report.timing_error_s.max == pytest.approx(0.25)  # the last: 5.25 s becomes 5 s


def test_long_schedules_become_epochs_or_several_scripts(
    table: PacketTable, tmp_path: Path
) -> None:
    packets = sending(table, [k * 1_000_000 for k in range(45_000)], [100] * 45_000)
    trafficgen.export(packets, to="mgen", directory=tmp_path / "auto")
    assert len(lines_of(tmp_path / "auto" / "flow0.mgn")) == 45
    report = trafficgen.export(
        packets, to="mgen", directory=tmp_path / "exact", settings={"mode": "exact"}
    )
    scripts = [f"flow0-{k}.mgn" for k in range(3)]
    assert report.files[:3] == tuple(scripts)
    lines = [lines_of(tmp_path / "exact" / script) for script in scripts]
    assert [len(part) for part in lines] == [20_000, 20_000, 5_000]
    assert lines[2][0].startswith("40.000000 ON ")


def test_a_tcp_flow_is_one_connection_that_is_changed_between_its_messages(
    table: PacketTable, tmp_path: Path
) -> None:
    times = [0, 1_000_000, 30_000_000, 130_000_000]
    report = trafficgen.export(
        sending(table, times, [500, 600, 10, 9_000], flow=1), to="mgen", directory=tmp_path, flow=1
    )
    lines = lines_of(tmp_path / "flow1.mgn")
    messages = [int(re.findall(r"\[\S+ (\d+)\]", line)[0]) for line in lines[:-1]]
    assert messages == [1_100, 76, 4_500, 4_500]  # two at once; one raised; one cut
    at_s = [float(line.split()[0]) for line in lines]
    assert at_s == pytest.approx([0, 0.015, 0.08, 0.1325, 0.635])
    assert [line.split()[1] for line in lines] == ["ON", "MOD", "MOD", "MOD", "OFF"]
    interval_us = [1e6 / float(re.findall(r"\[(\S+) ", line)[0]) for line in lines[:3]]
    assert interval_us == pytest.approx([30_000.5, 100_000.5, 5_000.5])
    assert any("4 TCP segments are 4 writes" in text for text in report.cannot_express)
    assert report.bytes_before is not None
    assert report.bytes_after == report.bytes_before + 66


def test_writes_that_would_come_too_fast_are_refused(table: PacketTable, tmp_path: Path) -> None:
    packets = sending(table, [0] * 100, [1_400] * 100, flow=1)
    with pytest.raises(ExportError, match=r"mgen writes at most 8192 bytes at once"):
        trafficgen.export(packets, to="mgen", directory=tmp_path / "out", flow=1)


def test_a_clone_is_a_pcap_of_ethernet_ipv4_and_udp(table: PacketTable, tmp_path: Path) -> None:
    packets = sending(table, [0, 1_500_000_000, 2_000_000_000], [100, 1_400, 28])
    report = trafficgen.export(packets, to="mgen", directory=tmp_path, settings={"mode": "clone"})
    assert lines_of(tmp_path / "flow0.mgn") == [
        "0.000000 ON 1 UDP SRC 15100 DST 127.0.0.1/5100 CLONE [tcpdump flow0.pcap 0]"
    ]
    assert "flow0.pcap" in report.files
    with pytest.warns(CaptureWarning, match="captured in part"):  # of the payload nothing is there
        found = trafficgen.read_packets(tmp_path / "flow0.pcap")
    assert found.payload_bytes.tolist() == [100, 1_400, 28]
    assert (found.frame_bytes - 42).tolist() == [100, 1_400, 28]
    assert np.diff(found.time_ns).tolist() == [1_500_000_000, 500_000_000]
    header = (tmp_path / "flow0.pcap").read_bytes()[24 + 16 + 14 :][:20]
    words = struct.unpack(">10H", header)
    assert (sum(words) % 0xFFFF) == 0  # RFC 1071: the checksum makes the sum all ones
    with pytest.raises(ExportError, match="one packet and mgen clones two or more"):
        trafficgen.export(
            sending(table, [0], [100]),
            to="mgen",
            directory=tmp_path / "b",
            settings={"mode": "clone"},
        )


def test_ports_end_at_the_last_one(table: PacketTable, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="2 flows need the ports from first_port=65535"):
        trafficgen.export(
            table, to="mgen", directory=tmp_path / "out", settings={"first_port": 65_535}
        )
