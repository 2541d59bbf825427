"""What one capture says about the path, interval by interval."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trafficgen.calibration.response.response_curve import PathIntervals, measure_intervals
from trafficgen.flows import choose_session
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]

PACKETS_HZ, LENGTH_S = 100, 10.0
RTP_FLOW = {"flow": 0, "clock_hz": 90_000, "ssrc": 7, "payload_type": 96}


def rtp_intervals(make_table: TableMaker, *, lost: list[int], late_s: float = 0.0) -> PathIntervals:
    """Return intervals of 1 s of a source with two packets a frame, some lost, the second half
    late.
    """
    number = np.arange(int(PACKETS_HZ * LENGTH_S) + 1)
    kept = ~np.isin(number, lost)
    sent_s = number / PACKETS_HZ
    table = make_table(
        (sent_s + np.where(sent_s >= LENGTH_S / 2, late_s, 0.0))[kept],
        ip_bytes=1000,
        flows=[RTP_FLOW],
        rtp_ssrc=7,
        rtp_sequence=((number + 65_000) % 65_536)[kept],
        rtp_timestamp=(number // 2 * 1800)[kept],
        rtp_marker=(number % 2 == 1)[kept],
    )
    return measure_intervals(choose_session(table), start_s=0.0, interval_s=1.0)


def test_lost_packets_count_for_the_rate_of_the_source(make_table: TableMaker) -> None:
    found = rtp_intervals(make_table, lost=[*range(210, 240), 555])
    assert len(found) == 10
    assert found.loss_rate[[1, 2, 5]] == pytest.approx([0.0, 0.3, 0.01])
    assert found.rate_bps == pytest.approx(np.full(10, 800e3))


def test_queueing_is_delay_above_the_least(make_table: TableMaker) -> None:
    found = rtp_intervals(make_table, lost=[], late_s=0.2)
    assert found.queueing_delay_s[:5] == pytest.approx(np.zeros(5), abs=1e-6)
    assert found.queueing_delay_s[6:] == pytest.approx(np.full(4, 0.2), abs=1e-6)


def test_frames_are_counted_by_their_timestamps(make_table: TableMaker) -> None:
    assert rtp_intervals(make_table, lost=[]).frames_hz == pytest.approx(np.full(10, 50.0))


def test_chance_losses_of_few_packets_are_no_change_of_the_path() -> None:
    rng = np.random.default_rng(1)
    lost = rng.binomial(50, 0.1, 40) / 50
    unknown = np.full(40, np.nan)
    found = PathIntervals(np.ones(40), lost, np.full(40, 50.0), unknown, unknown, unknown)
    assert found.path_loss() == pytest.approx(np.full(40, lost.mean()))


def test_a_path_that_changes_is_seen_to_change() -> None:
    lost = np.repeat([0.0, 0.2], 20)
    unknown = np.full(40, np.nan)
    found = PathIntervals(np.ones(40), lost, np.full(40, 100.0), unknown, unknown, unknown)
    assert found.path_loss()[[0, 39]] == pytest.approx([0.0, 0.2], abs=0.03)


def test_tcp_shows_resendings_delay_and_what_the_path_gives(make_table: TableMaker) -> None:
    """Data every 10 ms, acknowledged 50 ms later (100 ms in the second half), every tenth segment
    resent.
    """
    sent_s = np.arange(1000) / 100
    sequence = 1 + 1000 * np.arange(1000)
    again = np.arange(9, 1000, 10)
    delay_s = np.where(sent_s < 5, 0.05, 0.1)
    time_s = np.concatenate([sent_s, sent_s[again] + 0.005, sent_s + delay_s])
    order = np.argsort(time_s, kind="stable")
    data = np.concatenate([np.ones(1100, dtype=bool), np.zeros(1000, dtype=bool)])
    table = make_table(
        time_s[order],
        ip_bytes=np.where(data, 1040, 40)[order],
        to_client=data[order],
        header_bytes=40,
        flows=[{"flow": 0, "protocol": "tcp"}],
        tcp_sequence=np.concatenate([sequence, sequence[again], np.zeros(1000, dtype=np.int64)])[
            order
        ],
        tcp_acknowledgement=np.concatenate([np.zeros(1100, dtype=np.int64), sequence + 1000])[
            order
        ],
        tcp_flags=16,
    )
    found = measure_intervals(choose_session(table), start_s=0.0, interval_s=1.0)
    assert found.loss_rate[1:8] == pytest.approx(np.full(7, 1 / 11), abs=0.01)
    assert found.rate_bps[1:8] == pytest.approx(np.full(7, 832e3), rel=0.01)
    assert found.queueing_delay_s[[1, 7]] == pytest.approx([0.0, 0.05], abs=1e-6)
    assert found.throughput_bps[1:8] == pytest.approx(np.full(7, 832e3), rel=0.05)
