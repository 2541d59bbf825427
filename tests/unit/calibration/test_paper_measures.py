from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from trafficgen.calibration.paper_measures import Measures, measure_as_papers
from trafficgen.calibration.path.conditions import PathConditions
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.calibration.player_log.events import PlayerLog
from trafficgen.flows import choose_session
from trafficgen.models import CaptureConditions
from trafficgen.tables import SIGNALLING_SCHEMA, PacketTable

TableMaker = Callable[..., PacketTable]


def phases_to(end_s: float, *, buffering_end_s: float | None = None) -> Phases:
    return Phases(0.0, buffering_end_s, None, None, end_s, None, 100.0)


def log_of(
    *, playback_start_s: float | None = None, buffer_full_s: float | None = None
) -> PlayerLog:
    """A log, aligned, whose buffer fills until a time and then stays at 20 s."""
    time_s = np.arange(-5.0, 60.0)
    full = np.inf if buffer_full_s is None else buffer_full_s
    buffer_s = np.where(time_s < full, 20 * (time_s + 5) / 65, 20.0)
    empty = np.zeros(0)
    return PlayerLog(
        "log.csv",
        None,
        playback_start_s,
        (),
        time_s,
        buffer_s,
        np.full(65, np.nan),
        empty,
        (),
        59.0,
    )


def measures_of(table: PacketTable, phases: Phases, log: PlayerLog | None = None) -> Measures:
    view = choose_session(table)
    nothing = PathConditions(conditions=CaptureConditions(), loss=None, records=None)
    return measure_as_papers(view, phases, nothing, log=log)


def with_play(table: PacketTable, time_s: float) -> PacketTable:
    message = dict.fromkeys(SIGNALLING_SCHEMA.names) | {
        "time_ns": round(time_s * 1e9),
        "flow": 0,
        "to_client": False,
        "method": "PLAY",
        "client_ports": [],
        "server_ports": [],
        "interleaved_channels": [],
        "media_clocks": [],
    }
    return replace(table, signalling=pa.Table.from_pylist([message], schema=SIGNALLING_SCHEMA))


def test_measures_of_ccz_b1_worked_by_hand(make_table: TableMaker) -> None:
    # 1000-byte packets: 20 a second until 30 s, then 5 a second: 160 and 40 kbit/s
    time_s = np.concatenate((np.arange(0, 30, 0.05), np.arange(30, 150.1, 0.2))) + 47
    measures = measures_of(make_table(time_s), phases_to(120.0))
    assert measures.buffering_data_rate_kbps == pytest.approx(160)
    assert measures.steady_playout_rate_kbps == pytest.approx(40, rel=0.01)
    assert measures.ratio == pytest.approx(4, rel=0.01)
    assert measures.tcp_friendly_kbps is None
    assert set(measures.absent) == {"buffering_period_s", "playback_delay_s", "delivery"}


def test_measures_of_a_session_that_lasts_for_years_need_no_bins_of_years(
    make_table: TableMaker,
) -> None:
    tracemalloc.start()
    measures = measures_of(
        make_table(np.array([0, 0.1, 1e8, 2e8, 2e8 + 0.1])), phases_to(2e8 + 0.1)
    )
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert measures.steady_playout_rate_kbps == pytest.approx(3 * 8 / 2e8)
    assert peak_bytes < 10_000_000


def test_measures_are_absent_with_a_reason_for_media_shorter_than_110_s(
    make_table: TableMaker,
) -> None:
    measures = measures_of(make_table(np.arange(0, 109, 0.1)), phases_to(108.9))
    assert (
        measures.buffering_data_rate_kbps
        is measures.steady_playout_rate_kbps
        is measures.ratio
        is None
    )
    assert measures.absent["buffering_data_rate_kbps"] == "the media are shorter than 110 s"


def test_buffering_period_runs_from_play_to_the_full_buffer(make_table: TableMaker) -> None:
    table = with_play(make_table(np.arange(5, 65, 0.1)), 4.8)
    in_packets = measures_of(table, phases_to(60.0, buffering_end_s=10.0))
    assert in_packets.play_s == pytest.approx(-0.2)
    assert in_packets.buffering_period_s == pytest.approx(10.2)
    assert in_packets.buffering_period_until == "buffering_end"
    by_player = measures_of(
        table, phases_to(60.0, buffering_end_s=10.0), log_of(buffer_full_s=12.0)
    )
    assert by_player.buffering_period_s == pytest.approx(12.2)
    assert by_player.buffering_period_until == "buffer_full"


def test_buffering_period_is_absent_without_play_or_without_an_end(make_table: TableMaker) -> None:
    table = make_table(np.arange(5, 65, 0.1))
    assert measures_of(table, phases_to(60.0, buffering_end_s=10.0)).buffering_period_s is None
    without_end = measures_of(with_play(table, 4.8), phases_to(60.0))
    assert without_end.buffering_period_s is None
    assert "full buffer" in without_end.absent["buffering_period_s"]


def test_playback_delay_needs_a_log_that_tells_the_start(make_table: TableMaker) -> None:
    table = make_table(np.arange(0, 60, 0.1))
    assert measures_of(table, phases_to(60.0)).absent["playback_delay_s"] == "needs a player log"
    measures = measures_of(table, phases_to(60.0), log_of(playback_start_s=5.5))
    assert measures.playback_delay_s == 5.5
    assert "playback_delay_s" not in measures.absent
