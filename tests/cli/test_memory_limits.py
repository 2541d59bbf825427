"""All commands that take a memory limit, on inputs that would exceed it: they keep it or refuse."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import build_table
from tests.mutated.commands import limited_commands
from tests.mutated.other_inputs import named_files

import trafficgen
from trafficgen.packet_files.writing import write_packets

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc"),
]

LIMIT = "300MB"
#: Half as much again.
MOST_BYTES = 450_000_000
#: Packets and flows that take three times the limit where all are in memory.
PACKETS, FLOWS = 2_500_000, 1_000_000

FILES = ("packets", "flows", "bursts", "long", "lines", "zeros", "contents", "many", "offload")
#: Packets of offload that are cut into 350 each before a fit: of 512 KiB, the longest.
OFFLOADED = 100_000
_EXAMPLE = str(
    Path(__file__).resolve().parents[2] / "examples" / "captures" / "http_burst_then_paced.pcap.gz"
)
_LONG = ("--set", "rate_kbps=8000", "--set", "duration_s=9000")
_BRIEF = ("--set", "rate_kbps=8000", "--set", "duration_s=100")
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "inspect": (
        ("{flows}.pcap", "--json"),
        ("{packets}.pcap",),
        ("{packets}.parquet",),
        ("{lines}.csv",),
        ("{zeros}.csv",),
    ),
    "fit": (
        ("{packets}.pcap", "-o", "m.json"),
        ("{packets}.parquet", "-o", "m.json"),
        ("{flows}.pcap", "-o", "m.json"),
        ("{offload}.parquet", "-o", "m.json"),
        ("{offload}.parquet", "-o", "m.json", "--to", "10s"),
        ("{offload}.parquet", "{offload}.parquet", "-o", "m.json", "--population"),
        (_EXAMPLE, "--receiver", "{offload}.parquet", "-o", "m.json"),
        (_EXAMPLE, "--receiver", "{packets}.pcap", "-o", "m.json"),
    ),
    "compare": (
        ("{packets}.pcap", "{packets}.pcap", "--all"),
        ("{packets}.parquet",) * 2,
        ("{offload}.parquet",) * 2,
        (_EXAMPLE, "{offload}.parquet"),
        ("{offload}.parquet", "--against", "catalogue"),
    ),
    "convert": (
        ("{flows}.pcap", "-o", "c.parquet"),
        ("{packets}.pcap", "-o", "c.csv"),
        ("{packets}.parquet", "-o", "c.pcap"),
    ),
    "export": (
        ("{packets}.pcap", "--to", "mgen", "-o", "e"),
        ("{packets}.parquet", "--to", "csv", "-o", "e"),
        ("{packets}.pcap", "--to", "mahimahi", "-o", "e", "--flow", "0"),
        ("{bursts}.json", "--to", "ditg", "-o", "e", "--set", "approximate=on"),
        ("{long}.yaml", "--to", "trex", "-o", "e"),
        ("{long}.yaml", "--to", "mgen", "-o", "e"),
    ),
    "generate": (
        ("cbr", "-o", "g.pcap", *_LONG),
        ("cbr", "-o", "g.csv", *_LONG, "--duration", "2h"),
        ("cbr", "-o", "g.pcap", *_LONG, "--path", "rate=9Mbps", "--compete", "tcp@1s"),
        ("cbr", "-o", "g.pcap", *_LONG, "--sessions", "3"),
        ("cbr", "-o", "g.parquet", *_BRIEF, "--sessions", "30"),
        ("cbr", "--dry-run", *_LONG),
        ("cbr", "--dry-run", *_BRIEF, "--sessions", "90"),
        ("{bursts}.json", "-o", "g.pcap", "--duration", "30h"),
        ("{bursts}.json", "-o", "g.pcap", "--duration", "30h", "--path", "rate=9Mbps"),
        ("{long}.yaml", "-o", "g.pcap"),
        ("{long}.yaml", "--dry-run"),
    ),
    "simulate": (
        ("cbr", "--path", "rate=9Mbps", *_LONG),
        (
            "wmedia9_nichols2004",
            "--path",
            "rate=9Mbps,delay=5ms",
            "--compete",
            "tcp@1s",
            "-o",
            "s.csv",
        ),
        ("dashjs", "--path", "rate=1Gbps", "--set", "duration_s=9000", "--compete", "tcp"),
        ("{bursts}.json", "--path", "rate=9Mbps", "--duration", "30h"),
        ("cbr", "--path", "rate=1kbps,queue=1000000000000p", *_LONG, "--sessions", "2"),
        ("cbr", "--path", "rate=9Gbps", "--sessions", "1000000", "--duration", "2s"),
        ("dashjs", "--path", "rate=9Gbps", "--sessions", "9000", "--duration", "2s"),
        ("{contents}.json", "--path", "rate=9Gbps", "--sessions", "90", "--duration", "2s"),
        ("{long}.yaml", "--path", "rate=9Mbps,delay=5ms,queue=1000000000p"),
        ("{long}.yaml", "--path", "rate=9Mbps,delay=5ms", "-o", "s.pcap"),
        ("{many}.yaml", "--path", "rate=9Mbps,delay=5ms", "--duration", "1s"),
    ),
    "reproduce": (
        ("BMW-T1.1", "--runs", "1", "--workers", "2"),
        ("BMW-T1.1", "--runs", "1000000000000"),
        ("LJM-D4", "--leave-one-out", "--draws", "1", "--runs", "1000000000"),
    ),
}
#: Runs a command, and writes the most memory that it has had: that of the parent is not counted.
_PROGRAM = """
import sys
from trafficgen.cli.app import run
code = run(sys.argv[2:])
with open("/proc/self/status") as status, open(sys.argv[1], "w") as peak:
    peak.write(next(line.split()[1] for line in status if line.startswith("VmHWM")))
sys.exit(code)
"""
_WORKLOAD = """sessions: 3
groups: [{model: 'cbr(rate_kbps=8000,duration_s=9000)'}]
"""


def write_capture(place: Path, *, packets: int, flows: int) -> None:
    """Write UDP packets of 18 bytes, a tenth of a millisecond apart, of flows in turn."""
    head = [("s", "<u4"), ("us", "<u4"), ("kept", "<u4"), ("length", "<u4"), ("ethernet", "S14")]
    ip = [("v", "u1"), ("tos", "u1"), ("ip_bytes", ">u2"), ("id", ">u4"), ("ttl", "u1")]
    ip += [("protocol", "u1"), ("checksum", ">u2"), ("from", ">u4"), ("to", ">u4")]
    udp = [("from_port", ">u2"), ("to_port", ">u2"), ("udp_bytes", ">u2"), ("sum", ">u2")]
    rows = np.zeros(packets, dtype=[*head, *ip, *udp, ("payload", "S18")])
    number = np.arange(packets)
    flow = number % flows
    rows["s"], rows["us"] = 1_700_000_000 + number // 10_000, number % 10_000 * 100
    rows["kept"] = rows["length"] = 60
    rows["ethernet"] = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00"
    rows["v"], rows["ip_bytes"], rows["ttl"], rows["protocol"] = 0x45, 46, 64, 17
    rows["from"], rows["to"] = 0x0A000000 + flow // 50, 0xC0A80001 + flow % 50
    rows["from_port"], rows["to_port"], rows["udp_bytes"] = 40_000 + flow % 9000, 5004, 26
    with place.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        file.write(rows.tobytes())


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Inputs of which an unlimited command takes far more than the limit."""
    folder = tmp_path_factory.mktemp("large")
    write_capture(folder / "packets.pcap", packets=PACKETS, flows=1)
    write_capture(folder / "flows.pcap", packets=FLOWS, flows=FLOWS)
    trafficgen.convert(folder / "packets.pcap", folder / "packets.parquet")
    offload = build_table(np.arange(OFFLOADED) / 1000, ip_bytes=8 * 65_535, header_bytes=40)
    write_packets(offload, folder / "offload.parquet")
    (folder / "long.yaml").write_text(_WORKLOAD)
    (folder / "many.yaml").write_text(_WORKLOAD.replace("3", "50000000", 1))
    lines = (f"{number / 1000:.3f},{100 + number % 900},0\n" for number in range(PACKETS))
    (folder / "lines.csv").write_text("time_s,ip_bytes,flow\n" + "".join(lines))
    with (folder / "zeros.csv").open("wb") as zeros:
        zeros.truncate(10_000_000_000)
    fitted = trafficgen.fit(_EXAMPLE).model
    trafficgen.save_model(fitted, folder / "bursts.json")
    (folder / "contents.json").write_bytes(named_files()["player.json"])
    model = json.loads((folder / "contents.json").read_text())
    model["application"]["content"] = [1 + number / 99_999 for number in range(40_000)]
    (folder / "contents.json").write_text(json.dumps(model))
    model = json.loads((folder / "bursts.json").read_text())
    assert any(
        phase["process"]["kind"] == "bursts"
        for stream in model["streams"]
        for phase in stream["phases"]
    )
    return {name: folder / name for name in FILES}


def test_all_commands_with_a_limit_are_tried() -> None:
    assert limited_commands() == set(COMMANDS)


@pytest.mark.parametrize(
    "arguments", [(name, *rest) for name, cases in COMMANDS.items() for rest in cases], ids=" ".join
)
def test_a_command_keeps_its_limit_or_refuses(
    tmp_path: Path, inputs: dict[str, Path], arguments: tuple[str, ...]
) -> None:
    words = [word.format(**inputs) for word in arguments]
    peak = tmp_path / "peak"
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(peak), *words, "--memory", LIMIT],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ended.returncode in (0, 1, 2), ended.stderr
    assert "Traceback" not in ended.stderr
    taken_bytes = 1024 * int(peak.read_text())
    assert taken_bytes <= MOST_BYTES, f"{taken_bytes / 1e6:.0f} MB: {ended.stderr}"
    if ended.returncode == 2:
        last = ended.stderr.strip().splitlines()[-1]
        assert "memory" in last or "flow" in last, last
