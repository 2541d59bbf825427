"""What tshark, and our own reader, say about captures of generated traffic."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.unit.generation.conftest import model_with, phase, stream

from trafficgen.capture.reading import read_capture
from trafficgen.flows import choose_session
from trafficgen.generation import OpenLoopSessions
from trafficgen.models import Atom, BurstProcess, Law
from trafficgen.packet_files.writing import write_packets
from trafficgen.tables import PacketTable
from trafficgen.validation.compare import compare_sessions

SIZES = Law(
    unit="bytes",
    family="expon",
    params={"scale": 500.0},
    minimum=90,
    maximum=1500,
    integer=True,
    observations=1,
)
BURSTS = BurstProcess(
    threshold_s=0.01,
    spacing_s=Law(unit="s", family="gamma", params={"a": 100.0, "scale": 0.001}, observations=1),
    burst_packets=Law(
        unit="packets",
        family="expon",
        params={"scale": 6.0},
        minimum=1,
        maximum=60,
        integer=True,
        observations=1,
    ),
    gap_within_s=Law(
        unit="s", family="expon", params={"scale": 0.0005}, maximum=0.005, observations=1
    ),
    packet_bytes=Law(
        unit="bytes", family="atoms", atoms=(Atom(value=1500, p=1.0),), observations=1
    ),
    last_packet_bytes=SIZES,
)
RTP = {"payload_type": 96, "clock_hz": 90_000, "frame_per_burst": True}
TRANSPORTS = {
    "rtp": {"protocol": "udp", "header_bytes": 28, "rtp": RTP},
    "rtp over IPv6": {"protocol": "udp", "header_bytes": 48, "ip_version": 6, "rtp": RTP},
    "udp": {"protocol": "udp", "header_bytes": 28},
    "tcp": {"protocol": "tcp", "header_bytes": 40},
    "tcp with timestamps": {"protocol": "tcp", "header_bytes": 52},
    "tcp over IPv6": {"protocol": "tcp", "header_bytes": 72, "ip_version": 6},
}


@pytest.fixture(params=TRANSPORTS)
def generated(request: pytest.FixtureRequest) -> PacketTable:
    """Three sessions of 20 s that start one after the other."""
    played = stream(
        "media", phases=(phase("playout", 0.0, 20.0, BURSTS),), **TRANSPORTS[request.param]
    )
    model = model_with(played, silence_s=1.0)
    return OpenLoopSessions(model=model, count=3, arrival_rate_per_s=0.5, seed=1).make_table()


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_finds_nothing_wrong_with_generated_captures(
    generated: PacketTable, tshark_fields: Callable[..., list[list[str]]], tmp_path: Path
) -> None:
    path = tmp_path / "generated.pcap"
    write_packets(generated, path)
    wrong = (
        "_ws.malformed || _ws.expert.severity >= 0x800000 || frame.time_delta < 0 ||"
        " tcp.analysis.flags"
    )
    assert tshark_fields(path, "frame.number", display=wrong) == []
    assert len(tshark_fields(path, "frame.number")) == len(generated)


def test_generated_capture_reads_back_as_the_same_sessions(
    generated: PacketTable, tmp_path: Path
) -> None:
    path = tmp_path / "generated.pcap"
    write_packets(generated, path)
    read = read_capture([path]).table
    assert len(read) == len(generated)
    assert np.array_equal(np.diff(read.time_ns), np.diff(generated.time_ns))
    assert len(set(read.flows.column("session").to_pylist())) == 3
    flat = compare_sessions(choose_session(generated), choose_session(read)).flat()
    assert {value for value in flat.values() if not np.isnan(value)} == {0.0}
