"""Captures of random tables, read back by scapy and dpkt, which had no part in writing them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import dpkt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from trafficgen.packet_files.writing import write_packets
from trafficgen.tables import FLOW_SCHEMA, PACKET_SCHEMA, PacketTable

_ENDS = [
    ("udp", "192.0.2.1", "198.51.100.2"),
    ("tcp", "192.0.2.1", "198.51.100.2"),
    ("udp", "2001:db8::1", "2001:db8::2"),
    ("tcp", "2001:db8::1", "2001:db8::2"),
]
_UINT32 = st.integers(0, 2**32 - 1)
_NAMES = (
    *("time_ns", "flow", "to_client", "frame_bytes", "ip_bytes", "payload_bytes"),
    *("rtp_ssrc", "rtp_sequence", "rtp_timestamp", "rtp_marker"),
    *("tcp_sequence", "tcp_acknowledgement", "tcp_flags", "tcp_window"),
)
_SCHEMA = pa.schema([PACKET_SCHEMA.field(name) for name in _NAMES])


def _flows() -> pa.Table:
    base = {field.name: None if field.nullable else 0 for field in FLOW_SCHEMA} | {
        "media": "video",
        "payload_type": 33,
    }
    rows = [
        base
        | {
            "flow": number,
            "protocol": protocol,
            "server": server,
            "client": client,
            "server_port": 5004 + number,
        }
        for number, (protocol, server, client) in enumerate(_ENDS)
    ]
    return pa.Table.from_pylist([row | {"client_port": 40_000} for row in rows], schema=FLOW_SCHEMA)


@st.composite
def _rows(draw: st.DrawFn) -> dict[str, Any]:
    flow = draw(st.integers(0, 3))
    ip_header, is_udp = (20 if flow < 2 else 40), flow % 2 == 0
    transport = 8 if is_udp else draw(st.sampled_from(range(20, 61, 4)))
    payload_bytes = draw(st.integers(12 if is_udp else 0, 1400))
    row: dict[str, Any] = dict.fromkeys(_NAMES)
    ip_bytes = ip_header + transport + payload_bytes
    row |= {
        "flow": flow,
        "to_client": draw(st.booleans()),
        "ip_bytes": ip_bytes,
        "payload_bytes": payload_bytes,
    }
    row["frame_bytes"] = ip_bytes + 14
    if is_udp and draw(st.booleans()):
        row |= {
            "rtp_ssrc": draw(_UINT32),
            "rtp_sequence": draw(st.integers(0, 65535)),
            "rtp_marker": draw(st.booleans()),
        }
        row["rtp_timestamp"] = draw(_UINT32)
    if not is_udp:
        row |= {"tcp_sequence": draw(_UINT32), "tcp_acknowledgement": draw(_UINT32)}
        row |= {"tcp_flags": draw(st.integers(0, 255)), "tcp_window": draw(st.integers(0, 65535))}
    return row


@st.composite
def _tables(draw: st.DrawFn) -> PacketTable:
    rows = draw(st.lists(_rows(), max_size=10))
    times = sorted(draw(st.lists(st.integers(0, 10**12), min_size=len(rows), max_size=len(rows))))
    for row, time_ns in zip(rows, times, strict=True):
        row["time_ns"] = time_ns
    packets = pa.Table.from_pylist(rows, schema=_SCHEMA)
    return PacketTable(
        packets=packets, flows=_flows(), origin_ns=draw(st.integers(0, 2**31 * 10**9))
    )


def _assert_same(frame: bytes, row: dict[str, Any]) -> None:
    assert len(frame) == row["frame_bytes"]
    ether = Ether(frame)
    ip: Any = ether.getlayer(IP) or ether.getlayer(IPv6)
    _, server, client = _ENDS[row["flow"]]
    assert (ip.src, ip.dst) == ((server, client) if row["to_client"] else (client, server))
    length = ip.len if IP in ether else ip.plen + 40
    assert length == row["ip_bytes"]
    transport: Any = ether.getlayer(UDP) or ether.getlayer(TCP)
    port = 5004 + row["flow"]
    assert (transport.sport, transport.dport) == (
        (port, 40_000) if row["to_client"] else (40_000, port)
    )
    if UDP in ether:
        assert transport.len == row["payload_bytes"] + 8
    else:
        assert length - len(ip) + len(transport) - transport.dataofs * 4 == row["payload_bytes"]
        numbers = (transport.seq, transport.ack, int(transport.flags), transport.window)
        assert numbers == tuple(
            row[f"tcp_{name}"] for name in ("sequence", "acknowledgement", "flags", "window")
        )
    if row["rtp_sequence"] is not None:
        rtp = dpkt.rtp.RTP(bytes(transport.payload)[: row["payload_bytes"]])
        found = (rtp.version, rtp.pt, rtp.ssrc, rtp.seq, rtp.ts, bool(rtp.m))
        assert found == (
            2,
            33,
            *(row[f"rtp_{name}"] for name in ("ssrc", "sequence", "timestamp", "marker")),
        )


def _assert_checksums(frame: bytes) -> None:
    """Let scapy compute every checksum anew and compare: a field that is deleted is filled in when
    built.
    """
    ether = Ether(frame)
    for layer in (IP, UDP, TCP):
        if layer in ether:
            del ether[layer].chksum
    assert bytes(ether) == frame


@pytest.mark.parametrize("suffix", [".pcap", ".pcapng"])
@given(table=_tables())
@settings(max_examples=40, deadline=None)
def test_every_field_of_the_table_is_found_in_the_capture(suffix: str, table: PacketTable) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"out{suffix}"
        write_packets(table, path)
        with path.open("rb") as stream:
            records = list(
                (dpkt.pcapng.Reader if suffix == ".pcapng" else dpkt.pcap.Reader)(stream)
            )
    rows = table.packets.to_pylist()
    assert len(records) == len(rows)
    for (time_s, frame), row in zip(records, rows, strict=True):
        # dpkt gives seconds as floats or decimals; a float of this size has a resolution of 0.24
        # us.
        assert abs(float(time_s) - (table.origin_ns + row["time_ns"]) / 1e9) < 1e-6
        _assert_same(frame, row)
        _assert_checksums(frame)
