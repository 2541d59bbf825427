"""What tshark, capinfos and tcpreplay say about captures that we wrote."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from trafficgen.capture.reading import read_capture
from trafficgen.packet_files.writing import write_packets
from trafficgen.tables import FLOW_SCHEMA, PACKET_SCHEMA, PacketTable
from trafficgen.units import NS_PER_S

_COUNT = 2000
_PROTOCOLS = ("udp", "tcp", "icmp", "esp", "udp", "tcp", "icmpv6", "igmp")
_WRITERS = [
    pytest.param(write_packets, "out.pcap", id="pcap"),
    pytest.param(write_packets, "out.pcapng", id="pcapng"),
]

_SHARED_CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"
_FAULTS = (
    "_ws.malformed || ip.checksum.status==0 || udp.checksum.status==0 || tcp.checksum.status==0 ||"
    " igmp.checksum.status==0 || icmp.checksum.status==0 || icmpv6.checksum.status==0 ||"
    " frame.time_delta < 0 || _ws.expert.severity==error || udp.length.bad || _ws.unreassembled"
)

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
needs_capinfos = pytest.mark.skipif(
    shutil.which("capinfos") is None, reason="capinfos is not installed"
)
needs_tcpreplay = pytest.mark.skipif(
    shutil.which("tcpreplay") is None or os.geteuid() != 0,
    reason="tcpreplay is not installed or we are not root",
)


TsharkFields = Callable[..., list[list[str]]]


def _flows() -> pa.Table:
    rows = []
    for number, protocol in enumerate(_PROTOCOLS):
        row: dict[str, object] = {
            field.name: None if field.nullable else 0 for field in FLOW_SCHEMA
        }
        row |= {
            "flow": number,
            "protocol": protocol,
            "media": "video",
            "payload_type": 96,
            "ssrc": 1000 + number,
        }
        row |= {"server_port": 5004, "client_port": 40_000 + 2 * number}
        ends = (
            ("192.0.2.1", "198.51.100.2") if number < 4 else ("2001:db8:0:1::1", "2001:db8:0:2::1")
        )
        rows.append(row | dict(zip(("server", "client"), ends, strict=True)))
    return pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)


def _some(values: np.ndarray, where: np.ndarray) -> pa.Array:
    return pa.array(values, mask=~where)


@pytest.fixture(scope="module")
def table() -> PacketTable:
    """IPv4 and IPv6; RTP, TCP with options and without known sequence numbers, echo, ESP; both
    directions.
    """
    random = np.random.default_rng(1)
    flow = random.integers(0, len(_PROTOCOLS), _COUNT)
    is_rtp = np.isin(flow, [0, 4])
    is_tcp = np.isin(flow, [1, 5])
    ip_bytes = random.choice([92, 100, 577, 1000, 1499, 1500], _COUNT)
    headers = np.where(flow < 4, 20, 40) + np.where(is_tcp, 32, 8)
    sequence = np.arange(_COUNT)
    columns = {
        "time_ns": np.cumsum(random.integers(0, 1_000_000, _COUNT)),
        "flow": flow,
        "to_client": is_rtp | (random.random(_COUNT) < 0.7),
        "frame_bytes": ip_bytes + 14,
        "ip_bytes": ip_bytes,
        "payload_bytes": ip_bytes - headers,
        "rtp_sequence": _some(sequence, is_rtp),
        "rtp_timestamp": _some(sequence * 3000, is_rtp),
        "rtp_marker": _some(sequence % 3 == 0, is_rtp),
        "tcp_window": _some(sequence + 1, is_tcp),
    }
    schema = pa.schema([PACKET_SCHEMA.field(name) for name in columns])
    packets = pa.table(
        {n: pa.array(v).cast(schema.field(n).type) for n, v in columns.items()}, schema=schema
    )
    return PacketTable(packets=packets, flows=_flows(), origin_ns=1_700_000_000 * NS_PER_S + 1)


@needs_tshark
@pytest.mark.parametrize(("write", "name"), _WRITERS)
def test_tshark_finds_no_malformed_packet_bad_checksum_or_step_back(
    table: PacketTable,
    tshark_fields: TsharkFields,
    tmp_path: Path,
    write: Callable[..., object],
    name: str,
) -> None:
    write(table, tmp_path / name)
    assert (
        tshark_fields(tmp_path / name, "frame.number", "_ws.expert.message", display=_FAULTS) == []
    )
    good = "ip.checksum.status==1 || udp.checksum.status==1 || tcp.checksum.status==1"
    verified = tshark_fields(tmp_path / name, "frame.number", display=good)
    assert len(verified) == int(np.isin(table.flow, [0, 1, 2, 3, 4, 5]).sum())


@needs_tshark
@pytest.mark.parametrize(("write", "name"), _WRITERS)
def test_tshark_reads_the_times_sizes_and_rtp_fields_of_the_table(
    table: PacketTable,
    tshark_fields: TsharkFields,
    tmp_path: Path,
    write: Callable[..., object],
    name: str,
) -> None:
    write(table, tmp_path / name)
    fields = (
        "frame.time_epoch",
        "frame.len",
        "rtp.seq",
        "rtp.timestamp",
        "rtp.marker",
        "rtp.ssrc",
        "rtp.p_type",
    )
    rows = tshark_fields(tmp_path / name, *fields)
    assert len(rows) == _COUNT
    for found, row in zip(rows, table.packets.to_pylist(), strict=True):
        seconds, nanoseconds = found[0].split(".")
        assert (
            int(seconds) * NS_PER_S + int(nanoseconds.ljust(9, "0"))
            == table.origin_ns + row["time_ns"]
        )
        assert int(found[1]) == row["frame_bytes"]
        if row["rtp_sequence"] is None:
            assert found[2:] == [""] * 5
            continue
        assert (int(found[2]), int(found[3])) == (row["rtp_sequence"], row["rtp_timestamp"])
        assert found[4].lower() in (("1", "true") if row["rtp_marker"] else ("0", "false"))
        assert (int(found[5], 16), int(found[6])) == (1000 + row["flow"], 96)


@needs_tshark
@pytest.mark.parametrize(
    "name",
    [
        "trex_rtsp_rtp_250k_av.pcap",
        "zj_rtsp_interleaved_tcp.pcap",
        "twinx_rtmp_loopback.pcap",
        "sipp_rtp_h264.pcap",
    ],
)
def test_a_real_capture_written_anew_has_every_packet_and_no_fault(
    tshark_fields: TsharkFields, tmp_path: Path, name: str
) -> None:
    found = sorted(_SHARED_CAPTURES.rglob(name))
    if not found:
        pytest.skip(f"{name} is not in ../shared/captures")
    table = read_capture(found).table
    report = write_packets(table, tmp_path / "out.pcapng")
    assert report.packets == len(table)
    assert tshark_fields(tmp_path / "out.pcapng", "frame.number", display=_FAULTS) == []
    lengths = [int(row[0]) for row in tshark_fields(tmp_path / "out.pcapng", "frame.len")]
    assert lengths == (table.ip_bytes + 14).tolist()


@needs_tshark
def test_tshark_sees_unbroken_tcp_streams_where_the_writer_made_the_sequence_numbers(
    table: PacketTable, tshark_fields: TsharkFields, tmp_path: Path
) -> None:
    write_packets(table, tmp_path / "out.pcap")
    broken = (
        "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment || tcp.analysis.retransmission"
    )
    broken += " || tcp.analysis.out_of_order"
    assert tshark_fields(tmp_path / "out.pcap", "frame.number", display=broken) == []


@needs_capinfos
@pytest.mark.parametrize(("write", "name"), _WRITERS)
def test_capinfos_counts_every_packet_in_strict_order(
    table: PacketTable, tmp_path: Path, write: Callable[..., object], name: str
) -> None:
    write(table, tmp_path / name)
    command = ["capinfos", "-T", "-r", "-m", "-c", "-o", "-d", str(tmp_path / name)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    _, packets, data_bytes, order = run.stdout.strip().split(",")
    assert (int(packets), int(data_bytes), order) == (_COUNT, int(table.frame_bytes.sum()), "True")


@needs_tcpreplay
def test_tcpreplay_sends_every_packet_on_the_loopback_interface(
    table: PacketTable, tmp_path: Path
) -> None:
    write_packets(table.select(np.arange(_COUNT) < 200), tmp_path / "out.pcap")
    command = ["tcpreplay", "-i", "lo", "-t", str(tmp_path / "out.pcap")]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stderr
    lines = {
        key.strip(): value.strip()
        for key, _, value in (line.partition(":") for line in run.stdout.splitlines())
    }
    assert (lines["Successful packets"], lines["Failed packets"]) == ("200", "0")
