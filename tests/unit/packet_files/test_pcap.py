from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import dpkt
import pyarrow as pa
import pytest

from trafficgen.errors import ExportError, OutputFileError
from trafficgen.packet_files.pcap import write_capture_stream
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.packet_files.writing import select_view, write_packets
from trafficgen.tables import FLOW_SCHEMA, PacketTable
from trafficgen.tables.stream import stream_of


def _frames(path: Path) -> list[tuple[float, bytes]]:
    with path.open("rb") as stream:
        reader = (
            dpkt.pcapng.Reader(stream) if path.suffix == ".pcapng" else dpkt.pcap.Reader(stream)
        )
        return list(reader)


def _with_flow_values(table: PacketTable, **columns: list[object]) -> PacketTable:
    rows = table.flows.to_pydict() | columns
    return replace(table, flows=pa.Table.from_pydict(rows, schema=FLOW_SCHEMA))


def _with_column(table: PacketTable, name: str, values: list[object]) -> PacketTable:
    place = table.packets.schema.get_field_index(name)
    field = table.packets.schema.field(place)
    return replace(
        table, packets=table.packets.set_column(place, field, pa.array(values, type=field.type))
    )


def test_a_pcap_begins_with_the_nanosecond_magic_version_snaplen_and_ethernet(
    table: PacketTable, tmp_path: Path
) -> None:
    write_packets(table, tmp_path / "a.pcap", snaplen_bytes=96)
    head = (tmp_path / "a.pcap").read_bytes()[:24]
    assert struct.unpack("<IHHiIII", head) == (0xA1B23C4D, 2, 4, 0, 0, 96, 1)


def test_times_keep_every_nanosecond_in_both_formats(table: PacketTable, tmp_path: Path) -> None:
    write_packets(table, tmp_path / "a.pcap")
    write_packets(table, tmp_path / "a.pcapng")
    seconds, nanoseconds = struct.unpack_from("<II", (tmp_path / "a.pcap").read_bytes(), 24)
    assert seconds * 10**9 + nanoseconds == table.origin_ns
    # Behind section header (28 bytes) and interface (32): block type, length, interface, time high,
    # time low.
    high, low = struct.unpack_from("<II", (tmp_path / "a.pcapng").read_bytes(), 60 + 12)
    assert (high << 32) + low == table.origin_ns


@pytest.mark.parametrize("name", ["a.pcap", "a.pcapng"])
def test_frames_carry_addresses_ports_sizes_and_rtp_fields(
    table: PacketTable, tmp_path: Path, name: str
) -> None:
    write_packets(table, tmp_path / name)
    frames = [dpkt.ethernet.Ethernet(frame) for _, frame in _frames(tmp_path / name)]
    assert [len(frame) for frame in frames] == table.frame_bytes.tolist()
    datagram = frames[0].data.data
    assert (datagram.sport, datagram.dport, datagram.ulen) == (5004, 40000, 180)
    rtp = dpkt.rtp.RTP(datagram.data)
    assert (rtp.version, rtp.m, rtp.pt, rtp.seq, rtp.ts, rtp.ssrc) == (2, 1, 96, 10, 90, 7)
    segment = frames[5].data.data
    assert (segment.sport, segment.dport, segment.flags, len(segment.data)) == (
        554,
        40001,
        0x18,
        500,
    )


def test_a_handshake_without_sequence_numbers_in_the_table_gets_consistent_ones(
    table: PacketTable, tmp_path: Path
) -> None:
    write_packets(table, tmp_path / "a.pcap")
    segments = [
        dpkt.ethernet.Ethernet(frame).data.data for _, frame in _frames(tmp_path / "a.pcap")
    ]
    numbers = [(s.seq, s.ack) for s in segments if isinstance(s, dpkt.tcp.TCP)]
    assert numbers == [(1, 0), (1, 2), (2, 2), (2, 2)]


def test_the_receivers_view_has_arrivals_in_order_and_no_lost_packets(
    table: PacketTable, tmp_path: Path
) -> None:
    report = write_packets(select_view(table, "receiver"), tmp_path / "a.pcap")
    frames = _frames(tmp_path / "a.pcap")
    assert report.packets == len(frames) == 5
    assert [len(frame) for _, frame in frames] == [54, 54, 554, 214, 54]
    assert report.bytes_before == report.bytes_after == 860


def test_the_receivers_view_of_a_table_without_arrivals_is_the_table(
    table: PacketTable, tmp_path: Path
) -> None:
    unknown = replace(table, packets=table.packets.drop_columns(["arrival_ns"]))
    assert write_packets(select_view(unknown, "receiver"), tmp_path / "a.pcap").packets == 6


def test_the_snaplen_cuts_frames_but_not_their_recorded_length(
    table: PacketTable, tmp_path: Path
) -> None:
    report = write_packets(table, tmp_path / "a.pcap", snaplen_bytes=60)
    assert [len(frame) for _, frame in _frames(tmp_path / "a.pcap")] == [60, 54, 54, 54, 60, 60]
    captured, original = struct.unpack_from("<II", (tmp_path / "a.pcap").read_bytes(), 24 + 8)
    assert (captured, original) == (60, 214)
    assert "bytes of a frame behind the first 60" in report.cannot_express


def test_a_packet_too_small_for_its_headers_is_refused_by_row_and_leaves_no_file(
    table: PacketTable, tmp_path: Path
) -> None:
    small = _with_column(table, "ip_bytes", [200, 40, 40, 40, 39, 540])
    with pytest.raises(ExportError, match=r"packet 4 \(flow 0\): ip_bytes 39 .* take 40"):
        write_capture_stream(
            stream_of(small), tmp_path / "a.pcap", container="pcap", raise_small=False
        )
    assert list(tmp_path.iterdir()) == []


def test_small_packets_are_raised_and_counted(table: PacketTable, tmp_path: Path) -> None:
    small = _with_column(table, "ip_bytes", [200, 40, 40, 40, 39, 540])
    report = write_packets(small, tmp_path / "a.pcap")
    assert (report.packets, report.packets_changed) == (6, 1)
    assert (report.bytes_before, report.bytes_after) == (899, 900)
    assert "sizes below their headers were raised to them (1 packet)" in report.cannot_express


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda t: _with_column(t, "ip_bytes", [65_536, 40, 40, 40, 40, 540]),
            "packet 0 .*more than the IP length",
        ),
        (
            lambda t: _with_column(t, "time_ns", [9_000, 1, 2, 3, 4, 5]),
            "packet 1 is 8999 ns earlier",
        ),
        (
            lambda t: _with_column(t, "flow", [0, 1, 1, 1, 2, 1]),
            "packet 4: flow 2 is not in the flow table",
        ),
        (lambda t: replace(t, origin_ns=-1), "before 1970"),
        (lambda t: replace(t, origin_ns=2**32 * 10**9), "later than the file format can say"),
        (
            lambda t: _with_flow_values(t, server=["2001:db8::1", "192.0.2.1"]),
            "not of the same IP version",
        ),
        (
            lambda t: _with_flow_values(t, client=["here", "198.51.100.1"]),
            "'here' is not an IP address|\"here\"",
        ),
    ],
)
def test_what_no_frame_can_be_is_refused_with_its_place(
    table: PacketTable, tmp_path: Path, spoil: Callable[[PacketTable], PacketTable], message: str
) -> None:
    with pytest.raises(ExportError, match=message):
        write_packets(spoil(table), tmp_path / "a.pcap")
    assert list(tmp_path.iterdir()) == []


def test_packets_without_ip_are_left_out_and_reported(table: PacketTable, tmp_path: Path) -> None:
    mixed = _with_flow_values(
        table, protocol=["udp", "non-ip"], server=["192.0.2.1", ""], client=["198.51.100.1", ""]
    )
    report = write_packets(mixed, tmp_path / "a.pcap")
    assert report.packets == len(_frames(tmp_path / "a.pcap")) == 2
    assert "packets without IP were left out (4 packets)" in report.cannot_express


def test_the_report_says_what_a_capture_cannot_hold(table: PacketTable, tmp_path: Path) -> None:
    phase = (
        pa.array(["playout"] * 6).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    )
    fuller = replace(table, packets=table.packets.append_column("phase", phase))
    report = write_packets(fuller, tmp_path / "a.pcap")
    assert (
        report.to_json()
        == ProjectionReport(
            target="pcap",
            files=("a.pcap",),
            packets=6,
            packets_changed=0,
            bytes_before=2360,
            bytes_after=2360,
            cannot_express=(
                "payload content (zero bytes are written)",
                "columns that a capture cannot hold: arrival_ns, phase",
            ),
        ).to_json()
    )


def test_a_folder_that_is_not_there_is_an_output_error(table: PacketTable, tmp_path: Path) -> None:
    with pytest.raises(OutputFileError, match="cannot be written"):
        write_packets(table, tmp_path / "missing" / "a.pcap")


def test_options_out_of_range_are_refused(table: PacketTable, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="snaplen_bytes"):
        write_packets(table, tmp_path / "a.pcap", snaplen_bytes=0)
    with pytest.raises(ValueError, match="view"):
        select_view(table, "nobody")  # type: ignore[arg-type]
