from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trafficgen.errors import SelectionError
from trafficgen.flows import choose_session, choose_sessions
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]
FLOWS = [
    {"flow": 0, "session": 0, "media": "control"},
    {"flow": 1, "session": 0, "media": "audio"},
    {"flow": 2, "session": 0, "media": "video"},
    {"flow": 3, "session": 1, "media": "bulk"},
]


@pytest.fixture
def two_sessions(make_table: TableMaker) -> PacketTable:
    return make_table(
        np.arange(6),
        flow=np.array([0, 1, 2, 2, 3, 3]),
        ip_bytes=np.array([900, 200, 1000, 1000, 1500, 1500]),
        to_client=np.array([True, True, True, True, True, False]),
        flows=FLOWS,
    )


def test_the_session_with_most_bytes_to_a_client_is_taken(two_sessions: PacketTable) -> None:
    view = choose_session(two_sessions)
    assert (view.session, view.flows, view.media_flows, view.heaviest_flow) == (
        0,
        (0, 1, 2),
        (2, 1),
        2,
    )
    assert len(view.table) == 4
    assert view.first_media_ns == 1_000_000_000


def test_a_session_or_a_flow_can_be_asked_for(two_sessions: PacketTable) -> None:
    assert choose_session(two_sessions, session=1).media_flows == (3,)
    alone = choose_session(two_sessions, flow=1)
    assert (alone.session, alone.flows, alone.alone, len(alone.table)) == (0, (1,), True, 1)


def test_what_is_not_there_is_named_with_what_is(two_sessions: PacketTable) -> None:
    with pytest.raises(SelectionError, match="no flow 9; there are flows 0, 1, 2, 3"):
        choose_session(two_sessions, flow=9)
    with pytest.raises(SelectionError, match="no session 5; there are sessions 0, 1"):
        choose_session(two_sessions, session=5)
    with pytest.raises(SelectionError, match="no media packet in flow 0"):
        choose_session(two_sessions, flow=0)


def test_a_capture_without_media_is_refused(make_table: TableMaker) -> None:
    with pytest.raises(SelectionError, match="none of the 2 packets"):
        choose_session(make_table([0, 1], to_client=False))
    with pytest.raises(SelectionError, match="the input is empty"):
        choose_session(make_table([]))


def test_a_flow_and_a_session_at_once_are_a_mistake(two_sessions: PacketTable) -> None:
    with pytest.raises(ValueError, match="not both"):
        choose_session(two_sessions, flow=1, session=0)


def test_packets_out_of_order_are_put_in_order(make_table: TableMaker) -> None:
    view = choose_session(make_table([2.0, 0.0, 1.0]))
    np.testing.assert_array_equal(view.media_time_ns, [0, 1_000_000_000, 2_000_000_000])


def test_a_session_over_udp_or_tcp_comes_before_a_heavier_one_over_another_protocol(
    make_table: TableMaker,
) -> None:
    flows = [{"flow": 0, "session": 0, "protocol": "sctp"}, {"flow": 1, "session": 1}]
    table = make_table([0.0, 1.0, 2.0], ip_bytes=[900, 900, 500], flow=[0, 0, 1], flows=flows)
    assert choose_session(table).session == 1
    assert choose_session(table.select(table.flow == 0)).session == 0


def test_several_sessions_are_those_that_are_chosen_one_by_one(make_table: TableMaker) -> None:
    generator = np.random.default_rng(5)
    count, flows = 600, 40
    table = make_table(
        generator.permutation(count) // 2,  # out of order, with equal times
        flow=generator.integers(0, flows, count),
        ip_bytes=generator.integers(100, 1400, count),
        to_client=generator.random(count) < 0.8,
        flows=[
            {"flow": flow, "session": flow % 13, "media": "control" if flow % 7 == 0 else "video"}
            for flow in range(flows)
        ],
    )
    sessions = [4, 12, 0, 7]
    for view in (views := choose_sessions(table, sessions)):
        alone = choose_session(table, session=view.session)
        assert (view.flows, view.media_flows) == (alone.flows, alone.media_flows)
        assert view.table.packets.equals(alone.table.packets)
        assert view.table.flows.equals(alone.table.flows)
        np.testing.assert_array_equal(view.media_time_ns, alone.media_time_ns)
    assert [view.session for view in views] == sessions


def test_sessions_without_media_are_left_out_of_several(two_sessions: PacketTable) -> None:
    upload = two_sessions.select(~(two_sessions.to_client & (two_sessions.flow == 3)))
    assert [view.session for view in choose_sessions(upload, [1, 0, 9])] == [0]
