"""Captures and packet tables read piece by piece."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conftest import TableMaker

import trafficgen
from trafficgen.capture.reading import read_flows, stream_capture
from trafficgen.capture.scan import scan_capture
from trafficgen.capture.table_streams import open_table_file, packets_in
from trafficgen.errors import CaptureError, PacketTableError
from trafficgen.flows import inspect_stream
from trafficgen.packet_files.writing import write_packets
from trafficgen.tables import PacketTable
from trafficgen.tables.stream import sort_pieces

EXAMPLE = (
    Path(__file__).resolve().parents[3] / "examples" / "captures" / "rtsp_rtp_two_streams.pcap.gz"
)


def test_packets_of_a_stream_are_those_of_the_capture() -> None:
    scan = scan_capture([EXAMPLE])
    whole = read_flows(scan, [1, 2])
    stream = stream_capture(scan, [1, 2])
    assert pa.concat_tables(list(stream.pieces)).equals(whole.packets)
    assert (stream.head.flows, stream.head.origin_ns) == (whole.flows, whole.origin_ns)
    assert {"rtp_sequence", "tcp_sequence", "time_ns"} <= stream.columns


def test_a_capture_that_grows_meanwhile_is_refused(make_table: TableMaker, tmp_path: Path) -> None:
    file = tmp_path / "growing.pcap"
    write_packets(make_table([0.0, 1.0]), file)
    scan = scan_capture([file])
    write_packets(
        make_table([0.0, 1.0], flow=[0, 1], flows=[{"flow": 0}, {"flow": 1, "client_port": 9}]),
        file,
    )
    with pytest.raises(CaptureError, match="changed while it was read: it has more flows"):
        list(stream_capture(scan).pieces)


@pytest.mark.filterwarnings("ignore::trafficgen.CaptureWarning")
@pytest.mark.parametrize("claimed_bytes", [2**31 - 1, 2**31, 2**32 - 1])
@pytest.mark.parametrize("every", [1, 7, 50])
def test_packets_that_claim_gigabytes_take_no_memory(
    tmp_path: Path, claimed_bytes: int, every: int
) -> None:
    file = tmp_path / "claims.pcap"
    ip = bytes([0x45, 0, 0, 68, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2])
    packet = bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHH", 5004, 40000, 48, 0) + bytes(40)
    records = [
        struct.pack("<IIII", second, 0, 82, 82 if second % every else claimed_bytes) + packet
        for second in range(1, 101)
    ]
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    file.write_bytes(head + b"".join(records))
    assert len(trafficgen.read_packets(file).packets) == 100
    assert sum(map(len, stream_capture(scan_capture([file])).pieces)) == 100
    # 300 MB hold what is kept of them: no host hands 2 GiB to its card, so nothing is cut.
    fitted = trafficgen.fit(file, memory_bytes=300_000_000)
    assert fitted.model.streams[0].phases[0].rate_bps < 1000
    assert trafficgen.compare(file, file, memory_bytes=300_000_000).metrics


def pieces_at(*times_ns: list[int]) -> list[pa.Table]:
    return [pa.table({"time_ns": pa.array(times, pa.int64())}) for times in times_ns]


def test_packets_out_of_order_within_the_window_are_put_in_order() -> None:
    rng = np.random.default_rng(3)
    late = np.argsort(np.arange(1000) + rng.integers(0, 40, 1000), kind="stable")
    pieces = pieces_at(*[late[start : start + 30].tolist() for start in range(0, 1000, 30)])
    found = pa.concat_tables(list(sort_pieces(pieces, name="x", window_rows=64)))
    assert found.column("time_ns").to_pylist() == list(range(1000))


def test_packets_further_out_of_order_are_refused() -> None:
    pieces = pieces_at(list(range(100, 400)), list(range(400, 700)), [5])
    with pytest.raises(CaptureError, match="late; put it in order first"):
        list(sort_pieces(pieces, name="x", window_rows=64))


@pytest.fixture
def two_flows(make_table: TableMaker) -> PacketTable:
    count = 3000
    return make_table(
        np.arange(count) * 0.01,
        flow=np.arange(count) % 2,
        to_client=np.arange(count) % 3 > 0,
        ip_bytes=np.arange(count) % 1400 + 40,
        flows=[{"flow": 0}, {"flow": 1, "client_port": 9}],
    )


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_table_read_piece_by_piece_is_the_table(
    two_flows: PacketTable, ending: str, tmp_path: Path
) -> None:
    file = tmp_path / f"packets.{ending}"
    write_packets(two_flows, file)
    found = open_table_file(file)
    whole = trafficgen.read_packets(file)
    assert found.columns == tuple(whole.packets.column_names)
    assert pa.concat_tables(list(found.stream().pieces)).equals(whole.packets)
    assert found.head.flows.select(["flow", "client_port"]).equals(
        whole.flows.select(["flow", "client_port"])
    )
    one = pa.concat_tables(list(found.stream([1]).pieces))
    assert one.equals(whole.select_flows([1]).packets)
    assert abs(packets_in(file) / 3000 - 1) < (0.2 if ending == "csv" else 1e-9)


@pytest.mark.parametrize("idle_timeout_s", [None, 0.025])
def test_flows_of_a_stream_are_measured_as_those_of_a_table(
    two_flows: PacketTable, idle_timeout_s: float | None, tmp_path: Path
) -> None:
    file = tmp_path / "packets.parquet"
    pauses = two_flows.select((two_flows.time_s % 1) < 0.9)
    write_packets(pauses, file)
    streamed = inspect_stream(
        open_table_file(file).stream(), files=(str(file),), idle_timeout_s=idle_timeout_s
    )
    whole = trafficgen.inspect(file, idle_timeout_s=idle_timeout_s)
    assert streamed.to_json() == whole.to_json()
    assert (
        trafficgen.inspect(file, idle_timeout_s=idle_timeout_s, memory_bytes=1).to_json()
        == whole.to_json()
    )


def test_a_table_without_our_flow_table_gets_one(two_flows: PacketTable, tmp_path: Path) -> None:
    file = tmp_path / "foreign.parquet"
    pq.write_table(two_flows.packets, file)
    found = open_table_file(file)
    assert found.head.flows.column("flow").to_pylist() == [0, 1]
    assert sum(piece.num_rows for piece in found.stream().pieces) == 3000


def test_flows_beyond_the_flow_table_are_refused(two_flows: PacketTable, tmp_path: Path) -> None:
    file = tmp_path / "packets.csv"
    write_packets(two_flows, file)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines, lines[-1].replace(",1,", ",9,", 1)]) + "\n")
    with pytest.raises(PacketTableError, match="of flow 9, the flow table has 2 rows"):
        list(open_table_file(file).stream().pieces)


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "noise.parquet"
    file.write_bytes(os.urandom(100))
    for work in (open_table_file, packets_in):
        with pytest.raises(PacketTableError, match="cannot be read"):
            work(file)
