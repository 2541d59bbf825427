from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from trafficgen.calibration.path.conditions import find_loss
from trafficgen.calibration.path.control_messages import (
    is_capture_at_server,
    measure_round_trip,
    measure_rtcp,
)
from trafficgen.flows import SessionView, choose_session
from trafficgen.tables import RTCP_SCHEMA, PacketTable

TableMaker = Callable[..., PacketTable]
FLOWS = [{"flow": 0, "ssrc": 7, "clock_hz": 8000}]
NTP = 0x1234_5678_9ABC_DEF0


def report(time_s: float, *, to_client: bool, **said: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(RTCP_SCHEMA.names)
    return (
        nothing
        | {"time_ns": round(time_s * 1e9), "flow": 0, "to_client": to_client, "reporter_ssrc": 7}
        | said
    )


def receiver_report(time_s: float, **said: Any) -> dict[str, Any]:
    block = {
        "ssrc": 7,
        "fraction_lost": 0,
        "cumulative_lost": 0,
        "highest_sequence": 0,
        "jitter": 0,
    }
    return report(
        time_s, to_client=False, **(block | {"last_sender_report": 0, "delay_since_last": 0} | said)
    )


def session_with(make_table: TableMaker, reports: list[dict[str, Any]]) -> SessionView:
    """Return a session of 1000 RTP packets from number 65000 on, none of them missing, with
    reports.
    """
    number = np.arange(65_000, 66_000) % (1 << 16)
    table = make_table(np.arange(1000) * 0.02, rtp_sequence=number, rtp_ssrc=7, flows=FLOWS)
    return choose_session(replace(table, rtcp=pa.Table.from_pylist(reports, schema=RTCP_SCHEMA)))


def test_loss_before_the_path_is_taken_from_the_last_report(make_table: TableMaker) -> None:
    # 65000 to 65999, one cycle counted by the receiver: 1000 expected, 30 of them lost
    reports = [
        receiver_report(5.0, cumulative_lost=10, highest_sequence=65_250),
        receiver_report(20.0, cumulative_lost=30, highest_sequence=65_999),
    ]
    view = session_with(make_table, reports)
    measured = measure_rtcp(view)
    assert measured.loss is not None
    assert (measured.loss.rate, measured.loss.source, measured.loss.packets) == (0.03, "rtcp", 1000)
    assert measured.loss.low < 0.03 < measured.loss.high
    assert find_loss(view, rtcp=measured) == measured.loss
    # numbers that miss something themselves come first
    holes = view.table.select(np.arange(1000) != 500)
    assert getattr(find_loss(choose_session(holes), rtcp=measured), "source", None) == "rtp"


def test_jitter_is_in_seconds_of_the_sources_clock(make_table: TableMaker) -> None:
    reports = [
        receiver_report(5.0, jitter=80),
        receiver_report(10.0, jitter=160),
        receiver_report(15.0, jitter=400),
    ]
    jitter_s = measure_rtcp(session_with(make_table, reports)).jitter_s
    assert jitter_s is not None
    assert jitter_s.value == 0.02


def test_round_trip_is_what_is_left_of_the_answers_time_without_the_wait(
    make_table: TableMaker,
) -> None:
    middle = (NTP >> 16) & 0xFFFF_FFFF
    reports = [
        report(4.0, to_client=True, ntp=NTP, rtp_timestamp=0, sender_packets=1, sender_bytes=1),
        receiver_report(6.08, last_sender_report=middle, delay_since_last=2 << 16),
    ]
    measured = measure_rtcp(session_with(make_table, reports))
    assert measured.rtt_s is not None
    # DLSR counts in 1/65536 s
    assert measured.rtt_s.value == pytest.approx(0.08, abs=2e-5)
    assert measure_round_trip(session_with(make_table, reports), measured) == measured.rtt_s


def test_reports_about_sources_that_sent_nothing_here_are_left_out(make_table: TableMaker) -> None:
    # what SRTP hides looks like a report about somebody else
    hidden = [
        receiver_report(5.0, ssrc=99, cumulative_lost=-3_000_000, highest_sequence=3_874_976_960)
    ]
    measured = measure_rtcp(session_with(make_table, hidden))
    assert (measured.loss, measured.jitter_s, measured.rtt_s) == (None, None, None)


def test_a_capture_beside_the_server_is_told_by_its_handshake(make_table: TableMaker) -> None:
    flags, to_client = np.array([0x02, 0x12, 0x10]), np.array([False, True, False])
    tcp = [{"flow": 0, "protocol": "tcp"}]
    for times_s, beside in (
        ([0.0, 0.0001, 0.08], True),
        ([0.0, 0.08, 0.0801], False),
        ([0.0, 0.04, 0.08], False),
    ):
        table = make_table(
            times_s, ip_bytes=40, header_bytes=40, to_client=to_client, tcp_flags=flags, flows=tcp
        )
        assert is_capture_at_server(table) is beside
