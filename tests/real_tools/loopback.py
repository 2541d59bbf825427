"""What a real tool sends over the loopback interface: captured, and put beside the schedule it was
given.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.packet_files.writing import write_packets
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray, IntArray, s_from_ns

_READY_S, _LAST_PACKETS_S = 10.0, 0.3
#: A machine is late where one sleep in ten ends so much after its time.
_SLEEP_S, _LATE_S = 0.002, 0.0005
#: How late the sleeps ended that were tried while the last capture ran.
_late_s: list[float] = []


def need(*tools: str, root: bool = True) -> None:
    """Skip the test where a tool is missing, or nobody may capture."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if root and os.geteuid() != 0:
        pytest.skip("capturing needs root")


def is_on_time(condition: bool | np.bool) -> bool:
    """Return what was found of packets' times; skip where it fails on a machine that wakes late.

    Tools sleep between packets: where other work keeps the processors, their times show that work.
    """
    if not condition and (late := float(np.quantile(_late_s, 0.9))) > _LATE_S:
        pytest.skip(f"sleeping programs woke up to {1000 * late:.1f} ms late on this machine")
    return bool(condition)


@contextmanager
def _sleeps_measured() -> Iterator[None]:
    """Note meanwhile how late a program wakes that sleeps, as the tools do."""
    done = threading.Event()
    _late_s.clear()

    def sleep() -> None:
        while not done.is_set():
            before = time.perf_counter()
            time.sleep(_SLEEP_S)
            _late_s.append(time.perf_counter() - before - _SLEEP_S)

    thread = threading.Thread(target=sleep)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def captured(file: Path, what: str, *, interface: str = "lo") -> Iterator[None]:
    """Capture what passes an interface meanwhile.

    Args:
        file: The pcap file that is written.
        what: Capture filter, such as ``udp dst port 5000``.
        interface: Name of the interface.
    """
    command = ["tcpdump", "-i", interface, "-w", str(file), "-U", "-B", "32768", "-Z", "root"]
    command += ["--immediate-mode", "--time-stamp-precision=nano", what]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as capture:
        try:
            _wait_until_listening(capture)
            with _sleeps_measured():
                yield
            time.sleep(_LAST_PACKETS_S)
        finally:
            capture.terminate()  # with -U nothing is cut off
            capture.wait(timeout=_READY_S)


def _wait_until_listening(capture: subprocess.Popen[str]) -> None:
    assert capture.stderr is not None
    for line in capture.stderr:
        if "listening on" in line:
            return
    raise RuntimeError("tcpdump ended before it listened")


@contextmanager
def running(
    command: Sequence[str], *, cwd: Path | None = None, ready_s: float = 0.3
) -> Iterator[subprocess.Popen[str]]:
    """Run a sink in the background; it is stopped at the end, and must not have ended by itself
    when work begins.
    """
    with subprocess.Popen(
        list(command),
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as sink:
        try:
            time.sleep(ready_s)
            assert sink.poll() is None, f"{command[0]} ended with {sink.returncode}"
            yield sink
        finally:
            sink.terminate()
            try:
                sink.wait(timeout=_READY_S)
            except subprocess.TimeoutExpired:
                sink.kill()


@dataclass(frozen=True)
class Sent:
    """Packets that a tool sent, beside those that it was to send.

    Attributes:
        wanted: What was to be sent.
        found: What was captured.
    """

    wanted: PacketTable
    found: PacketTable

    @property
    def packets_ratio(self) -> float:
        """Packets captured over packets wanted."""
        return len(self.found) / len(self.wanted)

    def timing_errors_s(self) -> FloatArray:
        """Return the difference of each packet's time, the k-th sent against the k-th wanted, shape
        (n,).

        Both count from an origin of their own; the median difference is taken away.
        """
        n = min(len(self.wanted), len(self.found))
        difference_ns = self.found.time_ns[:n] - self.wanted.time_ns[:n]
        return np.abs(s_from_ns(difference_ns - int(np.median(difference_ns))))

    def payload_bytes(self) -> tuple[IntArray, IntArray]:
        """Return payloads wanted and found, in order, shape (n,) each."""
        return self.wanted.payload_bytes.astype(np.int64), self.found.payload_bytes.astype(np.int64)


@contextmanager
def _stamps_in_any_order() -> Iterator[None]:
    """With two senders at work the kernel's stamps may be out of order by microseconds."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", ".*packets? earlier than one before", trafficgen.CaptureWarning
        )
        yield


def packets_in(file: Path) -> PacketTable:
    """Return what was captured."""
    with _stamps_in_any_order():
        return trafficgen.read_packets(file)


def sent_of(wanted: PacketTable, file: Path, *, flow: int) -> Sent:
    """Return a capture beside the packets of one flow to its client, both without what has no
    payload.
    """
    found = packets_in(file)
    rows = (wanted.flow == flow) & wanted.to_client & (wanted.payload_bytes > 0)
    return Sent(wanted.select(rows), found.select(found.payload_bytes > 0))


def compared(sent: Sent, file: Path) -> dict[str, float]:
    """Return the distances, by metric, of what was captured in ``file`` from what was to be
    sent.
    """
    wanted = file.with_name("wanted.parquet")
    write_packets(sent.wanted, wanted)
    with _stamps_in_any_order():
        return trafficgen.compare(wanted, file, every=True).flat()


#: Sessions over UDP and TCP, some of them at the same time.
WORKLOAD = """
name: several
sessions: 6
for: 3s
arrivals: poisson
groups:
  - {model: cbr, share: 60%, duration: "uniform:1s,high=3s"}
  - {model: realplayer8_tcp_chung2002, share: 40%, duration: 3s}
"""


def send_workload(folder: Path, capture: Path, what: str, **options: Any) -> ProjectionReport:
    """Export :data:`WORKLOAD`, send it with both scripts of the export, and capture it.

    Args:
        folder: Folder of the export.
        capture: The pcap file that is written.
        what: Capture filter.
        options: Target and settings of the export.
    """
    need("bash", "tcpdump")
    file = folder.with_suffix(".yaml")
    file.write_text(WORKLOAD, encoding="utf-8")
    report = trafficgen.export(file, directory=folder, seed=2, **options)
    with running(["bash", "sink.sh"], cwd=folder, ready_s=1.0), captured(capture, what):
        done = subprocess.run(
            ["bash", "send.sh"], cwd=folder, capture_output=True, text=True, timeout=90, check=False
        )
    assert done.returncode == 0, done.stderr + (folder / "failed.log").read_text()
    return report
