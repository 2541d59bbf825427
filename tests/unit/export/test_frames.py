"""What tools that send frames are handed: directions, addresses, sizes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from trafficgen.errors import ExportError, SettingError
from trafficgen.export.frames import FrameStream
from trafficgen.export.settings import Settings, SettingValue
from trafficgen.export.targets.tcpreplay import TCPREPLAY_SETTINGS
from trafficgen.tables import PacketTable
from trafficgen.tables.stream import stream_of


def _frames(table: PacketTable, **given: SettingValue) -> tuple[FrameStream, PacketTable]:
    settings = Settings("example", TCPREPLAY_SETTINGS, given)
    frames = FrameStream(stream_of(table), settings, target="example")
    return frames, frames.gather()


def _larger(table: PacketTable, *, payload_bytes: list[int], headers: list[int]) -> PacketTable:
    """The table with other sizes of its six packets."""
    packets = table.packets
    ip_bytes = np.array(payload_bytes) + np.array(headers)
    for name, values in (
        ("payload_bytes", payload_bytes),
        ("ip_bytes", ip_bytes),
        ("frame_bytes", ip_bytes + 14),
    ):
        place = packets.schema.get_field_index(name)
        field = packets.schema.field(place)
        packets = packets.set_column(place, field, pa.array(values).cast(field.type))
    return replace(table, packets=packets)


@pytest.fixture
def large(table: PacketTable) -> PacketTable:
    """An RTP packet of 4000 payload bytes and a TCP segment of 2961, whose sequence number is
    100.
    """
    wide = _larger(
        table, payload_bytes=[4000, 0, 0, 0, 1472, 2961], headers=[28, 40, 40, 40, 28, 40]
    )
    sequence = pa.array([None, 1, 1, 2, None, 100], type=pa.uint32())
    return replace(wide, packets=wide.packets.append_column("tcp_sequence", sequence))


def test_both_directions_are_sent_as_they_are(table: PacketTable) -> None:
    frames, sent = _frames(table)
    assert sent.packets.equals(table.packets)
    assert sent.flows.equals(table.flows)
    assert frames.describe_changes() == ()


def test_one_direction_leaves_the_other_out_and_says_so(table: PacketTable) -> None:
    frames, sent = _frames(table, direction="to_client")
    assert sent.to_client.all()
    assert len(sent) == 4
    assert frames.describe_changes() == ("packets of the other direction (2 packets)",)
    assert frames.bytes_before == 200 + 40 + 1500 + 540


def test_ends_get_the_addresses_that_are_set(table: PacketTable) -> None:
    flows = _frames(table, server="10.0.0.1", client="10.0.0.2")[1].flows.to_pylist()
    assert {(flow["server"], flow["client"]) for flow in flows} == {("10.0.0.1", "10.0.0.2")}
    assert [flow["server_port"] for flow in flows] == [5004, 554]


@pytest.mark.parametrize(
    "given",
    [
        {"server": "nowhere"},
        {"server": "10.0.0.1", "client": "2001:db8::1"},
        {"client_mac": "02:00:00:00:00"},
        {"server_mac": "ff:ff:ff:ff:ff:ff"},
    ],
)
def test_what_is_no_address_of_one_host_is_refused(
    table: PacketTable, given: dict[str, str]
) -> None:
    with pytest.raises(SettingError, match="example: "):
        _frames(table, **given)


def test_network_cards_are_read_with_colons_or_dashes(table: PacketTable) -> None:
    assert _frames(table, client_mac="02-AB-00-00-00-09")[0].macs == (
        b"\x02\0\0\0\0\x01",
        b"\x02\xab\0\0\0\x09",
    )


def test_packets_above_the_mtu_are_refused_with_the_settings_that_help(large: PacketTable) -> None:
    with pytest.raises(
        ExportError,
        match=r"packet 0 \(flow 0\).* 4028 IP bytes.*2 such packets.*oversize=split.*mtu",
    ):
        _frames(large)
    assert _frames(large, mtu_bytes=9000)[0].packets_split == 0


def test_split_packets_have_equal_payloads_and_the_headers_of_their_packet(
    large: PacketTable,
) -> None:
    frames, table = _frames(large, oversize="split")
    assert frames.packets_split == 2
    assert frames.bytes_before == int(large.ip_bytes.sum())
    # 4000 into packets of at most 1472, and 2961 into segments of at most 1460.
    assert table.payload_bytes.tolist() == [1334, 1333, 1333, 0, 0, 0, 1472, 987, 987, 987]
    assert table.ip_bytes.tolist() == [1362, 1361, 1361, 40, 40, 40, 1500, 1027, 1027, 1027]
    assert (table.frame_bytes - table.ip_bytes == 14).all()
    assert table.time_ns.tolist() == [0, 0, 0, 1000, 2000, 3000, 4000, 5000, 5000, 5000]


def test_pieces_of_a_segment_follow_each_other_and_of_rtp_only_the_first_has_the_header(
    large: PacketTable,
) -> None:
    table = _frames(large, oversize="split")[1]
    assert table.column("tcp_sequence").to_pylist() == [
        None,
        None,
        None,
        1,
        1,
        2,
        None,
        100,
        1087,
        2074,
    ]
    assert table.column("rtp_sequence").to_pylist() == [
        10,
        None,
        None,
        None,
        None,
        None,
        11,
        None,
        None,
        None,
    ]
