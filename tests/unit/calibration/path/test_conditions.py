from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import trafficgen
from trafficgen.calibration.path.conditions import find_loss
from trafficgen.calibration.path.control_messages import find_handshakes
from trafficgen.calibration.path.path_records import PathRecords, trace_packets
from trafficgen.calibration.response.congestion_response import tcp_friendly_kbps
from trafficgen.flows import choose_session
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]
SYN, SYN_ACK, ACK = 0x02, 0x12, 0x10
TCP = [{"flow": 0, "protocol": "tcp"}]
UDP_AND_TCP = [{"flow": 0}, {"flow": 1, "protocol": "tcp"}]


def handshake(make_table: TableMaker, times_s: list[float], flags: list[int]) -> PacketTable:
    to_client = np.array([flag == SYN_ACK for flag in flags])
    return make_table(
        times_s,
        ip_bytes=40,
        header_bytes=40,
        to_client=to_client,
        tcp_flags=np.array(flags),
        flows=TCP,
    )


def round_trips_s(table: PacketTable) -> list[float]:
    return [whole_s for _, whole_s in find_handshakes(table)]


def test_round_trip_is_syn_to_first_ack_wherever_it_was_captured(make_table: TableMaker) -> None:
    at_client = handshake(make_table, [0.0, 0.08, 0.0801], [SYN, SYN_ACK, ACK])
    at_server = handshake(make_table, [0.0, 0.0001, 0.0801], [SYN, SYN_ACK, ACK])
    assert round_trips_s(at_client) == pytest.approx([0.0801])
    assert round_trips_s(at_server) == pytest.approx([0.0801])


def test_repeated_syn_and_missing_handshake_give_no_round_trip(make_table: TableMaker) -> None:
    repeated = handshake(make_table, [0.0, 1.0, 1.08, 1.081], [SYN, SYN, SYN_ACK, ACK])
    assert round_trips_s(repeated) == []
    assert round_trips_s(handshake(make_table, [0.0, 0.1], [ACK, ACK])) == []
    assert round_trips_s(make_table([0.0, 1.0])) == []


def test_tcp_loss_is_the_share_of_packets_that_repeat_data(make_table: TableMaker) -> None:
    sequence = np.array([4_294_967_000, 4_294_968_000, 1704, 4_294_968_000, 1704, 2704]) % (1 << 32)
    table = make_table(
        np.arange(6), ip_bytes=1040, header_bytes=40, tcp_sequence=sequence, flows=TCP
    )
    loss = find_loss(choose_session(table))
    assert loss is not None
    assert (loss.source, loss.rate, loss.mean_burst_packets) == ("tcp", 2 / 6, 2.0)


def test_rtp_loss_of_the_media_flows_is_pooled(make_table: TableMaker) -> None:
    table = make_table(
        np.arange(8) * 0.02,
        flow=np.array([0, 1] * 4),
        rtp_sequence=np.array([1, 10, 2, 11, 5, 12, 6, 14]),
        rtp_ssrc=np.array([7, 8] * 4),
    )
    loss = find_loss(choose_session(table))
    assert loss is not None
    # flow 0 lost 3 and 4 of six, flow 1 lost 13 of five
    assert (loss.source, loss.rate, loss.mean_burst_packets) == ("rtp", 3 / 11, 1.5)


def test_plain_udp_says_nothing_about_loss(make_table: TableMaker) -> None:
    assert find_loss(choose_session(make_table([0.0, 1.0]))) is None


def test_tcp_friendly_bound_worked_by_hand() -> None:
    # 1.5 * sqrt(2/3) * 1500 B / (0.1 s * sqrt(0.01)) = 183711.7 B/s
    assert tcp_friendly_kbps(rtt_s=0.1, loss_rate=0.01) == pytest.approx(1469.694, rel=1e-6)
    assert tcp_friendly_kbps(rtt_s=None, loss_rate=0.01) is None
    assert tcp_friendly_kbps(rtt_s=0.1, loss_rate=0.0) is None


def test_a_little_tcp_beside_plain_udp_does_not_show_the_fate_of_packets(
    make_table: TableMaker,
) -> None:
    def records(udp: int, tcp: int) -> PathRecords | None:
        sequence = [None] * udp + [1000 * number for number in range(tcp)]
        flow, time_s = [0] * udp + [1] * tcp, np.arange(udp + tcp)
        table = make_table(time_s, flow=flow, tcp_sequence=sequence, flows=UDP_AND_TCP)
        return trace_packets(choose_session(table), None)

    assert records(40, 2) is None
    assert records(2, 40) is not None


@pytest.mark.parametrize(("rate_kbps", "emptied"), [(600, True), (1100, False)])
def test_delays_say_where_the_queue_never_emptied(rate_kbps: float, emptied: bool) -> None:
    result = trafficgen.simulate(
        "cbr",
        settings={"rate_kbps": rate_kbps},
        path="rate=1Mbps,delay=30ms,queue=60kB",
        compete="tcp@5s..25s",
        duration_s=40,
        seed=1,
    )
    origin = trafficgen.fit(result.packets()).model.provenance
    assert origin.kind == "fitted"
    conditions = origin.conditions
    assert conditions.one_way_delay_s is not None
    assert conditions.queueing_delay_s is not None
    for method in (conditions.one_way_delay_s.method, conditions.queueing_delay_s.method):
        assert ("the queue never emptied" not in method) == emptied
