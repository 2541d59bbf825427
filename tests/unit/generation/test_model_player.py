"""A session plays what was asked for: its clip, its rate, its length, and no more than its viewer
watched.
"""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.errors import GenerationError
from trafficgen.generation.columns import to_tables
from trafficgen.generation.model_player import ModelPlayer, Viewing
from trafficgen.models import Model
from trafficgen.units import IntArray

MODELS = ["udp_model", "stalled_model", "rtp_model", "tcp_model", "mixed_model"]


@pytest.fixture(params=MODELS)
def any_model(request: pytest.FixtureRequest) -> Model:
    found: Model = request.getfixturevalue(request.param)
    return found


def packets_of(played: ModelPlayer, viewing: Viewing) -> tuple[IntArray, IntArray]:
    """Return times, ns, and IP bytes of the packets to the client, in order."""
    tables = to_tables(played.session(viewing, start_ns=0, first_flow=0).packets())
    time_ns = np.concatenate([table.column("time_ns").to_numpy() for table in tables])
    ip_bytes = np.concatenate([table.column("ip_bytes").to_numpy() for table in tables]).astype(
        np.int64
    )
    to_client = np.concatenate([table.column("to_client").to_numpy() for table in tables])
    order = np.argsort(time_ns[to_client], kind="stable")
    return time_ns[to_client][order], ip_bytes[to_client][order]


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_a_viewer_who_leaves_ends_the_session_there(any_model: Model, share: float) -> None:
    played = ModelPlayer(any_model, seed=1)
    whole_s = played.timeline(Viewing(session=3)).length_s
    time_ns, _ = packets_of(played, Viewing(session=3, leaves_at=share))
    staying_ns, _ = packets_of(played, Viewing(session=3))
    # The last media come at most a gap or a burst before the end; what closes a TCP connection
    # comes a little later.
    assert 0.6 * share * whole_s < time_ns[-1] / 1e9 < share * whole_s + 0.2
    assert staying_ns[-1] / 1e9 > 0.9 * whole_s


def test_until_the_viewer_leaves_packets_come_as_they_would_have(udp_model: Model) -> None:
    played = ModelPlayer(udp_model, seed=1)
    time_ns, _ = packets_of(played, Viewing(session=3, leaves_after_s=4.0))
    staying_ns, _ = packets_of(played, Viewing(session=3))
    np.testing.assert_array_equal(time_ns, staying_ns[: time_ns.size])
    assert staying_ns[time_ns.size] >= 4e9


def test_a_viewer_who_leaves_at_once_has_got_the_first_packet(any_model: Model) -> None:
    played = ModelPlayer(any_model, seed=1)
    timeline = played.timeline(Viewing(session=0, leaves_after_s=0.0))
    time_ns, _ = packets_of(played, Viewing(session=0, leaves_after_s=0.0))
    assert 1 <= time_ns.size < 30
    assert timeline.length_s == pytest.approx(timeline.first_media_s + 1e-3)


def test_a_viewer_who_would_leave_after_the_end_stays(udp_model: Model) -> None:
    played = ModelPlayer(udp_model, seed=1)
    staying = played.timeline(Viewing(session=0))
    assert played.timeline(Viewing(session=0, leaves_after_s=1e6)) is staying
    assert (
        played.timeline(Viewing(session=9, leaves_at=1.0)) is staying
    )  # and sessions that are alike share it


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_a_clip_of_another_rate_sends_so_much_more(udp_model: Model, factor: float) -> None:
    played = ModelPlayer(udp_model, seed=1)
    usual = sum(int(packets_of(played, Viewing(session=k))[1].sum()) for k in range(8))
    scaled = sum(
        int(packets_of(played, Viewing(session=k, rate_factor=factor))[1].sum()) for k in range(8)
    )
    # Gaps have a coefficient of variation of 1.2: 8 sessions of some 3,500 packets vary by under 1
    # %.
    assert scaled / usual == pytest.approx(factor, rel=0.04)
    expected = [
        played.expected_packets(Viewing(session=0, rate_factor=rate)) for rate in (1.0, factor)
    ]
    assert expected[1] / expected[0] == pytest.approx(factor)


def test_a_length_is_that_of_the_session(any_model: Model) -> None:
    played = ModelPlayer(any_model, seed=1)
    for length_s in (played.shortest_s(), 7.0, 50.0):
        assert played.timeline(Viewing(session=0, length_s=length_s)).length_s == pytest.approx(
            length_s
        )
    with pytest.raises(GenerationError, match="before its first media packet"):
        played.timeline(Viewing(session=0, length_s=played.shortest_s() - 2e-3))


def test_expected_packets_are_about_those_that_come(any_model: Model) -> None:
    played = ModelPlayer(any_model, seed=1)
    viewings = [Viewing(session=k, leaves_at=0.1 * (k % 10) + 0.05) for k in range(40)]
    made = (played.session(one, start_ns=0, first_flow=0).packets() for one in viewings)
    found = sum(table.num_rows for packets in made for table in to_tables(packets))
    assert sum(map(played.expected_packets, viewings)) == pytest.approx(found, rel=0.05)
