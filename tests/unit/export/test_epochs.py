"""Flows in epochs: bytes are kept, times are counted from the origin, levels make epochs of their
own.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.export.schedules import steady, table_of

from trafficgen.errors import ExportError
from trafficgen.export.epochs import EPOCH_S, EPOCHS, Limits, gaps_s, plans_of, plans_report
from trafficgen.export.sending_ends import DIRECTION
from trafficgen.export.settings import Settings

_ANY = {"udp": Limits(low_bytes=1, high_bytes=65_507)}


def _settings(**given: str | float) -> Settings:
    return Settings("tool", (DIRECTION, EPOCH_S, EPOCHS), given)


def test_epochs_keep_packets_and_bytes_of_each_second() -> None:
    [plan] = plans_of(steady(), _settings(), target="tool", limits=_ANY).flows
    assert plan.epochs.packets.tolist() == [100] * 12
    # 34 of 600 and 66 of 1000 bytes, then 33 and 67 twice
    assert plan.epochs.payload_bytes.tolist() == [86_400, 86_800, 86_800] * 4
    assert plan.size_bytes.tolist() == [864, 868, 868] * 4
    assert plan.rate_bps.tolist() == [691_200, 694_400, 694_400] * 4


def test_a_guard_shortens_the_sending_and_not_the_epoch() -> None:
    [plan] = plans_of(steady(), _settings(), target="tool", limits=_ANY, guard_s=0.2).flows
    assert plan.epochs.start_s.tolist() == list(range(12))
    assert plan.rate_bps.tolist() == [864_000, 868_000, 868_000] * 4
    # packet 50 of the third epoch leaves half way through its 0.8 s
    assert plan.sent.time_ns[250] == 2_400_000_000


def test_the_report_counts_what_changed_packet_by_packet() -> None:
    plans = plans_of(steady(), _settings(), target="tool", limits=_ANY)
    report = plans_report(plans, target="tool", files=["a"])
    assert report.packets == report.packets_changed == 1200
    assert report.bytes_before == 12 * 100 * 28 + 4 * (86_400 + 86_800 + 86_800)
    assert report.bytes_after == report.bytes_before
    assert report.timing_error_s is not None
    assert report.timing_error_s.max == 0
    # two thirds of the packets had 1000 bytes, all have 864 or 868 now; gaps are as they were
    assert report.distances["packet_bytes.ks"] == pytest.approx(2 / 3)
    assert report.distances["gap_s.ks"] == 0


def test_an_epoch_with_too_few_packets_for_the_tool_is_cut_into_pieces_of_the_same_bytes() -> None:
    table = table_of(np.array([0, 2_000_000_000, 2_500_000_000]), np.array([1001, 300, 500]))
    limits = {"udp": Limits(low_bytes=1, high_bytes=400, least_packets=2)}
    plans = plans_of(table, _settings(), target="tool", limits=limits)
    [plan] = plans.flows
    assert plan.epochs.packets.tolist() == [3, 3]
    assert plan.epochs.payload_bytes.tolist() == [1001, 800]
    report = plans_report(plans, target="tool", files=["a"])
    assert report.bytes_before is not None
    assert report.packets == 6
    assert any("3 more datagrams than packets" in text for text in report.cannot_express)
    # three more UDP and IP headers, and sizes of 334 and 267 bytes, where 1001 and 800 do not
    # divide by three
    assert report.bytes_after == report.bytes_before + 3 * 28 + (3 * 334 - 1001) + (3 * 267 - 800)


def test_sizes_below_the_least_are_raised_and_counted() -> None:
    table = table_of(np.array([0, 10_000_000, 1_000_000_000]), np.array([10, 14, 500]))
    plans = plans_of(
        table, _settings(), target="tool", limits={"udp": Limits(low_bytes=16, high_bytes=1000)}
    )
    report = plans_report(plans, target="tool", files=["a"])
    assert plans.flows[0].size_bytes.tolist() == [16, 500]
    assert "sizes below 16 bytes were raised to 16 (2 packets)" in report.cannot_express
    assert report.bytes_after == (report.bytes_before or 0) + 6 + 2


def test_the_second_and_third_datagram_of_a_bunching_tool_share_their_time() -> None:
    table = table_of(np.arange(5) * 200_000_000, np.full(5, 100))
    limits = {"udp": Limits(low_bytes=1, high_bytes=1000, least_packets=2, bunched=True)}
    [plan] = plans_of(table, _settings(), target="tool", limits=limits).flows
    assert plan.sent.time_ns.tolist() == [0, 250_000_000, 250_000_000, 500_000_000, 750_000_000]
    assert plan.rate_bps.tolist() == [4 * 100 * 8]


def test_levels_and_phases_begin_epochs_but_not_sooner_than_the_shortest() -> None:
    time_ns = np.arange(10) * 1_000_000_000 + 5_000_000_000
    level = pa.array([0, 0, 0, 1, 2, 2, 2, 2, 2, 2], type=pa.int16())
    names = pa.array(["buffering", "playout"])
    phase = pa.DictionaryArray.from_arrays(pa.array([0] * 6 + [1] * 4, type=pa.int8()), names)
    table = table_of(time_ns, np.full(10, 100), scale_level=level, phase=phase)
    [plan] = plans_of(
        table, _settings(epochs="levels", epoch_s=2.0), target="tool", limits=_ANY
    ).flows
    # changes at 3, 4 (too soon after 3) and 6 s; the last epoch ends a mean gap after the last
    # packet
    assert plan.epochs.start_s.tolist() == [0, 3, 6]
    assert plan.epochs.length_s.tolist() == [3, 3, 4]
    assert plan.epochs.packets.tolist() == [3, 3, 4]


def test_epochs_by_levels_of_a_table_without_levels_are_refused() -> None:
    with pytest.raises(ExportError, match=r"leave settings=.'epochs': 'levels'. out"):
        plans_of(steady(), _settings(epochs="levels"), target="tool", limits=_ANY)


def test_gaps_are_those_within_a_flow_in_whole_microseconds() -> None:
    gaps = gaps_s([np.array([0, 1_500, 10_000]), np.array([500]), np.array([7_000, 9_999])])
    assert gaps.tolist() == pytest.approx([1e-6, 9e-6, 2e-6])
