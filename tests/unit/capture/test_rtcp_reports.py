from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from scapy.all import IP, UDP, Ether, Raw, wrpcap  # type: ignore[attr-defined]

from trafficgen.capture.reading import read_packets
from trafficgen.capture.table_files import read_table
from trafficgen.packet_files.writing import write_packets


def capture_with_reports(path: Path) -> Path:
    """Write RTP from 192.0.2.1 and, on the port above, one sender report and one answer to it."""
    packets = []
    for number in range(50):
        rtp = struct.pack("!BBHII", 0x80, 96, number, number * 160, 0xABCD) + bytes(20)
        packets.append(_at(number * 0.02, _ip(down=True) / UDP(sport=5004, dport=40000) / Raw(rtp)))
    sender = struct.pack(
        "!BBHIQIIII", 0x81, 200, 12, 0xABCD, 5 << 32 | 6, 7, 8, 9, 0x99
    ) + struct.pack("!IIIII", 0x05FF_FFFE, 100, 11, 12, 13)
    answer = struct.pack("!BBHI", 0x81, 201, 7, 0x77) + struct.pack(
        "!IIIIII", 0xABCD, 0x4000_0003, 49, 21, 22, 23
    )
    packets.append(_at(2.0, _ip(down=True) / UDP(sport=5005, dport=40001) / Raw(sender)))
    packets.append(_at(2.5, _ip(down=False) / UDP(sport=40001, dport=5005) / Raw(answer)))
    wrpcap(str(path), packets)
    return path


def _ip(*, down: bool) -> Ether:
    ends = ("192.0.2.1", "198.51.100.2")
    return Ether() / IP(src=ends[0 if down else 1], dst=ends[1 if down else 0])


def _at(time_s: float, packet: Ether) -> Ether:
    packet.time = time_s
    return packet


def test_reports_are_read_field_by_field(tmp_path: Path) -> None:
    table = read_packets(capture_with_reports(tmp_path / "a.pcap"))
    sender, answer = table.rtcp.to_pylist()
    assert sender["time_ns"] == 2_000_000_000
    assert sender["to_client"]
    assert (sender["reporter_ssrc"], sender["ntp"], sender["rtp_timestamp"]) == (
        0xABCD,
        5 << 32 | 6,
        7,
    )
    assert (sender["sender_packets"], sender["sender_bytes"], sender["ssrc"]) == (8, 9, 0x99)
    assert (sender["fraction_lost"], sender["cumulative_lost"], sender["highest_sequence"]) == (
        5,
        -2,
        100,
    )
    assert (sender["jitter"], sender["last_sender_report"], sender["delay_since_last"]) == (
        11,
        12,
        13,
    )
    assert not answer["to_client"]
    assert (answer["reporter_ssrc"], answer["ntp"], answer["rtp_timestamp"]) == (0x77, None, None)
    assert (answer["ssrc"], answer["fraction_lost"], answer["cumulative_lost"]) == (0xABCD, 0x40, 3)


def test_reports_survive_a_packet_table(tmp_path: Path) -> None:
    table = read_packets(capture_with_reports(tmp_path / "a.pcap"))
    write_packets(table, tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").rtcp.equals(table.rtcp)
    assert np.isin(table.rtcp.column("flow").to_numpy(), table.flow).all()


def test_a_capture_without_reports_has_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "b.pcap"
    wrpcap(str(path), [_at(0.0, _ip(down=True) / UDP(sport=1, dport=2) / Raw(b"x"))])
    assert read_packets(path).rtcp.num_rows == 0


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
