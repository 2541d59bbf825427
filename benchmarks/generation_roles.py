"""What is timed of generation inside a Python process of its own."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import numpy as np

from trafficgen import generate_workload
from trafficgen.generation.columns import superpose
from trafficgen.generation.open_loop import OpenLoopSessions
from trafficgen.models import Model, read_model
from trafficgen.packet_files.pcap import write_capture_stream
from trafficgen.packet_files.table_files import write_parquet_stream
from trafficgen.units import WHOLE_FRAME_BYTES
from trafficgen.workloads.blocks import BLOCK_PACKETS, cut
from trafficgen.workloads.options import WorkloadOptions
from trafficgen.workloads.run import make_workload

_ROOT = Path(__file__).resolve().parents[1]
_BY_HAND = _ROOT / "benchmarks" / "renewal_model.json"
_LONG_SESSION_S = 2_000.0
_SESSION_S = 600.0
_MERGE_BYTES = 300_000_000
#: What a capture of headers alone holds of a frame.
HEADERS_BYTES = 64
_FRAME_BYTES = 1_100
_LOOK_EVERY_S = 0.05


def make_renewal_model(path: Path, packets: int) -> None:
    """Write a model of one RTP stream: log-normal gaps of 28 ms, gamma sizes."""
    del packets
    path.write_text(_BY_HAND.read_text(encoding="utf-8"), encoding="utf-8")


def tables(path: Path, packets: int, *, duration_s: float | None = None) -> float:
    """Generate packet tables block by block as a workload does, and return the processor time."""
    played = _sessions(path, packets, duration_s=duration_s)
    blocks = cut(played, packets=BLOCK_PACKETS // 8)
    superpose(played.block(0, 1)[0])
    started, found = time.process_time(), 0
    for block in blocks:
        found += superpose(played.block(block.first, block.count)[0]).num_rows
    elapsed_s = time.process_time() - started
    print(
        f"note={found / elapsed_s / 1e6:.1f} million packets/s, sessions of"
        f" {found / played.count:.0f} packets"
    )
    return elapsed_s * packets / found


def tables_long(path: Path, packets: int) -> float:
    """Generate packet tables of long sessions."""
    return tables(path, packets, duration_s=_LONG_SESSION_S)


def tables_sessions(path: Path, packets: int) -> float:
    """Generate packet tables of sessions of ten minutes."""
    return tables(path, packets, duration_s=_SESSION_S)


def numpy_samples(path: Path, packets: int) -> float:
    """Sample a log-normal and a gamma law with numpy, block by block, and keep nothing."""
    del path
    generator = np.random.Generator(np.random.Philox(0))
    started = time.process_time()
    for _ in range(packets >> 16):
        np.exp(0.8 * generator.standard_normal(1 << 16))
        generator.standard_gamma(8.0, 1 << 16)
    return time.process_time() - started


def workload(
    path: Path, packets: int, out: Path, *, workers: int, snaplen_bytes: int | None = None
) -> float:
    """Generate a workload into a file; note elapsed time and the memory of all processes."""
    played = _sessions(path, packets)
    peak = _Peak()
    started, before = time.perf_counter(), _cpu_s()
    written = generate_workload(
        played.model,
        out,
        sessions=played.count,
        arrival_rate_per_s=1.0,
        workers=workers,
        snaplen_bytes=snaplen_bytes,
    )
    elapsed_s, processor_s = time.perf_counter() - started, _cpu_s() - before
    print(f"note=elapsed {elapsed_s:.2f} s, all processes {peak.stop() / 1e6:.0f} MB", end="")
    print(f", {written.packets} packets")
    return processor_s


def sessions(path: Path, count: int, out: Path, *, workers: int) -> float:
    """Generate so many sessions into a file, and note how many packets they have."""
    model = read_model(path)
    assert isinstance(model, Model)
    started = _cpu_s()
    written = generate_workload(model, out, sessions=count, arrival_rate_per_s=1.0, workers=workers)
    elapsed_s = _cpu_s() - started
    print(f"note={written.packets} packets")
    return elapsed_s


def long_session(path: Path, packets: int, out: Path) -> float:
    """Play one session of about so many packets into a file; return the processor time."""
    model = read_model(path)
    assert isinstance(model, Model)
    one = _sessions(path, 1, duration_s=_SESSION_S)
    duration_s = _SESSION_S * packets / one.expected_packets(range(1))
    started = _cpu_s()
    written = generate_workload(
        model,
        out,
        sessions=1,
        duration_s=duration_s,
        snaplen_bytes=HEADERS_BYTES,
        memory_bytes=_MERGE_BYTES,
    )
    elapsed_s = _cpu_s() - started
    print(f"note={written.packets} packets in {duration_s / 3600:.1f} h")
    return elapsed_s * packets / written.packets


def merge(path: Path, packets: int, out: Path, *, snaplen_bytes: int = WHOLE_FRAME_BYTES) -> float:
    """Make the blocks of a workload, then time merging them into a file."""
    played = _sessions(path, packets)
    work = out.with_suffix(".work")
    options = WorkloadOptions(memory_bytes=_MERGE_BYTES)
    with make_workload(played, cut(played), work, options) as stream:
        touch_memory((stream.rows or 0) * min(snaplen_bytes, _FRAME_BYTES), out.parent)
        started = _cpu_s()
        if out.suffix == ".parquet":
            write_parquet_stream(stream, out)
        else:
            write_capture_stream(stream, out, container="pcap", snaplen_bytes=snaplen_bytes)
        return _cpu_s() - started


def copy(path: Path, packets: int, out: Path) -> float:
    """Time ``cp`` of a file."""
    del packets
    touch_memory(path.stat().st_size, out.parent)
    started = _cpu_s()
    subprocess.run(["cp", str(path), str(out)], check=True)
    return _cpu_s() - started


def touch_memory(size_bytes: int, folder: Path) -> None:
    """Write and remove as much first: a virtual machine gets unused memory slowly from its host."""
    zeros = folder / "zeros"
    with zeros.open("wb") as file:
        for _ in range(size_bytes >> 20):
            file.write(bytes(1 << 20))
    zeros.unlink()


def _sessions(path: Path, packets: int, *, duration_s: float | None = None) -> OpenLoopSessions:
    """Return as many sessions as have about so many packets."""
    model = read_model(path)
    assert isinstance(model, Model)
    fields = {"model": model, "duration_s": duration_s, "seed": 0, "arrival_rate_per_s": 1.0}
    one = OpenLoopSessions(count=1, **fields)  # type: ignore[arg-type]
    count = max(1, round(packets / one.expected_packets(range(1))))
    return OpenLoopSessions(count=count, **fields)  # type: ignore[arg-type]


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class _Peak:
    """Follows the memory of this process and of those that it has started, counted together."""

    def __init__(self) -> None:
        self._peak, self._ended = 0, threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """Return the most that they had together, bytes."""
        self._ended.set()
        self._thread.join()
        return self._peak

    def _follow(self) -> None:
        page_bytes = os.sysconf("SC_PAGE_SIZE")
        while not self._ended.wait(_LOOK_EVERY_S):
            pages = 0
            for process in (os.getpid(), *_children()):
                try:
                    pages += int(
                        Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
                    )
                except OSError:
                    continue  # it has ended
            self._peak = max(self._peak, pages * page_bytes)


def _children() -> list[int]:
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        try:
            found += [
                int(number) for number in (task / "children").read_text(encoding="ascii").split()
            ]
        except OSError:
            continue
    return found
