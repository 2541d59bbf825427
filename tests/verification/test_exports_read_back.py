"""Round trips: a capture becomes a table, an export for another tool, and the export a table
again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trafficgen
from trafficgen.export.targets import TARGETS
from trafficgen.tables import PacketTable
from trafficgen.units import NS_PER_S, IntArray

CAPTURE = (
    Path(__file__).resolve().parents[2] / "examples" / "captures" / "rtsp_rtp_two_streams.pcap.gz"
)
MS_PER_S = 1000
#: Header that the vr-app of ns-3 puts into each packet.
LEAST_BYTES = 24


@pytest.fixture(scope="module")
def media() -> PacketTable:
    """Return the packets of the capture's heaviest media flow, to the client, that every target can
    send.
    """
    with pytest.warns(trafficgen.CaptureWarning, match="captured in part"):
        table = trafficgen.read_packets(CAPTURE)
    heaviest = int(np.argmax(table.flows.column("frame_bytes_to_client").to_numpy()))
    return table.select(
        (table.flow == heaviest) & table.to_client & (table.payload_bytes >= LEAST_BYTES)
    )


def _exported(
    table: PacketTable, folder: Path, target: str, **settings: str
) -> trafficgen.ProjectionReport:
    if target not in TARGETS:
        pytest.skip(f"there is no target {target} yet")
    return trafficgen.export(table, to=target, directory=folder, settings=settings)


def _since_first(table: PacketTable) -> IntArray:
    since_ns: IntArray = table.time_ns - table.time_ns[0]
    return since_ns


def _read_one(folder: Path, ending: str) -> PacketTable:
    (file,) = folder.glob(f"flow[0-9]*{ending}")
    return trafficgen.convert(file).table


@pytest.mark.parametrize(
    ("target", "settings", "ending"),
    [
        ("inet", {}, ".trace"),
        ("ns3", {"mode": "exact"}, ".csv"),
        ("ns3", {"mode": "bursts"}, ".bursts.csv"),
    ],
    ids=["inet", "ns3-exact", "ns3-bursts"],
)
def test_a_schedule_reads_back_packet_for_packet(
    tmp_path: Path, media: PacketTable, target: str, settings: dict[str, str], ending: str
) -> None:
    _exported(media, tmp_path / "out", target, **settings)
    found = _read_one(tmp_path / "out", ending)
    assert np.array_equal(found.payload_bytes, media.payload_bytes)
    assert np.array_equal(found.ip_bytes, media.ip_bytes)
    assert np.array_equal(_since_first(found), _since_first(media))


def test_a_trace_for_udp_trace_client_reads_back_to_the_millisecond(
    tmp_path: Path, media: PacketTable
) -> None:
    _exported(media, tmp_path / "out", "ns3", mode="trace")
    found = _read_one(tmp_path / "out", ".trace")
    assert np.array_equal(found.payload_bytes, media.payload_bytes)
    error_ns = np.abs(_since_first(found) - _since_first(media))
    assert int(error_ns.max()) <= NS_PER_S / MS_PER_S / 2


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".pcap", ".pcapng"])
def test_a_capture_converted_to_any_file_reads_back(
    tmp_path: Path, media: PacketTable, ending: str
) -> None:
    with pytest.warns(trafficgen.CaptureWarning, match="captured in part"):
        made = trafficgen.convert(CAPTURE, tmp_path / f"out{ending}")
    found = trafficgen.read_packets(tmp_path / f"out{ending}")
    for name in ("time_ns", "to_client", "ip_bytes", "payload_bytes"):
        assert np.array_equal(found.values(name), made.table.values(name)), name
    assert int(found.payload_bytes.sum()) > int(media.payload_bytes.sum())
