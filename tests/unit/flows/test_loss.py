from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trafficgen.flows import RtpLoss, extend_sequence, rtp_loss
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]


def loss_of(make_table: TableMaker, sequence: list[int], **columns: Any) -> RtpLoss:
    n = len(sequence)
    table = make_table(
        np.arange(n) * 0.02,
        rtp_sequence=np.array(sequence),
        rtp_ssrc=columns.get("ssrc", 7),
        flow=columns.get("flow", 0),
    )
    (found,) = rtp_loss(table)
    return found


def test_loss_across_the_wrap_is_counted_as_by_hand(make_table: TableMaker) -> None:
    # 65534 65535 [0 1 lost] 2 3 [4 lost] 5: 8 expected, 5 received, runs of 2 and 1
    found = loss_of(make_table, [65534, 65535, 2, 3, 5])
    assert (found.expected, found.received, found.lost) == (8, 5, 3)
    np.testing.assert_array_equal(found.lost_runs, [2, 1])


def test_duplicates_are_no_receptions_and_late_packets_are_reordered(
    make_table: TableMaker,
) -> None:
    # 10 11 13 12(late) 13(again) 15: 14 is lost
    found = loss_of(make_table, [10, 11, 13, 12, 13, 15])
    assert (found.expected, found.received, found.lost) == (6, 5, 1)
    assert (found.duplicates, found.reordered) == (1, 1)
    np.testing.assert_array_equal(found.lost_runs, [1])


def test_a_restart_of_the_source_is_not_loss(make_table: TableMaker) -> None:
    found = loss_of(make_table, [100, 101, 102, 40000, 40001, 40003])
    assert (found.expected, found.lost) == (3 + 4, 1)


def test_old_numbers_that_are_resent_in_a_row_are_no_restart(make_table: TableMaker) -> None:
    # 1000 to 1299 but 1050, 1051 and 1052; of these the first two are resent after 1199, the third
    # never
    sent = [number for number in range(1000, 1300) if number not in (1050, 1051, 1052)]
    place = sent.index(1200)
    found = loss_of(make_table, [*sent[:place], 1050, 1051, *sent[place:]])
    assert (found.expected, found.received, found.lost) == (300, 299, 1)
    assert (found.reordered, found.duplicates) == (2, 0)


def test_a_restart_below_that_counts_up_past_the_old_numbers_is_a_restart(
    make_table: TableMaker,
) -> None:
    # from 1000 to 1199, then again from 1000 to 1399 with 1200 lost
    again = [number for number in range(1000, 1400) if number != 1200]
    found = loss_of(make_table, [*range(1000, 1200), *again])
    assert (found.expected, found.lost, found.duplicates) == (200 + 400, 1, 0)


def test_a_stray_packet_is_left_out(make_table: TableMaker) -> None:
    found = loss_of(make_table, [100, 101, 30000, 102, 104])
    assert (found.expected, found.lost) == (5, 1)


def test_sources_of_one_flow_are_counted_apart(make_table: TableMaker) -> None:
    table = make_table(
        np.arange(6) * 0.02,
        rtp_sequence=np.array([1, 900, 2, 901, 4, 902]),
        rtp_ssrc=np.array([5, 6, 5, 6, 5, 6]),
    )
    first, second = rtp_loss(table)
    assert (first.ssrc, first.lost, second.ssrc, second.lost) == (5, 1, 6, 0)


def test_packets_to_the_server_and_without_rtp_say_nothing(make_table: TableMaker) -> None:
    assert rtp_loss(make_table([0.0, 1.0])) == []
    assert (
        rtp_loss(make_table([0.0, 1.0], to_client=False, rtp_sequence=np.array([1, 5]), rtp_ssrc=1))
        == []
    )


def test_extension_undoes_the_wrap_in_both_directions() -> None:
    np.testing.assert_array_equal(
        extend_sequence(np.array([65535, 0, 65534, 1], dtype=np.uint16)),
        [65535, 65536, 65534, 65537],
    )
