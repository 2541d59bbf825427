"""Peak memory while inspecting and exporting more packets, or flows, than fit into the memory."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import trafficgen

pytestmark = pytest.mark.slow

_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1)
_PAYLOAD_BYTES = 1400
_MB = 1_000_000

#: Inspects standard input and prints packets, flows and its own peak memory, kB.
_INSPECT = """
import resource, trafficgen
found = trafficgen.inspect("-")
print(found.packets, found.flows.num_rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def _record(index: int, *, flow: int, payload_bytes: int) -> bytes:
    source = 0x0A00_0000 + flow // 50_000
    udp = struct.pack(">HHHH", 10_000 + flow % 50_000, 5004, 8 + payload_bytes, 0) + bytes(
        payload_bytes
    )
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, source, 0xC000_0201)
    frame = bytes(12) + b"\x08\x00" + ip + udp
    return (
        struct.pack(
            "<IIII", 1_700_000_000 + index // 10_000, index % 10_000 * 100, len(frame), len(frame)
        )
        + frame
    )


def _inspect(blocks: list[bytes], *, times: int) -> tuple[int, int, int]:
    with subprocess.Popen(
        [sys.executable, "-c", _INSPECT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(_HEADER)
        for _ in range(times):
            process.stdin.writelines(blocks)
        process.stdin.close()
        packets, flows, peak_kb = process.stdout.read().split()
    return int(packets), int(flows), int(peak_kb) * 1024


def test_four_gigabytes_take_less_than_half_a_gigabyte(
    record_property: Callable[[str, object], None],
) -> None:
    block = [
        _record(index, flow=index % 50, payload_bytes=_PAYLOAD_BYTES) for index in range(10_000)
    ]
    times = 4_000 * _MB // sum(map(len, block)) + 1
    packets, flows, peak_bytes = _inspect(block, times=times)
    record_property("peak_bytes", peak_bytes)
    assert (packets, flows) == (10_000 * times, 50)
    assert peak_bytes < 500 * _MB


#: Exports the packet table of the first argument and prints the peak memory, kB.
_EXPORT = """
import resource, sys, trafficgen
trafficgen.export(sys.argv[1], to=sys.argv[2], directory=sys.argv[3], memory_bytes=300_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize("target", ["mgen", "iperf3", "pcap"])
def test_an_export_of_packets_beyond_the_memory_keeps_to_it(tmp_path: Path, target: str) -> None:
    file = tmp_path / "long.parquet"
    trafficgen.generate("cbr", file, sessions=40, settings={"rate_kbps": 8000}, seed=1)  # 2.4e6
    command = [sys.executable, "-c", _EXPORT, str(file), target, str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 300 * _MB


def test_a_million_flows_take_less_than_one_and_a_half_gigabytes(
    record_property: Callable[[str, object], None],
) -> None:
    blocks = [
        b"".join(
            _record(index, flow=index, payload_bytes=30) for index in range(start, start + 10_000)
        )
        for start in range(0, 1_000_000, 10_000)
    ]
    packets, flows, peak_bytes = _inspect(blocks, times=1)
    record_property("peak_bytes", peak_bytes)
    assert (packets, flows) == (1_000_000, 1_000_000)
    assert peak_bytes < 1500 * _MB
