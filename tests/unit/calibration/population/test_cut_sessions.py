"""Sessions that a capture cut are found, and those that ended are not."""

from __future__ import annotations

import numpy as np
import pytest

import trafficgen
from trafficgen.calibration.population.cut_sessions import Ends, describe_ends, find_cut_sessions
from trafficgen.capture.options import SessionChoice
from trafficgen.capture.session import open_session


def ends(capture: str, capture_s: float, *, goes_on: bool = True, before: bool = False) -> Ends:
    return Ends(capture, capture_s, begins_before=before, may_go_on=goes_on)


def test_captures_of_one_length_were_stopped_by_a_clock() -> None:
    found = find_cut_sessions(
        [ends("a", 300.0), ends("b", 301.0, goes_on=False), ends("c", 299.0), ends("d", 200.0)]
    )
    assert found.tolist() == [True, False, True, False]


def test_sessions_do_not_all_end_at_once() -> None:
    three = [ends("a", 100.0) for _ in range(3)]
    assert find_cut_sessions([*three, ends("b", 70.0)]).tolist() == [True] * 3 + [False]
    assert not find_cut_sessions(three[:2]).any()


def test_a_session_that_began_before_is_cut() -> None:
    assert find_cut_sessions([ends("a", 10.0, goes_on=False, before=True)]).tolist() == [True]


def capture(until_s: tuple[float, float]) -> Ends:
    """Describe the first of two sessions, 20 ms from packet to packet, that are seen so long."""
    settings = {"rate_kbps": 400, "packet_bytes": 1000}
    table = trafficgen.generate("cbr", duration_s=12, sessions=2, settings=settings)
    session = np.array(table.flows.to_pydict()["session"])[table.flow]
    table = table.select(table.time_s < np.array(until_s)[session])
    opened = open_session(table, SessionChoice(session=0))
    return describe_ends("one", opened.view, opened.inspection)


@pytest.mark.parametrize(
    ("until_s", "goes_on"), [((5.0, 5.015), True), ((5.0, 8.0), False), ((5.0, 4.0), False)]
)
def test_a_session_may_go_on_where_its_last_silence_is_as_short_as_others(
    until_s: tuple[float, float], goes_on: bool
) -> None:
    found = capture(until_s)
    assert found.may_go_on is goes_on
    assert not found.begins_before


def test_connections_show_whether_they_were_opened_and_closed() -> None:
    table = trafficgen.generate("realplayer8_tcp_chung2002", duration_s=8, seed=1)
    whole = open_session(table)
    late = open_session(table.select(table.time_s > 3.0))
    assert not describe_ends("whole", whole.view, whole.inspection).begins_before
    assert describe_ends("late", late.view, late.inspection).begins_before
