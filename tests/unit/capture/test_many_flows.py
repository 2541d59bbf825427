"""Captures of more flows than there is room for: the first ones are told apart, the packets of the
others counted.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import TableMaker

import trafficgen
from trafficgen.capture.memory import most_flows_in
from trafficgen.capture.options import ReadOptions
from trafficgen.capture.reading import read_flows, stream_capture
from trafficgen.capture.scan import scan_capture
from trafficgen.capture.warnings import describe_copies
from trafficgen.packet_files.writing import write_packets


@pytest.fixture
def ten_flows(make_table: TableMaker, tmp_path: Path) -> Path:
    """A capture of ten flows, which begin one after another; each has a packet in every round of
    three.
    """
    flow = np.tile(np.arange(10), 3)
    rows = [{"flow": number, "client_port": 5000 + number} for number in range(10)]
    write_packets(
        make_table(np.arange(30.0).tolist(), flow=flow.tolist(), flows=rows), tmp_path / "ten.pcap"
    )
    return tmp_path / "ten.pcap"


def test_packets_of_flows_without_room_are_counted_and_warned_of(ten_flows: Path) -> None:
    found = scan_capture([ten_flows], most_flows=4).inspection
    assert sorted(found.flows.column("client_port").to_pylist()) == [5000, 5001, 5002, 5003]
    assert found.flows.column("packets_to_client").to_pylist() == [3] * 4
    assert (found.packets, found.ip_packets) == (30, 12)
    assert found.warnings == (
        (
            f"{ten_flows}: 18 packets of flows behind the first 4, for which there is no room; give"
            " more memory_bytes=..."
        ),
    )


def test_flows_that_just_fit_are_all_told_apart(ten_flows: Path) -> None:
    found = scan_capture([ten_flows], most_flows=10).inspection
    assert found.flows.equals(scan_capture([ten_flows]).inspection.flows)
    assert found.warnings == ()


def test_packets_are_those_of_the_flows_that_the_scan_has(ten_flows: Path) -> None:
    scan = scan_capture([ten_flows], most_flows=4)
    assert len(read_flows(scan, range(4))) == 12
    assert sum(piece.num_rows for piece in stream_capture(scan).pieces) == 12


def test_silence_splits_no_more_flows_than_there_is_room_for(ten_flows: Path) -> None:
    apart = [
        scan_capture([ten_flows], ReadOptions(idle_timeout_s=5), most_flows=most)
        for most in (10, 15, 100)
    ]
    assert [scan.inspection.flows.num_rows for scan in apart] == [10, 15, 30]
    assert [scan.inspection.ip_packets for scan in apart] == [30, 30, 30]


def test_little_memory_leaves_room_for_the_first_flows_alone(
    make_table: TableMaker, tmp_path: Path
) -> None:
    count = 12_000
    rows = [{"flow": number, "client_port": 1024 + number} for number in range(count)]
    table = make_table(np.arange(count).tolist(), flow=np.arange(count).tolist(), flows=rows)
    write_packets(table, tmp_path / "many.pcap")
    found = trafficgen.inspect(tmp_path / "many.pcap", memory_bytes=1_000_000)
    assert found.flows.num_rows == most_flows_in(1_000_000) == 10_000
    assert "2,000 packets of flows behind the first 10,000" in found.warnings[0]
    assert trafficgen.inspect(tmp_path / "many.pcap").flows.num_rows == count


def test_a_capture_that_is_given_twice_is_warned_of(ten_flows: Path, tmp_path: Path) -> None:
    copy, other = tmp_path / "copy.pcap", tmp_path / "other.pcap"
    copy.write_bytes(ten_flows.read_bytes())
    content = bytearray(ten_flows.read_bytes())
    content[-1] ^= 1
    other.write_bytes(content)
    assert trafficgen.inspect([ten_flows, other]).warnings == ()
    [text] = trafficgen.inspect([ten_flows, other, copy]).warnings
    assert text.startswith(f"{copy}: has the contents of {ten_flows}, and its packets count twice")


def test_copies_among_thousands_of_captures_are_found_by_reading_each_once(tmp_path: Path) -> None:
    names = [str(tmp_path / f"{number}.pcap") for number in range(2_000)]
    for number, name in enumerate(names):
        Path(name).write_bytes(b"%100d" % min(number, 1_998))
    begun_s = time.process_time()
    [text] = describe_copies(names)
    assert time.process_time() - begun_s < 5.0  # in pairs it took a minute
    assert text.startswith(f"{names[-1]}: has the contents of {names[-2]}, and")
