"""Captures read, exported and read again: whatever the target, the packets are the same."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

import trafficgen
from trafficgen.tables import PACKET_SCHEMA, PacketTable

_CAPTURES = Path(__file__).resolve().parents[2] / "examples" / "captures"
#: Times and flows are put into words; frames get the link header of Ethernet, whatever theirs was
#: (the report says so).
_APART = ("time_ns", "flow", "frame_bytes")
_ENDS = ("protocol", "server", "server_port", "client", "client_port")
#: Target, its settings, and the files to read again.
_TARGETS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "pcap": ({}, ("packets.pcap",)),
    "pcapng": ({}, ("packets.pcapng",)),
    "csv": ({}, ("packets.csv",)),
    "parquet": ({}, ("packets.parquet",)),
    "tcpreplay": ({}, ("packets.pcap",)),
    "trex": ({"mode": "pcap", "direction": "both"}, ("to_client.pcap", "to_server.pcap")),
}


def _again(table: PacketTable, target: str, folder: Path) -> PacketTable:
    options, names = _TARGETS[target]
    report = trafficgen.export(table, to=target, directory=folder, settings=options)
    assert report.packets_changed == 0
    assert report.bytes_after == report.bytes_before == int(table.ip_bytes.sum())
    there = [folder / name for name in names if (folder / name).exists()]
    return trafficgen.read_packets(there)


def _packets(table: PacketTable, *, whole_us: bool = False) -> list[tuple[Any, ...]]:
    """All that is known of each packet, with absolute time and the ends of its flow.

    Packets at the same time are put in one order, as two files have none between them.
    """
    ends = {row["flow"]: tuple(row[name] for name in _ENDS) for row in table.flows.to_pylist()}
    names = [name for name in PACKET_SCHEMA.names if name not in _APART]
    columns = [table.column(name).to_pylist() for name in names]
    # A header's window has 16 bits; the scale that the handshake agreed on is no longer there (the
    # report says so).
    windows = columns[names.index("tcp_window")]
    columns[names.index("tcp_window")] = [
        None if window is None else min(window, 65_535) for window in windows
    ]
    times_ns = (table.time_ns + table.origin_ns).tolist()
    if whole_us:
        times_ns = [(time_ns + 500) // 1000 * 1000 for time_ns in times_ns]
    flows = [ends[number] for number in table.flow.tolist()]
    return sorted(zip(times_ns, flows, *columns, strict=True), key=repr)


@pytest.mark.filterwarnings("ignore::trafficgen.errors.CaptureWarning")
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("name", ["http_burst_then_paced.pcap.gz", "rtsp_rtp_two_streams.pcap.gz"])
def test_a_capture_exported_and_read_again_has_the_same_packets(
    name: str, target: str, tmp_path: Path
) -> None:
    table = trafficgen.read_packets(_CAPTURES / name)
    whole_us = target == "trex"
    assert _packets(_again(table, target, tmp_path)) == _packets(table, whole_us=whole_us)


def _frame(is_tcp: bool, is_v6: bool, up: bool, payload_bytes: int, number: int) -> Packet:
    ends = ("2001:db8::2", "2001:db8::1") if is_v6 else ("198.51.100.2", "192.0.2.1")
    source, destination = ends if up else ends[::-1]
    ports: dict[str, Any] = (
        {"sport": 40_000, "dport": 443} if up else {"sport": 443, "dport": 40_000}
    )
    network = IPv6(src=source, dst=destination) if is_v6 else IP(src=source, dst=destination)
    transport = (
        TCP(seq=number, ack=7, flags="PA", window=number % 65_536, **ports)
        if is_tcp
        else UDP(**ports)
    )
    # With card addresses given, scapy asks no network for them.
    return (
        Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        / network
        / transport
        / Raw(bytes(payload_bytes))
    )


_packet = st.tuples(
    st.booleans(), st.booleans(), st.booleans(), st.integers(0, 1400), st.integers(0, 10**6)
)


@pytest.mark.parametrize("target", _TARGETS)
@given(packets=st.lists(_packet, min_size=1, max_size=25))
@settings(max_examples=15, deadline=None)
def test_any_capture_exported_and_read_again_has_the_same_packets(
    target: str, packets: list[tuple[bool, bool, bool, int, int]]
) -> None:
    frames, time_us = [], 1_700_000_000_000_000
    for is_tcp, is_v6, up, payload_bytes, gap_us in packets:
        time_us += gap_us
        frame = _frame(is_tcp, is_v6, up, payload_bytes, gap_us)
        frame.time = time_us / 1e6
        frames.append(frame)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wrpcap(str(folder / "in.pcap"), frames)
        table = trafficgen.read_packets(folder / "in.pcap")
        again = _again(table, target, folder / "out")
    assert _packets(again) == _packets(table)
