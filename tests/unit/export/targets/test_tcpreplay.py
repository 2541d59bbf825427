"""The files for tcpreplay: what lies in the folder and what is said of it; scapy is the oracle of
the frames.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap

import trafficgen
from trafficgen.tables import PacketTable


def test_the_pcap_has_whole_frames_from_card_to_card_with_right_checksums(
    table: PacketTable, tmp_path: Path
) -> None:
    trafficgen.export(
        table,
        to="tcpreplay",
        directory=tmp_path,
        settings={"server": "10.0.0.1", "client": "10.0.0.2", "server_mac": "02:00:00:00:00:0a"},
    )
    frames = rdpcap(str(tmp_path / "packets.pcap"))
    assert [len(frame) for frame in frames] == [214, 54, 54, 54, 1514, 554]
    assert all(frame.wirelen == len(frame) for frame in frames)
    for frame, to_client in zip(frames, table.to_client.tolist(), strict=True):
        server, client = ("02:00:00:00:00:0a", "10.0.0.1"), ("02:00:00:00:00:02", "10.0.0.2")
        source, destination = (server, client) if to_client else (client, server)
        assert (frame[Ether].src, frame[IP].src) == source
        assert (frame[Ether].dst, frame[IP].dst) == destination
        sums = (frame[IP].chksum, frame[UDP].chksum if UDP in frame else frame[TCP].chksum)
        del frame[IP].chksum
        transport = UDP if UDP in frame else TCP
        del frame[transport].chksum
        again = Ether(bytes(frame))
        assert (again[IP].chksum, again[transport].chksum) == sums


def test_the_report_counts_packets_and_bytes_of_what_is_sent(
    table: PacketTable, tmp_path: Path
) -> None:
    report = trafficgen.export(
        table, to="tcpreplay", directory=tmp_path, settings={"direction": "to_server"}
    )
    assert (report.packets, report.packets_changed) == (2, 0)
    assert (report.bytes_before, report.bytes_after) == (80, 80)
    assert report.files == ("packets.pcap", "replay.sh", "replay.py")
    assert any("other direction (4 packets)" in text for text in report.cannot_express)


def test_two_directions_get_a_script_for_two_interfaces(table: PacketTable, tmp_path: Path) -> None:
    report = trafficgen.export(table, to="tcpreplay", directory=tmp_path)
    assert report.files == ("packets.pcap", "replay.sh", "replay.py", "replay-two-way.sh")


@pytest.mark.parametrize("script", ["replay.sh", "replay-two-way.sh"])
def test_scripts_without_an_interface_say_how_they_are_called(
    table: PacketTable, tmp_path: Path, script: str
) -> None:
    trafficgen.export(table, to="tcpreplay", directory=tmp_path)
    assert os.access(tmp_path / script, os.X_OK)
    done = subprocess.run([tmp_path / script], check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert f"usage: {script}" in done.stderr
