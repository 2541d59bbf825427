from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trafficgen.calibration.path.source_reconstruction import (
    find_repeated_ranges,
    reconstruct_source,
)
from trafficgen.flows import choose_session, segment_bursts
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray

TableMaker = Callable[..., PacketTable]
TCP = [{"flow": 0, "protocol": "tcp"}]


def spacing_s(table: PacketTable, *, flow: int, threshold_s: float) -> FloatArray:
    rows = table.flow == flow
    return segment_bursts(
        table.time_ns[rows], table.ip_bytes[rows], threshold_s=threshold_s
    ).spacing_s


def test_what_a_congested_path_lost_and_queued_is_undone(
    congested_pair: Callable[..., Any],
) -> None:
    pair = congested_pair()
    assert 0.02 < pair.is_lost.mean() < 0.5
    restored = reconstruct_source(choose_session(pair.receiver))
    table = restored.view.table
    assert restored.inserted == int(pair.is_lost.sum())
    assert len(table) == len(pair.sender)
    # the sizes of lost packets are drawn from those of their kind, of which some hundred are lost:
    # 5%
    assert abs(table.ip_bytes.sum() / pair.sender.ip_bytes.sum() - 1) < 0.05
    for flow, threshold_s in ((0, 0.002), (1, 0.01)):
        sent, again = (
            spacing_s(side, flow=flow, threshold_s=threshold_s) for side in (pair.sender, table)
        )
        # frames return to their clock: misplaced ones are the exception
        np.testing.assert_allclose(np.median(again), np.median(sent), rtol=0.01)
        assert abs(again.mean() / sent.mean() - 1) < 0.03
    arrived = spacing_s(pair.receiver, flow=0, threshold_s=0.002).mean()
    assert arrived < 0.7 * spacing_s(pair.sender, flow=0, threshold_s=0.002).mean()


def test_restored_numbers_and_timestamps_are_those_that_were_sent(
    congested_pair: Callable[..., Any],
) -> None:
    pair = congested_pair()
    table = reconstruct_source(choose_session(pair.receiver)).view.table
    for flow in (0, 1):
        sent, again = (np.flatnonzero(side.flow == flow) for side in (pair.sender, table))
        np.testing.assert_array_equal(
            table.values("rtp_sequence")[again], pair.sender.values("rtp_sequence")[sent]
        )
        right = table.values("rtp_timestamp")[again] == pair.sender.values("rtp_timestamp")[sent]
        # a packet lost at the head of a frame is taken for the tail of the one before it
        assert right.mean() > 0.97


def test_a_capture_of_the_sender_is_left_alone(congested_pair: Callable[..., Any]) -> None:
    view = choose_session(congested_pair().sender)
    restored = reconstruct_source(view)
    assert restored.view is view
    assert restored.method is None


def test_little_loss_is_put_back_but_times_stay(make_table: TableMaker) -> None:
    kept = np.delete(np.arange(1000), 500)
    jitter_s = np.random.default_rng(1).uniform(0, 0.005, 999)
    numbers = {
        "rtp_sequence": kept,
        "rtp_timestamp": kept * 160,
        "rtp_ssrc": 5,
        "rtp_marker": False,
    }
    table = make_table(
        kept * 0.02 + jitter_s, flows=[{"flow": 0, "ssrc": 5, "clock_hz": 8000}], **numbers
    )
    restored = reconstruct_source(choose_session(table))
    assert (restored.inserted, restored.retimed) == (1, 0)
    back = restored.view.table
    assert back.values("rtp_timestamp")[500] == 80_000
    np.testing.assert_array_equal(np.delete(back.time_ns, 500), table.time_ns)


def test_plain_udp_stays_as_it_was_captured(make_table: TableMaker) -> None:
    view = choose_session(make_table(np.arange(100) * 0.01))
    assert reconstruct_source(view).view is view


def test_tcp_packets_that_fill_a_hole_are_kept_and_those_that_repeat_are_not(
    make_table: TableMaker,
) -> None:
    # 0 1 [2 late] 3 2 3(again) 4: only the second 3 is not new data
    number = np.array([0, 1, 3, 2, 3, 4])
    sequence = (4_294_966_000 + number * 1000) % (1 << 32)
    table = make_table(
        np.arange(6) * 0.1, ip_bytes=1040, header_bytes=40, tcp_sequence=sequence, flows=TCP
    )
    restored = reconstruct_source(choose_session(table))
    assert restored.repeats == 1
    np.testing.assert_array_equal(np.delete(table.time_ns, 4), restored.view.table.time_ns)


def test_ranges_within_earlier_ones_are_found_as_by_hand() -> None:
    start = np.array([0, 10, 30, 10, 20, 35, 20, 60, 45, 50])
    end = np.array([10, 20, 40, 20, 30, 50, 40, 70, 55, 60])
    # 10..20 again; 20..30 fills; 20..40 again in two parts; 45..55 half new; 50..60 fills the rest
    expected = [False, False, False, True, False, False, True, False, False, False]
    np.testing.assert_array_equal(find_repeated_ranges(start, end), expected)


def test_ranges_agree_with_a_set_of_bytes() -> None:
    generator = np.random.default_rng(3)
    start = np.arange(400) * 3 + generator.integers(-40, 40, 400) + 50
    end = start + generator.integers(1, 12, 400)
    seen: set[int] = set()
    expected = []
    for low, high in zip(start.tolist(), end.tolist(), strict=True):
        mine = set(range(low, high))
        # bytes below the first packet were never expected
        expected.append(all(byte in seen or byte < start[0] for byte in mine))
        seen |= mine
    np.testing.assert_array_equal(find_repeated_ranges(start, end), expected)
