"""Files for INET, read back by a parser written from what NetPerfMeter's source does, not from the
exporter.

OMNeT++ is not run here. A trace is a list of delays and frame sizes; each delay comes before its
frame, counted from ``connectTime + startTime``; after the last frame it begins anew, until
``connectTime + resetTime + stopTime``.
"""

from __future__ import annotations

import re
from configparser import ConfigParser
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import build_table
from tests.golden.exports import small_table

import trafficgen
from trafficgen.errors import ExportError, SettingError

#: A line of a trace, as sscanf takes it with "%lf %u %u".
_LINE = re.compile(rb"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) (\d+) (\d+)")
_LONGEST_LINE_BYTES = 255
_LARGEST_UNSIGNED = 2**32 - 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    trafficgen.export(small_table(), to="inet", directory=tmp_path)
    return tmp_path


def parameters(folder: Path) -> dict[str, str]:
    """Return the configuration's keys -> values."""
    parser = ConfigParser(delimiters=("=",), interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(folder / "omnetpp.ini", encoding="ascii")
    assert parser.sections() == ["General"]
    return dict(parser["General"])


def seconds(text: str) -> float:
    assert text.endswith("s")
    return float(text.removesuffix("s"))


def played(folder: Path, application: int) -> list[tuple[float, int]]:
    """Return time and size of each frame that a NetPerfMeter of the configuration sends."""
    known = parameters(folder)

    def of(name: str) -> str:
        return known[f"*.sender.app[{application}].{name}"]

    entries = []
    for line in (folder / of("traceFile").strip('"')).read_bytes().splitlines():
        assert len(line) <= _LONGEST_LINE_BYTES
        found = _LINE.fullmatch(line)
        assert found is not None, line
        delay_s, frame_bytes, stream = float(found[1]), int(found[2]), int(found[3])
        assert (
            0 < frame_bytes <= min(_LARGEST_UNSIGNED, int(of("maxMsgSize").removesuffix("B")))
        )  # else it is split
        assert stream == 0  # another is for SCTP alone
        entries.append((delay_s, frame_bytes))
    connect_s = seconds(of("connectTime"))
    now_s = connect_s + seconds(of("startTime"))
    end_s = min(
        connect_s + seconds(of("resetTime")) + seconds(of("stopTime")),
        seconds(known["sim-time-limit"]),
    )
    frames: list[tuple[float, int]] = []
    for delay_s, frame_bytes in cycle(entries):
        now_s += delay_s
        if now_s >= end_s:
            return frames
        frames.append((now_s, frame_bytes))
    raise AssertionError("an empty trace")


@pytest.mark.parametrize(("application", "flow"), [(0, 0), (1, 1), (2, 2)])
def test_each_application_sends_its_flow_once_at_the_times_of_the_schedule(
    folder: Path, application: int, flow: int
) -> None:
    table = small_table()
    rows = (table.flow == flow) & ((table.payload_bytes > 0) | (flow != 1))
    frames = played(folder, application)
    origin_s = 11.0
    np.testing.assert_allclose(
        [time for time, _ in frames], origin_s + table.time_s[rows], rtol=0, atol=1e-12
    )
    assert [size for _, size in frames] == np.maximum(table.payload_bytes[rows], 1).tolist()


def test_every_application_has_a_sink_on_its_port_and_a_port_of_its_own(folder: Path) -> None:
    known = parameters(folder)
    assert known["*.sender.numApps"] == known["*.receiver.numApps"] == "3"
    ports = []
    for number, sink in enumerate(("UdpSink", "TcpSinkApp", "UdpSink")):
        sender, receiver = f"*.sender.app[{number}]", f"*.receiver.app[{number}]"
        assert known[f"{sender}.typename"] == '"NetPerfMeter"'
        assert (
            known[f"{sender}.protocol"] == {"UdpSink": '"UDP"', "TcpSinkApp": '"TCP"'}[sink]
        )  # SCTP unless set
        assert known[f"{receiver}.typename"] == f'"{sink}"'
        assert known[f"{sender}.remotePort"] == known[f"{receiver}.localPort"]
        assert known[f"{sender}.remoteAddress"] == '"receiver"'
        ports.append(known[f"{sender}.localPort"])
    assert len(set(ports)) == 3


def test_no_parameter_is_one_that_netperfmeter_does_not_have(folder: Path) -> None:
    known = {
        *(
            "typename",
            "activeMode",
            "protocol",
            "localPort",
            "remoteAddress",
            "remotePort",
            "traceFile",
            "maxMsgSize",
        ),
        *("connectTime", "startTime", "resetTime", "stopTime"),
    }
    assert {key.rpartition(".")[2] for key in parameters(folder) if ".sender.app" in key} == known


def test_the_network_has_both_hosts_and_the_link_of_the_settings(tmp_path: Path) -> None:
    settings: dict[str, str | float] = {"link_rate_kbps": 725, "link_delay_ms": 22.5}
    trafficgen.export(small_table(), to="inet", directory=tmp_path, settings=settings)
    text = (tmp_path / "TrafficgenReplay.ned").read_text()
    network = parameters(tmp_path)["network"]
    assert re.search(rf"^network {network}$", text, re.MULTILINE)
    assert text.count("{") == text.count("}") == 2
    imported = {
        line.rpartition(".")[2] for line in re.findall(r"^import ([\w.]+);$", text, re.MULTILINE)
    }
    modules = dict(re.findall(r"^        (\w+): (\w+);$", text, re.MULTILINE))
    assert {"sender", "receiver", "configurator"} == set(modules)
    assert set(modules.values()) | {"DatarateChannel"} == imported
    assert "sender.pppg++ <--> Link <--> receiver.pppg++;" in text
    assert re.search(r"datarate = 725kbps;\s+delay = 22.5ms;", text)


@pytest.mark.parametrize(("delay_ms", "start"), [(10.0, "1s"), (250.0, "1s"), (600.0, "3s")])
def test_sending_starts_after_connections_can_have_been_made(
    tmp_path: Path, delay_ms: float, start: str
) -> None:
    trafficgen.export(
        small_table(), to="inet", directory=tmp_path, settings={"link_delay_ms": delay_ms}
    )
    known = parameters(tmp_path)
    for number in range(3):
        assert (
            known[f"*.sender.app[{number}].startTime"]
            == known[f"*.sender.app[{number}].resetTime"]
            == start
        )
    assert len(played(tmp_path, 1)) == 3


def test_times_do_not_drift(tmp_path: Path) -> None:
    n = 30_000
    table = build_table(np.arange(n) / 3)
    report = trafficgen.export(table, to="inet", directory=tmp_path)
    assert report.timing_error_s is not None
    assert report.timing_error_s.max == 0
    delays_ns = np.rint(np.loadtxt(tmp_path / "flow0.trace", usecols=0) * 1e9).astype(np.int64)
    np.testing.assert_array_equal(np.cumsum(delays_ns) - delays_ns[0], table.time_ns)


def test_what_netperfmeter_cannot_send_is_told_or_refused(tmp_path: Path) -> None:
    report = trafficgen.export(small_table(), to="inet", directory=tmp_path / "out")
    assert "empty datagrams were given 1 byte (1 packet)" in report.cannot_express
    assert report.packets_changed == 1
    large = build_table([0.0], ip_bytes=65_535 + 28)
    with pytest.raises(ExportError, match="inet sends at most 65507 payload bytes, not 65535"):
        trafficgen.export(large, to="inet", directory=tmp_path / "large")
    with pytest.raises(SettingError, match="3 flows need the ports from first_port=65534 to 65536"):
        trafficgen.export(
            small_table(), to="inet", directory=tmp_path / "ports", settings={"first_port": 65_534}
        )
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
