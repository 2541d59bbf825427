from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from trafficgen.calibration.path.capacity import estimate_capacity
from trafficgen.flows import choose_session
from trafficgen.models import CapacityStep
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray, bps_from_kbps

TableMaker = Callable[..., PacketTable]
TCP = [{"flow": 0, "protocol": "tcp"}]
SYN, SYN_ACK, ACK = 0x02, 0x12, 0x10
IP_BYTES, FRAME_BYTES = 1500, 1514
#: Data and its acknowledgement of a server that answers at once, far from its client.
HANDSHAKE = [(0.0, False, SYN), (1e-4, True, SYN_ACK), (0.05, False, ACK)]


def leave_link(*bursts: tuple[float, float, float], packets: int = 60) -> FloatArray:
    """Return when packets leave a link: bursts every second of (first s, last s, kbit/s)."""
    times_s = [
        start_s + np.arange(packets) * FRAME_BYTES * 8 / bps_from_kbps(kbps)
        for first_s, last_s, kbps in bursts
        for start_s in np.arange(first_s, last_s)
    ]
    return np.concatenate(times_s)


def find_steps(
    table: PacketTable, *, has_loss: bool = False
) -> tuple[tuple[CapacityStep, ...] | None, str]:
    view = choose_session(table)
    return estimate_capacity(view, None, tick_s=1e-9, seed=1, has_loss=has_loss)


def rates_of(table: PacketTable, *, has_loss: bool = False) -> list[tuple[float, float | None]]:
    """Return steps as (start s, kbit/s), and check that intervals hold their values."""
    steps, _ = find_steps(table, has_loss=has_loss)
    assert steps is not None
    known = [step.kbps for step in steps if step.kbps is not None]
    assert all(one.low is not None and one.low <= one.value for one in known)
    assert all(one.high is not None and one.high >= one.value for one in known)
    return [(one.start_s, None if one.kbps is None else round(one.kbps.value, 1)) for one in steps]


def test_a_step_of_the_rate_is_where_pairs_of_the_new_rate_begin(make_table: TableMaker) -> None:
    table = make_table(leave_link((0, 20, 4000), (20, 40, 2000)), ip_bytes=IP_BYTES)
    (_, before), (step_s, after) = rates_of(table)
    assert (before, after) == (4000.0, 2000.0)
    assert step_s == pytest.approx(20, abs=1)


def test_the_rate_is_not_known_while_the_source_was_idle(make_table: TableMaker) -> None:
    table = make_table(leave_link((0, 10, 4000), (30, 40, 4000)), ip_bytes=IP_BYTES)
    first, idle, last = rates_of(table)
    assert (first[1], idle[1], last[1]) == (4000.0, None, 4000.0)
    assert idle[0] == pytest.approx(9.2, abs=0.1)
    assert last[0] == pytest.approx(30, abs=0.1)


def test_seconds_without_packets_take_no_memory(make_table: TableMaker) -> None:
    silent_s = 1e8
    table = make_table(
        leave_link((0, 10, 4000), (silent_s, silent_s + 10, 4000)), ip_bytes=IP_BYTES
    )
    tracemalloc.start()
    try:
        find_steps(table)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 10e6


def test_a_step_while_the_source_was_idle_has_no_time(make_table: TableMaker) -> None:
    table = make_table(leave_link((0, 10, 4000), (13, 20, 2000)), ip_bytes=IP_BYTES)
    assert [kbps for _, kbps in rates_of(table)] == [4000.0, None, 2000.0]


def test_batches_of_packets_hide_pairs_but_not_trains(make_table: TableMaker) -> None:
    time_s = leave_link((0, 20, 4000), (20, 40, 2000), packets=80)
    generator = np.random.default_rng(1)
    passed_s = np.cumsum(generator.uniform(2e-3, 1e-2, 10_000))
    batch_s = passed_s[np.searchsorted(passed_s, time_s)]
    noise_s = np.sort(generator.uniform(0, 1e-4, time_s.size))
    batched = make_table(batch_s + noise_s, ip_bytes=IP_BYTES, flows=TCP)
    (_, before), (step_s, after) = rates_of(batched)
    assert before == pytest.approx(4000, rel=0.03)
    assert after == pytest.approx(2000, rel=0.03)
    assert step_s == pytest.approx(20, abs=1)


def test_the_pace_of_a_source_is_not_taken_for_a_link(make_table: TableMaker) -> None:
    steps, why = find_steps(make_table(np.arange(2000) * 0.01, ip_bytes=1000))
    assert steps is None
    assert why == "no second of the capture has packets at the pace of a narrow link"


def test_at_the_server_acknowledgements_show_the_link(make_table: TableMaker) -> None:
    payload, bursts = IP_BYTES - 40, leave_link((0, 20, 4000), (20, 40, 2000), packets=80)
    acknowledged = (np.arange(bursts.size) + 1) * payload
    # every second packet is acknowledged, when it has come
    back_s, back = bursts[1::2] + 0.1, acknowledged[1::2]
    sent_s = np.repeat(bursts[::80], 80) + np.tile(np.arange(80) * 1e-5, bursts.size // 80)
    times_s = np.concatenate([[at for at, _, _ in HANDSHAKE], sent_s + 0.06, back_s])
    table = make_table(
        np.sort(times_s),
        flows=TCP,
        header_bytes=40,
        **{
            name: np.concatenate(cast("Any", parts))[np.argsort(times_s, kind="stable")]
            for name, parts in {
                "to_client": [
                    [way for _, way, _ in HANDSHAKE],
                    np.ones(bursts.size, dtype=np.bool_),
                    np.zeros(back.size, dtype=np.bool_),
                ],
                "ip_bytes": [[40] * 3, [IP_BYTES] * bursts.size, [40] * back.size],
                "tcp_flags": [
                    [flag for *_, flag in HANDSHAKE],
                    [ACK] * bursts.size,
                    [ACK] * back.size,
                ],
                "tcp_acknowledgement": [[0, 1, 1], [1] * bursts.size, back],
            }.items()
        },
    )
    (_, before), (_, after) = ((at, kbps) for at, kbps in rates_of(table) if kbps is not None)
    assert before == pytest.approx(4000, rel=0.03)
    assert after == pytest.approx(2000, rel=0.03)
