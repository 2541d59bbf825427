"""What MGEN and D-ITG log of packets on loopback, read back: every packet with its size, times and
arrival.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.reading import read_trace
from trafficgen.capture.traces.trace_format import ReadTrace
from trafficgen.export.targets import TARGETS
from trafficgen.tables import PacketTable
from trafficgen.units import s_from_ns

_TIMEOUT_S = 60
_QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def _needs(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _delays_s(trace: ReadTrace) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    table = trace.table
    delay_ns = table.values("arrival_ns").astype(np.int64) - table.time_ns
    return np.asarray(s_from_ns(delay_ns[table.is_known("arrival_ns")]), dtype=np.float64)


@pytest.fixture(scope="module")
def mgen_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a sender of two flows and a receiver; return the folder with ``sent.log`` and
    ``received.log``.
    """
    _needs("mgen")
    folder, port = tmp_path_factory.mktemp("mgen"), _free_port()
    (folder / "script").write_text(
        f"0.1 ON 1 UDP DST 127.0.0.1/{port} PERIODIC [50 256] COUNT 20\n"
        f"0.2 ON 2 UDP DST 127.0.0.1/{port} PERIODIC [100 1000] COUNT 30\n1.2 OFF 1\n1.2 OFF 2\n"
    )
    listen = ["mgen", "port", str(port), "output", str(folder / "received.log"), "flush"]
    receiver = subprocess.Popen(listen, **_QUIET)
    try:
        time.sleep(0.5)
        send = [
            "mgen",
            "input",
            str(folder / "script"),
            "txlog",
            "output",
            str(folder / "sent.log"),
        ]
        subprocess.run(send, check=True, capture_output=True, timeout=_TIMEOUT_S)
        time.sleep(0.3)
    finally:
        _stop(receiver)
    return folder


def test_a_sender_log_of_mgen_has_every_packet(mgen_logs: Path) -> None:
    trace = read_trace(str(mgen_logs / "sent.log"))
    assert (trace.format, trace.unread, trace.doubts) == ("mgen", 0, ())
    sizes = trace.table.payload_bytes
    assert [int((sizes == size).sum()) for size in (256, 1000)] == [20, 30]
    first_flow_s = s_from_ns(trace.table.time_ns[trace.table.flow == 0])
    assert first_flow_s[-1] - first_flow_s[0] == pytest.approx(19 / 50, abs=0.1)


def test_a_receiver_log_of_mgen_has_the_times_of_both_ends(mgen_logs: Path) -> None:
    trace = read_trace(str(mgen_logs / "received.log"))
    assert (len(trace.table), trace.unread) == (50, 0)
    delays_s = _delays_s(trace)
    assert len(delays_s) == 50
    assert 0 <= delays_s.min() <= delays_s.max() < 1
    sent = read_trace(str(mgen_logs / "sent.log")).table
    assert np.array_equal(
        np.sort(sent.time_ns - sent.time_ns[0]),
        np.sort(trace.table.time_ns - trace.table.time_ns[0]),
    )


def test_packets_that_the_receiver_of_mgen_does_not_have_are_lost(
    mgen_logs: Path, tmp_path: Path
) -> None:
    received = (mgen_logs / "received.log").read_text().splitlines(keepends=True)
    lines = [line for line in received if " RECV " in line]
    (tmp_path / "both.log").write_text(
        (mgen_logs / "sent.log").read_text() + "".join(lines[:10] + lines[13:])
    )
    table = read_trace(str(tmp_path / "both.log")).table
    assert (len(table), int(table.is_known("arrival_ns").sum())) == (50, 47)
    found = trafficgen.convert(tmp_path / "both.log", tmp_path / "receiver.pcap", at="receiver")
    assert found.to_json()["lost"] == 3
    assert len(trafficgen.read_packets(tmp_path / "receiver.pcap")) == 47


#: By which ITGSend and ITGRecv talk here: others may use theirs meanwhile.
_SIGNAL_PORT = 9031


@contextmanager
def _receiving_ditg(folder: Path) -> Iterator[None]:
    """Let ITGRecv run in a folder meanwhile."""
    receiver = subprocess.Popen(["ITGRecv", "-Sp", str(_SIGNAL_PORT)], cwd=folder, **_QUIET)
    try:
        time.sleep(0.5)
        assert receiver.poll() is None, f"ITGRecv ended with {receiver.returncode}"
        yield
    finally:
        _stop(receiver)


@pytest.fixture(scope="module")
def ditg_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run ITGSend and ITGRecv; return the folder with ``send.txt`` and ``recv.txt`` as ITGDec
    writes them.
    """
    _needs("ITGSend", "ITGRecv", "ITGDec")
    folder, port = tmp_path_factory.mktemp("ditg"), _free_port()
    with _receiving_ditg(folder):
        flow = [
            "-a",
            "127.0.0.1",
            "-rp",
            str(port),
            "-C",
            "50",
            "-c",
            "300",
            "-z",
            "25",
            "-T",
            "UDP",
        ]
        send = ["ITGSend", "-Sdp", str(_SIGNAL_PORT), *flow, "-l", "send.log", "-x", "recv.log"]
        subprocess.run(send, cwd=folder, check=True, capture_output=True, timeout=_TIMEOUT_S)
        time.sleep(0.3)
    for name in ("send", "recv"):
        decode = ["ITGDec", f"{name}.log", "-l", f"{name}.txt"]
        subprocess.run(decode, cwd=folder, check=True, capture_output=True, timeout=_TIMEOUT_S)
    return folder


def test_a_receiver_log_of_ditg_has_every_packet_with_its_arrival(ditg_logs: Path) -> None:
    trace = read_trace(str(ditg_logs / "recv.txt"), options=TraceOptions(protocol="udp"))
    assert (trace.format, trace.unread) == ("ditg", 0)
    assert trace.table.payload_bytes.tolist() == [300] * 25
    delays_s = _delays_s(trace)
    assert len(delays_s) == 25
    assert 0 <= delays_s.min() <= delays_s.max() < 1
    span_s = s_from_ns(int(trace.table.time_ns[-1] - trace.table.time_ns[0]))
    printed = re.findall(r"txTime>(\d+):(\d+):(\d+\.\d+)", (ditg_logs / "recv.txt").read_text())
    assert len(printed) == 25
    first_s, last_s = (
        int(hours) * 3600 + int(minutes) * 60 + float(s)
        for hours, minutes, s in printed[:: len(printed) - 1]
    )
    assert span_s == pytest.approx((last_s - first_s) % 86_400, abs=1e-5)


def test_a_sender_log_of_ditg_is_not_taken_for_a_path_without_delay(ditg_logs: Path) -> None:
    table = read_trace(str(ditg_logs / "send.txt"), options=TraceOptions(protocol="udp")).table
    assert table.payload_bytes.tolist() == [300] * 25
    assert not table.is_known("arrival_ns").any()


@pytest.mark.filterwarnings("ignore:.*captured in part")  # it is one cut to 64 bytes a packet
@pytest.mark.parametrize("times", ["frame.time_epoch", "frame.time_relative"])
def test_a_list_that_tshark_made_of_a_capture_is_the_capture(tmp_path: Path, times: str) -> None:
    _needs("tshark")
    capture = (
        Path(__file__).resolve().parents[2]
        / "examples"
        / "captures"
        / "rtsp_rtp_two_streams.pcap.gz"
    )
    columns = [
        times,
        "ip.src",
        "ip.dst",
        "udp.srcport",
        "udp.dstport",
        "tcp.srcport",
        "tcp.dstport",
        "ip.proto",
    ]
    fields = [part for name in [*columns, "frame.len", "ip.len"] for part in ("-e", name)]
    listing = [
        "tshark",
        "-n",
        "-r",
        str(capture),
        "-T",
        "fields",
        "-E",
        "header=y",
        "-E",
        "separator=,",
        *fields,
    ]
    made = subprocess.run(listing, check=True, capture_output=True, text=True, timeout=_TIMEOUT_S)
    (tmp_path / "list.csv").write_text(made.stdout)
    listed = trafficgen.convert(tmp_path / "list.csv").table
    captured = trafficgen.convert(capture).table
    for name in ("frame_bytes", "ip_bytes", "to_client"):
        assert np.array_equal(listed.values(name), captured.values(name)), name
    assert np.array_equal(
        listed.time_ns - listed.time_ns[0], captured.time_ns - captured.time_ns[0]
    )
    names = ("server", "server_port", "client", "client_port")
    ends = [sorted(map(str, table.flows.select(names).to_pylist())) for table in (listed, captured)]
    assert ends[0] == ends[1]


@pytest.fixture(scope="module")
def schedule() -> PacketTable:
    """Return three seconds of the video of a capture, without packets that are too small for the
    tools.
    """
    capture = (
        Path(__file__).resolve().parents[2]
        / "examples"
        / "captures"
        / "rtsp_rtp_two_streams.pcap.gz"
    )
    with pytest.warns(trafficgen.CaptureWarning, match="captured in part"):
        table = trafficgen.read_packets(capture)
    heaviest = int(np.argmax(table.flows.column("frame_bytes_to_client").to_numpy()))
    start_s = table.time_s[table.flow == heaviest][0]
    wanted = (
        (table.flow == heaviest)
        & table.to_client
        & (table.payload_bytes >= 28)
        & (table.time_s < start_s + 3)
    )
    return table.select(wanted)


def _exported(table: PacketTable, folder: Path, target: str) -> None:
    if target not in TARGETS:
        pytest.skip(f"there is no target {target} yet")
    settings = {"first_port": str(_free_port())} | (
        {"signal_port": _SIGNAL_PORT} if target == "ditg" else {}
    )
    trafficgen.export(table, to=target, directory=folder, settings=settings)


def _check_sent(found: PacketTable, log: Path, clock_time: str, schedule: PacketTable) -> None:
    """Check a log read back against the schedule that its tool was given, and its own times.

    How late the tool sent is the machine's affair, so the times are those that the log says.

    Args:
        found: The packets that were read from the log.
        log: The text that the tool wrote.
        clock_time: What its lines have before the hour, minute and second of a sending.
        schedule: What the tool was told to send.
    """
    assert found.payload_bytes.tolist() == schedule.payload_bytes.tolist()
    assert len(np.unique(found.flow)) == 1
    sent = re.findall(rf"{clock_time}(\d+):(\d+):(\d+\.\d+)", log.read_text(), re.MULTILINE)
    written_s = np.array(sent, float) @ (3600, 60, 1)
    since_first_s = np.mod(written_s - written_s[0], 86_400)
    assert found.time_s - found.time_s[0] == pytest.approx(since_first_s, abs=1e-6)
    assert since_first_s[-1] > 0.9 * (schedule.time_s[-1] - schedule.time_s[0])


def test_what_mgen_sent_of_an_export_reads_back_from_its_log(
    tmp_path: Path, schedule: PacketTable
) -> None:
    _needs("mgen")
    _exported(schedule, tmp_path / "out", "mgen")
    sink = subprocess.Popen(
        ["mgen", "input", "sink.mgn", "output", "sink.log"], cwd=tmp_path / "out", **_QUIET
    )
    try:
        time.sleep(0.5)
        (script,) = (tmp_path / "out").glob("flow*.mgn")
        send = ["mgen", "input", script.name, "txlog", "output", "sent.log"]
        subprocess.run(
            send, cwd=tmp_path / "out", check=True, capture_output=True, timeout=_TIMEOUT_S
        )
        time.sleep(0.3)
    finally:
        _stop(sink)
    log = tmp_path / "out" / "sent.log"
    _check_sent(trafficgen.convert(log).table, log, r"^(?=\S+ SEND )", schedule)
    received = trafficgen.convert(tmp_path / "out" / "sink.log").table
    assert int(received.is_known("arrival_ns").sum()) == len(received) == len(schedule)


def test_what_ditg_sent_of_an_export_reads_back_from_its_log(
    tmp_path: Path, schedule: PacketTable
) -> None:
    _needs("ITGSend", "ITGRecv", "ITGDec")
    _exported(schedule, tmp_path / "out", "ditg")
    with _receiving_ditg(tmp_path / "out"):
        (script,) = (tmp_path / "out").glob("flow*.script")
        send = ["ITGSend", script.name, "-l", "send.log", "-x", "recv.log"]
        subprocess.run(
            send, cwd=tmp_path / "out", check=True, capture_output=True, timeout=_TIMEOUT_S
        )
        time.sleep(0.3)
    decode = ["ITGDec", "send.log", "-l", "send.txt"]
    subprocess.run(
        decode, cwd=tmp_path / "out", check=True, capture_output=True, timeout=_TIMEOUT_S
    )
    log = tmp_path / "out" / "send.txt"
    _check_sent(trafficgen.convert(log, protocol="udp").table, log, "txTime>", schedule)
