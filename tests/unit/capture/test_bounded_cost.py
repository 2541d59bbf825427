"""What a stranger's file may cost: work that grows with the file, not with its square. Where work
cannot be counted, texts are so long that the square would not come to an end."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trafficgen
from trafficgen.calibration.player_log.log_files import read_player_log
from trafficgen.capture.rtsp import parse_media_clocks, parse_rtsp
from trafficgen.capture.traces.formats import FORMATS
from trafficgen.capture.traces.list_values import plain_name
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.reading import read_trace
from trafficgen.errors import TrafficgenError
from trafficgen.flows import group_sessions
from trafficgen.flows import loss as loss_module
from trafficgen.flows import sessions as sessions_module
from trafficgen.simulation.competitors import Competitor, options_from_text
from trafficgen.tables import FLOW_SCHEMA, SIGNALLING_SCHEMA
from trafficgen.units import number_and_unit

_LONG = 300_000


def _flow(
    number: int, *, protocol: str, port: int, ssrc: int | None, time_ns: int
) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(FLOW_SCHEMA.names, 0)
    row |= {
        "flow": number,
        "session": number,
        "protocol": protocol,
        "media": "unknown",
        "ssrc": ssrc,
    }
    row |= {
        "server": "192.0.2.1",
        "client": "198.51.100.2",
        "server_port": port,
        "client_port": 1024 + number % 60_000,
    }
    return row | {
        "first_time_ns": time_ns,
        "last_time_ns": time_ns + 10**12,
        "payload_type": None,
        "clock_hz": None,
    }


@pytest.mark.parametrize("named", [True, False])
def test_joining_streams_to_connections_takes_steps_in_proportion(
    monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    joins: list[tuple[int, int]] = []

    class Counting(sessions_module._Union):
        def join(self, one: int, other: int) -> None:
            joins.append((one, other))
            super().join(one, other)

    monkeypatch.setattr(sessions_module, "_Union", Counting)
    half = 1500
    rows = [
        _flow(number, protocol="tcp", port=554, ssrc=None, time_ns=number) for number in range(half)
    ]
    rows += [
        _flow(half + number, protocol="udp", port=6000, ssrc=5, time_ns=number)
        for number in range(half)
    ]
    ports = [6000] if named else []
    message = dict.fromkeys(SIGNALLING_SCHEMA.names) | {
        "time_ns": 0,
        "to_client": False,
        "server_ports": ports,
    }
    message |= {"client_ports": [], "interleaved_channels": [], "media_clocks": []}
    signalling = pa.Table.from_pylist(
        [{**message, "flow": number} for number in range(half)], SIGNALLING_SCHEMA
    )
    grouped = group_sessions(pa.Table.from_pylist(rows, FLOW_SCHEMA), signalling)
    # Without names, media belong to the connection that began last before them.
    assert len(set(grouped.column("session").to_pylist())) == (1 if named else half)
    assert len(joins) < 10 * half


@pytest.mark.parametrize(
    "text",
    [
        "PLAY rtsp://h RTSP/1.0\r\nCSeq: " + "9" * 20_000,
        "RTSP/1.0 200 OK\r\nTransport: " + "client_port=" * 10_000,
        "RTSP/1.0 200 OK\r\n\r\na=rtpmap:" + "9" * 20_000 + " x/90000",
        "RTSP/1.0 200 OK\r\n\r\na=rtpmap:96 x/" + "9" * 20_000,
        "RTSP/1.0 200 OK\r\n\r\nm=video 0 RTP/AVP " + "9" * 20_000,
        "RTSP/1.0 200 OK\r\n\r\n" + "m=video 0 RTP/AVP 0 3 8\r\n" * 5000,
    ],
)
def test_numbers_and_lists_without_end_in_signalling_are_passed_over(text: str) -> None:
    message = parse_rtsp(text.encode())
    assert message is not None
    assert len(message.media_clocks) < 300
    assert len(parse_media_clocks(text)) < 300


@pytest.mark.parametrize(
    "text", ["1" * _LONG + "x y", "1." * _LONG, " " * _LONG + "1", "1e" * _LONG]
)
def test_quantities_of_any_length_are_answered(text: str) -> None:
    found = number_and_unit(text)
    assert found is None or 1 <= found[0] <= 10


@pytest.mark.parametrize(
    "text", [" " * _LONG, "(" * _LONG, "( " * _LONG, "a" + " " * _LONG + "(in " + "s" * _LONG]
)
def test_names_of_columns_of_any_length_are_answered(text: str) -> None:
    assert len(plain_name(text)) <= 250


@pytest.mark.parametrize(
    "text", ["," * _LONG, "(" * _LONG, "a=1," * _LONG, "x(" + "a=[1,2]," * (_LONG // 8)]
)
def test_competitors_of_any_length_are_answered(text: str) -> None:
    with pytest.raises(TrafficgenError):
        Competitor.parse(text + "@")
    with pytest.raises(TrafficgenError):
        options_from_text(text + ",nothing", place="here")


def test_commas_within_brackets_part_nothing() -> None:
    found = options_from_text('a=[1,2], b={"c": 3, "d": 4} ,e=6,,f=g(7,8)', place="here")
    assert found == {"a": "[1,2]", "b": '{"c": 3, "d": 4}', "e": "6", "f": "g(7,8)"}


@pytest.mark.filterwarnings("ignore::trafficgen.errors.CaptureWarning")
@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize(
    "line",
    [
        "# max frame size byte" * 3000,
        "1:2:3 SEND " + "flow>1 " * 9000,
        "Flow>1 Seq>1 " + " " * 60_000,
        "0 " * 30_000,
        "9" * 60_000,
        "time_s" + "," * 60_000,
    ],
)
def test_lines_of_any_length_are_answered(tmp_path: Path, name: str, line: str) -> None:
    path = tmp_path / "trace.txt"
    path.write_text(f"{line}\n{line}\n1 I 0 5000\n", encoding="ascii")
    for format_name in (None, name):
        try:
            read = read_trace(str(path), format_name=format_name)
        except TrafficgenError:
            continue
        assert len(read.table) >= 1


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "[" + "9" * 10_000 + "]", '{"samples": [{"time_s": ' + "1" * 6000 + "}]}"],
)
def test_player_logs_without_end_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log.json"
    path.write_text(text, encoding="ascii")
    with pytest.raises(TrafficgenError):
        read_player_log(path)


@pytest.mark.parametrize("name", ["time_s", "time_s,ip_bytes", "c{0}", '"c {0} (ms)"'])
@pytest.mark.parametrize("ending", ["", "\n1,2\n"])
def test_columns_without_end_are_refused_at_once(tmp_path: Path, name: str, ending: str) -> None:
    header = ",".join(name.format(number) for number in range(400_000))
    (tmp_path / "list.csv").write_text(header + ending)
    began_s = time.process_time()
    with pytest.raises(TrafficgenError, match="more than 10,000 columns"):
        trafficgen.convert(tmp_path / "list.csv", tmp_path / "out.csv")
    assert time.process_time() - began_s < 2  # far more where each name is looked at


@pytest.mark.parametrize("streams", [1, 200_000])
def test_frames_of_any_number_of_streams_take_a_sort(tmp_path: Path, streams: int) -> None:
    lines = "".join(f"0.001 100 {number % streams}\n" for number in range(200_000))
    (tmp_path / "frames.txt").write_text(lines)
    options = TraceOptions(line_rate_bps=1e9, rtp=True)
    read = read_trace(str(tmp_path / "frames.txt"), options=options)
    assert read.table.flows.num_rows == streams
    assert int(read.table.values("rtp_sequence")[-1]) == (200_000 // streams - 1) % (1 << 16)


def test_numbers_that_jump_all_the_time_are_counted_in_a_few_passes() -> None:
    place = np.arange(200_000)
    numbers = (place // 2 * 5003 + place % 2) % (1 << 16)
    assert loss_module._count(numbers, flow=0, ssrc=0).received == numbers.size


_PEAK_OF_READING = """
import re, sys
from trafficgen.capture.traces.reading import read_trace
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
read_trace(sys.argv[1])
before = peak()
read_trace(sys.argv[2])
print(peak() - before)
"""


def test_a_list_takes_a_few_times_its_table_in_memory(tmp_path: Path) -> None:
    rows = 400_000
    lines = "".join(f"{row}.5,{100 + row % 1300}\n" for row in range(rows))
    (tmp_path / "list.csv").write_text("time_s,ip_bytes\n" + lines)
    (tmp_path / "short.csv").write_text("time_s,ip_bytes\n" + lines[:100])
    names = [str(tmp_path / name) for name in ("short.csv", "list.csv")]
    command = [sys.executable, "-c", _PEAK_OF_READING, *names]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout) / rows < 300  # 387 with a Python string for each line, else 232
