"""Offered and achieved rate and loss by phase: by hand, of two captures, of numbers alone, of a
simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen.calibration.paper_measures import (
    PacketFates,
    SessionDelivery,
    count_scale_changes,
    measure_delivery,
)
from trafficgen.calibration.path.conditions import find_loss
from trafficgen.calibration.path.pairing import pair_arrivals, pair_sessions
from trafficgen.calibration.path.path_records import trace_packets
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.flows import SessionView, choose_session
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]

#: 1000-byte packets each 0.1 s until 10 s, then each 0.2 s until 20 s: 80 and 40 kbit/s.
TIME_S = np.concatenate((np.arange(100) / 10, 10 + np.arange(51) / 5))
PHASES = Phases(0.0, 10.0, None, None, 20.0, 80.0, 40.0)


def delivered(
    view: SessionView, phases: Phases = PHASES
) -> tuple[SessionDelivery | None, dict[str, str]]:
    pairing = pair_arrivals(view)
    return measure_delivery(
        view,
        phases,
        pairing=pairing,
        records=trace_packets(view, pairing),
        loss=find_loss(view, pairing=pairing),
    )


def test_arrival_times_tell_rates_and_loss_by_phase(make_table: TableMaker) -> None:
    lost = np.zeros(TIME_S.size, dtype=np.bool_)
    lost[10:30] = True  # 20 of the 100 packets of the buffering
    lost[-11:-1] = True  # 10 of the 51 after it
    arrival_ns = [
        None if gone else round(1e9 * at) + 500_000_000
        for at, gone in zip(TIME_S, lost, strict=True)
    ]
    view = choose_session(make_table(TIME_S, arrival_ns=arrival_ns))
    found, absent = delivered(view)
    assert found is not None
    assert found.buffering is not None
    assert (found.source, absent) == ("arrival times", {})
    # what was sent in the last half second of the buffering comes after it: 5 packets of 80 that
    # came
    assert (found.buffering.offered_kbps, found.buffering.loss) == pytest.approx((80, 0.2))
    assert found.buffering.achieved_kbps == pytest.approx(75 * 1000 * 8 / 1000 / 10)
    assert (found.playout.offered_kbps, found.playout.loss) == pytest.approx((51 * 8 / 10, 10 / 51))
    # from 10.0 s to the last arrival at 20.5 s: the 41 of the playout and the 5 that were late
    assert found.playout.achieved_kbps == pytest.approx(46 * 8 / 10.5)
    assert (found.session.offered_kbps, found.session.loss) == pytest.approx(
        (151 * 8 / 20, 30 / 151)
    )
    assert found.session.achieved_kbps == pytest.approx(121 * 8 / 20)


def test_two_captures_tell_what_one_with_arrival_times_does(
    congested_pair: Callable[..., Any],
) -> None:
    pair = congested_pair(offset_s=3600.0)
    view = choose_session(pair.sender)
    pairing = pair_sessions(view, pair.receiver)
    end_s = float(view.media_time_ns[-1] - view.media_time_ns[0]) / 1e9
    phases = Phases(0.0, 10.0, None, None, end_s, 1.0, 1.0)
    of_pair, _ = measure_delivery(pairing.sender, phases, pairing=pairing, records=None, loss=None)
    assert of_pair is not None
    assert of_pair.buffering is not None
    assert of_pair.source == "two captures"
    assert of_pair.session.loss == pytest.approx(pair.is_lost.mean())
    early = pairing.sent_ns - pairing.sent_ns[0] < 10_000_000_000
    assert of_pair.buffering.loss == pytest.approx(pair.is_lost[early].mean())
    sent_bytes = pairing.ip_bytes.sum()
    assert of_pair.session.offered_kbps == pytest.approx(sent_bytes * 8 / 1000 / end_s)
    assert of_pair.session.achieved_kbps < sent_bytes * 8 / 1000 / end_s


def test_numbers_of_one_capture_tell_the_loss_and_not_what_was_offered(
    make_table: TableMaker,
) -> None:
    sequence = np.arange(TIME_S.size)
    kept = np.ones(TIME_S.size, dtype=np.bool_)
    kept[[20, 21, 50, 51, 52]] = False  # 5 of 100, all in the buffering
    ticks = np.round(TIME_S * 90_000).astype(np.int64)
    table = make_table(
        TIME_S[kept],
        rtp_ssrc=7,
        rtp_sequence=sequence[kept],
        rtp_timestamp=ticks[kept],
        flows=[{"flow": 0, "media": "video", "ssrc": 7, "clock_hz": 90_000}],
    )
    found, absent = delivered(choose_session(table))
    assert found is not None
    assert found.buffering is not None
    assert found.source == "RTP sequence numbers"
    assert (found.buffering.loss, found.playout.loss) == pytest.approx((0.05, 0.0))
    assert found.buffering.offered_kbps is None
    assert found.buffering.achieved_kbps == pytest.approx(95 * 8 / 10)
    assert "a second one at the other end does" in absent["delivery.offered_kbps"]


def test_packets_that_carry_no_numbers_tell_nothing(make_table: TableMaker) -> None:
    found, absent = delivered(choose_session(make_table(TIME_S)))
    assert found is None
    assert "sequence numbers" in absent["delivery"]


def test_scale_changes_are_those_of_the_packets_else_those_of_the_rate(
    make_table: TableMaker,
) -> None:
    assert (
        count_scale_changes(choose_session(make_table(TIME_S)), levels=None, played=None).source
        == "rate"
    )
    level = np.repeat([2, 0, 1], [50, 60, 41])
    resent = np.zeros(level.size, dtype=np.bool_)
    level[55], resent[55] = 2, True  # of the level that was left
    marked = make_table(TIME_S, scale_level=level, retransmission=resent)
    found = count_scale_changes(choose_session(marked), levels=None, played=None)
    assert (found.count, found.source) == (2, "scale_level")


@pytest.fixture(scope="module")
def closed_loop() -> Any:
    path = "rate=725kbps,delay=45ms,queue=80p"
    return trafficgen.simulate("wmedia9_nichols2004", path=path, compete="tcp@-10s", seed=3)


def test_simulate_and_the_fit_of_its_packets_say_the_same(closed_loop: Any) -> None:
    told = closed_loop.to_json()
    view = choose_session(closed_loop.packets(), session=0)
    session = told["session"]
    end_s = float(view.media_time_ns[-1] - view.media_time_ns[0]) / 1e9
    phases = Phases(0.0, session["buffering"]["duration_s"], None, None, end_s, 1.0, 1.0)
    found, _ = delivered(view, phases)
    assert found is not None
    for name, mine in (("buffering", found.buffering), ("playout", found.playout)):
        theirs = session[name]
        assert mine is not None
        assert (mine.offered_kbps, mine.loss) == pytest.approx(
            (theirs["offered_kbps"], theirs["loss"]), rel=1e-6
        )
        assert mine.achieved_kbps == pytest.approx(theirs["rate_kbps"], rel=1e-6)
    media = told["flows"][0]
    assert (found.session.offered_kbps, found.session.loss) == pytest.approx(
        (media["offered_kbps"], media["loss"])
    )
    assert found.session.achieved_kbps == pytest.approx(media["mean_kbps"])


def test_offered_rate_counts_what_was_sent_and_achieved_rate_what_came() -> None:
    sent_ns = np.array([0, 400, 900, 1000, 1500]) * 1_000_000
    sent_bytes = np.array([125, 250, 125, 999, 999])
    come = np.array([True, False, True, True, True])
    fates = PacketFates(sent_ns, sent_bytes, come, sent_ns[come], sent_bytes[come], "arrival times")
    found = fates.measure_delivery(0, 1_000_000_000)
    assert (found.offered_kbps, found.achieved_kbps, found.loss) == pytest.approx((4.0, 2.0, 1 / 3))
    assert fates.measure_delivery(-9, -1).loss is None


def test_what_was_received_in_an_interval_counts_whenever_it_was_sent() -> None:
    come_ns = np.array([-1, 0, 500_000_000, 999_999_999, 1_000_000_000])
    come_bytes = np.array([999, 125, 250, 125, 999])
    fates = PacketFates(
        come_ns - 10**9, come_bytes, np.ones(5, dtype=np.bool_), come_ns, come_bytes, "two captures"
    )
    assert fates.measure_delivery(0, 10**9).achieved_kbps == pytest.approx(500 * 8 / 1000)
