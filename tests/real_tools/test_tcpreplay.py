"""tcpreplay sends what was exported for it: on the loopback interface, and between the two ends of
a virtual cable.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.real_tools.loopback import captured, is_on_time, need, packets_in

import trafficgen
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray, s_from_ns

# Not those of other tests, which may run at the same time.
_SERVER, _CLIENT = "192.0.2.77", "198.51.100.77"
_SETTINGS = {"server": _SERVER, "client": _CLIENT}
#: Median that a loaded machine stays below; what was seen on one is told beside each use.
_LATE_S = 0.005
_FILTER = f"host {_SERVER} and host {_CLIENT}"


@pytest.fixture(scope="module")
def streaming(tmp_path_factory: pytest.TempPathFactory) -> tuple[PacketTable, Path]:
    """Six seconds of a player with RTSP over TCP, RTP and RTCP, exported: packets in both
    directions.
    """
    folder = tmp_path_factory.mktemp("tcpreplay")
    table = trafficgen.generate("wmedia9_nichols2004", duration_s=6, seed=1)
    trafficgen.export(table, to="tcpreplay", directory=folder, settings=_SETTINGS)
    return table, folder


def _ran(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def _errors_s(wanted: PacketTable, found: PacketTable) -> FloatArray:
    """Return how far each packet is from its time, s; the clocks of the two are brought together by
    the median.
    """
    error_ns = found.time_ns - wanted.time_ns
    return np.abs(s_from_ns(error_ns - int(np.median(error_ns))))


def _assert_same_packets(table: PacketTable, folder: Path, found: PacketTable) -> None:
    """Fail unless what was captured is what the table says, and goes the ways that the exported
    file does.
    """
    assert len(found) == len(table)
    for name in ("ip_bytes", "payload_bytes", "rtp_sequence", "tcp_sequence", "tcp_flags"):
        assert found.column(name).to_pylist() == table.column(name).to_pylist(), name
    exported = trafficgen.read_packets(folder / "packets.pcap")
    assert found.to_client.tolist() == exported.to_client.tolist()


def test_tcpreplay_sends_every_frame_at_its_time(
    streaming: tuple[PacketTable, Path], tmp_path: Path
) -> None:
    need("tcpreplay", "tcpdump", "python3")
    table, folder = streaming
    with captured(tmp_path / "found.pcap", _FILTER):
        said = _ran(folder / "replay.sh", "lo")
    found = packets_in(tmp_path / "found.pcap")
    _assert_same_packets(table, folder, found)
    assert f"Successful packets:        {len(table)}" in said
    # Seen on an idle machine: 0.01 ms.
    assert is_on_time(np.median(_errors_s(table, found)) < _LATE_S)


def test_with_an_option_tcpreplay_keeps_the_time(
    streaming: tuple[PacketTable, Path], tmp_path: Path
) -> None:
    need("tcpreplay", "tcpdump")
    table, folder = streaming
    with captured(tmp_path / "found.pcap", _FILTER):
        said = _ran(folder / "replay.sh", "lo", "--multiplier=6")
    found = packets_in(tmp_path / "found.pcap")
    _assert_same_packets(table, folder, found)
    assert f"Successful packets:        {len(table)}" in said
    assert found.time_ns[-1] - found.time_ns[0] < (table.time_ns[-1] - table.time_ns[0]) / 3


def test_the_sender_beside_it_keeps_absolute_times(
    streaming: tuple[PacketTable, Path], tmp_path: Path
) -> None:
    need("python3", "tcpdump")
    table, folder = streaming
    with captured(tmp_path / "found.pcap", _FILTER):
        said = _ran("python3", folder / "replay.py", "lo")
    found = packets_in(tmp_path / "found.pcap")
    _assert_same_packets(table, folder, found)
    assert said.startswith(f"{len(table)} packets sent")
    # Seen: 0.011 ms.
    assert is_on_time(np.median(_errors_s(table, found)) < _LATE_S)


def test_packets_are_handed_over_as_the_file_they_are_in(
    streaming: tuple[PacketTable, Path],
) -> None:
    need("python3")
    _, folder = streaming
    handed_over = subprocess.run(
        ["python3", folder / "replay.py", "-"], check=True, capture_output=True, timeout=120
    )
    assert handed_over.stdout == (folder / "packets.pcap").read_bytes()


def test_what_hands_packets_over_ends_with_who_takes_them(
    streaming: tuple[PacketTable, Path],
) -> None:
    need("python3")
    _, folder = streaming
    with subprocess.Popen(
        ["python3", folder / "replay.py", "-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as sender:
        assert sender.stdout is not None
        assert sender.stderr is not None
        sender.stdout.close()
        assert sender.stderr.read() == "replay.py: what reads the frames has ended\n"
    assert sender.returncode == 1


@pytest.fixture
def cable() -> Iterator[tuple[str, str]]:
    """Two virtual cables whose far ends are in a network namespace: the interfaces here, client's
    side and server's.
    """
    need("ip", "tcpreplay", "tcpdump")
    space, client, server = "tgreplay", "tgrepc", "tgreps"
    subprocess.run(["ip", "netns", "delete", space], check=False, capture_output=True)
    made = subprocess.run(["ip", "netns", "add", space], check=False, capture_output=True)
    if made.returncode:
        pytest.skip("no network namespaces here")
    try:
        for name in (client, server):
            _ran(
                "ip",
                "link",
                "add",
                name,
                "type",
                "veth",
                "peer",
                "name",
                f"{name}0",
                "netns",
                space,
            )
            _ran("ip", "link", "set", name, "up")
            _ran("ip", "-n", space, "link", "set", f"{name}0", "up")
        yield client, server
    finally:
        for name in (client, server):
            subprocess.run(["ip", "link", "delete", name], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "delete", space], check=False, capture_output=True)


def test_the_script_for_two_interfaces_sends_each_end_on_its_own_side(
    streaming: tuple[PacketTable, Path], cable: tuple[str, str], tmp_path: Path
) -> None:
    table, folder = streaming
    client, server = cable
    with (
        captured(tmp_path / "client.pcap", _FILTER, interface=client),
        captured(tmp_path / "server.pcap", _FILTER, interface=server),
    ):
        _ran(folder / "replay-two-way.sh", client, server)
    from_client = packets_in(tmp_path / "client.pcap")
    from_server = packets_in(tmp_path / "server.pcap")
    assert from_client.ip_bytes.tolist() == table.ip_bytes[~table.to_client].tolist()
    assert from_server.ip_bytes.tolist() == table.ip_bytes[table.to_client].tolist()
    assert is_on_time(np.median(_errors_s(table.select(table.to_client), from_server)) < _LATE_S)


def test_a_replay_is_measured_as_the_table_it_came_from(
    streaming: tuple[PacketTable, Path], tmp_path: Path
) -> None:
    need("python3", "tcpdump")
    _, folder = streaming
    with captured(tmp_path / "found.pcap", _FILTER):
        _ran("python3", folder / "replay.py", "lo")
    metrics = trafficgen.compare(folder / "packets.pcap", tmp_path / "found.pcap").flat()
    assert metrics["packet_bytes.ks"] == 0
    # Not ks: gaps that are all the same leave their atom by any lateness. Seen: 0.003.
    assert is_on_time(metrics["gap_s.wasserstein"] < 0.1)
