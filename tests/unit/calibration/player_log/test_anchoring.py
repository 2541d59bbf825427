from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from trafficgen.calibration.phases.rebuffering import Pause
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.calibration.player_log.events import PlayerLog, align_log, anchor_phases
from trafficgen.errors import PlayerLogError
from trafficgen.flows import SessionView, choose_session
from trafficgen.tables import PacketTable
from trafficgen.units import ns_from_s

TableMaker = Callable[..., PacketTable]
START_UNIX_S = 1_700_000_000.0


def log_of(
    *, full_s: float, zero_unix_s: float | None = None, stalls: tuple[Pause, ...] = ()
) -> PlayerLog:
    """A log of 100 s, a sample a second, whose buffer is full from a time on."""
    time_s = np.arange(100.0)
    buffer_s = np.where(time_s < full_s, 10 * time_s / full_s, 20.0)
    empty = np.zeros(0)
    return PlayerLog(
        "log.csv", zero_unix_s, 2.0, stalls, time_s, buffer_s, np.full(100, np.nan), empty, (), 99.0
    )


@pytest.fixture
def view(make_table: TableMaker) -> SessionView:
    """100 packets/s for 20 s, then 40 packets/s, from 47 s after the capture's first packet on."""
    media_s = 47 + np.concatenate((np.arange(0, 20, 0.01), np.arange(20, 100, 0.025)))
    table = make_table(
        np.concatenate(([0.0], media_s)),
        to_client=np.concatenate(([False], np.ones(media_s.size, dtype=bool))),
    )
    return choose_session(replace(table, origin_ns=ns_from_s(START_UNIX_S)))


def undecided(view: SessionView) -> Phases:
    end_s = float(view.media_time_ns[-1] - view.first_media_ns) / 1e9
    return Phases(47.0, None, None, None, end_s, None, 400.0)


def test_unix_times_place_the_log_on_the_capture(view: SessionView) -> None:
    log = align_log(
        log_of(full_s=20, zero_unix_s=START_UNIX_S + 40),
        view,
        capture_start_unix_s=START_UNIX_S,
        offset_s=None,
    )
    assert log.clock == "unix"
    assert log.zero_s == pytest.approx(-7)
    assert log.playback_start_s == pytest.approx(-5)


@pytest.mark.parametrize(
    ("offset_s", "clock", "zero_s"), [(None, "capture_start", -47), (45.0, "option", -2)]
)
def test_a_relative_log_begins_with_the_capture_or_where_the_option_says(
    view: SessionView, offset_s: float | None, clock: str, zero_s: float
) -> None:
    log = align_log(log_of(full_s=20), view, capture_start_unix_s=START_UNIX_S, offset_s=offset_s)
    assert log.clock == clock
    assert log.zero_s == pytest.approx(zero_s)


def test_a_log_of_another_time_is_refused(view: SessionView) -> None:
    with pytest.raises(PlayerLogError, match="player_log_offset_s="):
        align_log(
            log_of(full_s=20, zero_unix_s=1.0),
            view,
            capture_start_unix_s=START_UNIX_S,
            offset_s=None,
        )


def test_a_full_buffer_ends_buffering_at_the_last_packet_before_it(view: SessionView) -> None:
    phases = anchor_phases(undecided(view), view, log_of(full_s=20))
    assert phases.anchor == "buffer_full"
    assert phases.buffering_end_s == pytest.approx(20, abs=0.03)
    # known to a sample of the log
    assert phases.low_s == pytest.approx(19, abs=0.03)
    assert phases.high_s == pytest.approx(21)
    assert phases.ratio == pytest.approx(2.5, rel=0.01)
    assert phases.player_stalls == ()


def test_a_full_buffer_without_a_fall_of_the_rate_is_no_end_of_buffering(view: SessionView) -> None:
    # what comes from 21 s on has one rate
    steady = np.flatnonzero(view.media_time_ns > view.first_media_ns + ns_from_s(21))
    late = choose_session(
        view.table.select(np.isin(view.table.time_ns, view.media_time_ns[steady]))
    )
    phases = anchor_phases(undecided(late), late, log_of(full_s=40))
    assert phases.buffering_end_s is None
    assert phases.anchor is None


def test_a_buffer_that_fills_only_after_a_stall_does_not_end_buffering(view: SessionView) -> None:
    phases = anchor_phases(undecided(view), view, log_of(full_s=20, stalls=(Pause(10.0, 3.0),)))
    assert phases.anchor != "buffer_full"
    assert phases.player_stalls == (Pause(10.0, 3.0),)
