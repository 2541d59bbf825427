from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trafficgen.flows import infer_mtu_bytes, resegment
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]
TCP = [{"flow": 0, "protocol": "tcp"}]


def test_a_super_packet_becomes_packets_of_mtu_size(make_table: TableMaker) -> None:
    table = make_table(
        [0.0, 0.5, 1.0],
        ip_bytes=np.array([1500, 40 + 2 * 1460 + 100, 1500]),
        header_bytes=40,
        flows=TCP,
        tcp_sequence=np.array([1000, 4_294_966_296, 5000]),
        tcp_flags=np.array([0x10, 0x18, 0x10]),
        rtp_sequence=[None, None, None],
    )
    cut, count = resegment(table)
    assert count == 1
    np.testing.assert_array_equal(cut.ip_bytes, [1500, 1500, 1500, 140, 1500])
    np.testing.assert_array_equal(cut.frame_bytes - cut.ip_bytes, 14)
    np.testing.assert_array_equal(cut.payload_bytes, [1460, 1460, 1460, 100, 1460])
    assert cut.payload_bytes.sum() == table.payload_bytes.sum()
    np.testing.assert_array_equal(
        cut.values("tcp_sequence"), [1000, 4_294_966_296, 460, 1920, 5000]
    )
    np.testing.assert_array_equal(cut.values("tcp_flags"), [0x10, 0x10, 0x10, 0x18, 0x10])
    np.testing.assert_array_equal(np.diff(cut.time_ns)[1:3], 12_000)
    assert not cut.is_known("rtp_sequence").any()


def test_pieces_stay_before_the_next_packet_of_their_flow(make_table: TableMaker) -> None:
    table = make_table(
        [0.0, 10e-6, 20e-6],
        ip_bytes=np.array([40 + 10 * 1460, 40 + 10 * 1460, 1500]),
        header_bytes=40,
    )
    cut, count = resegment(table)
    assert (count, len(cut)) == (2, 21)
    assert np.all(np.diff(cut.time_ns) >= 0)
    assert cut.time_ns[-1] == 20_000
    assert cut.payload_bytes.sum() == table.payload_bytes.sum()


def test_a_table_without_super_packets_is_returned_as_it_is(make_table: TableMaker) -> None:
    table = make_table([0.0, 1.0], ip_bytes=np.array([1500, 900]))
    assert resegment(table) == (table, 0)


def test_the_mtu_is_the_commonest_full_size(make_table: TableMaker) -> None:
    table = make_table(np.arange(6), ip_bytes=np.array([1450, 1450, 1450, 1500, 200, 30000]))
    assert infer_mtu_bytes(table) == 1450
    assert infer_mtu_bytes(make_table([0.0, 1.0], ip_bytes=np.array([200, 30000]))) == 1500


def test_jumbo_frames_of_one_size_are_not_cut(make_table: TableMaker) -> None:
    table = make_table(np.arange(4), ip_bytes=np.array([9000, 9000, 9000, 4000]))
    assert resegment(table) == (table, 0)


def test_packets_up_to_the_ethernet_mtu_are_left_alone(make_table: TableMaker) -> None:
    table = make_table(np.arange(4), ip_bytes=np.array([1300, 1300, 1300, 1480]))
    assert resegment(table) == (table, 0)


def test_damage_is_not_cut(make_table: TableMaker) -> None:
    sizes = np.array([8 * 65_535 + 1, 2**31 - 1])
    table = make_table(np.arange(2), ip_bytes=sizes, header_bytes=40)
    assert resegment(table) == (table, 0)
    table = make_table([0.0], ip_bytes=np.array([500_000]), header_bytes=1499)
    assert resegment(table) == (table, 0)  # half a million pieces of a byte
