from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trafficgen.calibration.streams import describe_transport
from trafficgen.errors import CalibrationError
from trafficgen.models import Transport
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]


def transport_of(
    make_table: TableMaker, time_s: Any, flow: dict[str, Any], **columns: Any
) -> Transport:
    table = make_table(time_s, flows=[{"flow": 0, **flow}], **columns)
    return describe_transport(table, np.ones(len(table), dtype=np.bool_), flow=0)


def test_video_frames_share_a_timestamp_and_end_marked(make_table: TableMaker) -> None:
    frames, packets = 50, 4
    transport = transport_of(
        make_table,
        np.repeat(np.arange(frames) / 25, packets) + np.tile(np.arange(packets) * 1e-4, frames),
        {"payload_type": 96},
        rtp_timestamp=(np.repeat(np.arange(frames) * 3600, packets) + 4_294_960_000) % (1 << 32),
        rtp_marker=np.tile([False] * (packets - 1) + [True], frames),
        rtp_ssrc=7,
    )
    assert transport.rtp is not None
    assert (transport.rtp.clock_hz, transport.rtp.payload_type, transport.rtp.frame_per_burst) == (
        90000,
        96,
        True,
    )
    assert transport.rtp.timestamp_step is not None
    assert transport.rtp.timestamp_step.value == 3600


def test_voice_is_not_framed(make_table: TableMaker) -> None:
    n = 100
    transport = transport_of(
        make_table,
        np.arange(n) * 0.02,
        {"payload_type": 8, "clock_hz": 8000},
        rtp_timestamp=np.arange(n) * 160,
        rtp_marker=np.arange(n) == 0,
        rtp_ssrc=7,
    )
    assert transport.rtp is not None
    assert (transport.rtp.clock_hz, transport.rtp.frame_per_burst) == (8000, False)


def test_headers_and_addresses_are_those_of_the_flow(make_table: TableMaker) -> None:
    transport = transport_of(
        make_table,
        [0.0, 1.0],
        {"protocol": "tcp", "server": "2001:db8::1", "server_port": 443},
        header_bytes=72,
    )
    assert (transport.protocol, transport.ip_version, transport.server_port) == ("tcp", 6, 443)
    assert (transport.header_bytes, transport.rtp) == (72, None)


def acknowledged(
    make_table: TableMaker, *, at_server: bool, numbered: bool, groups: tuple[int, ...]
) -> Transport:
    """Describe a flow whose packets are acknowledged in groups, across a wrap-around.

    At the server, acknowledgements arrive ten packets late, all of a window at once.
    """
    payload, first = 1000, (1 << 32) - 50_000
    count, covered = sum(groups), np.cumsum(groups)
    late_s = np.ceil(covered / 10) * 10 + 10 if at_server else covered + 0.1
    time_s = np.concatenate([np.arange(1.0, count + 1), late_s]) * 1e-3
    is_data = np.arange(time_s.size) < count
    sequence = np.concatenate([first + payload * np.arange(count), np.full(covered.size, 7)])
    acknowledgement = np.concatenate([np.full(count, 7), first + payload * covered])
    columns = {"tcp_sequence": sequence, "tcp_acknowledgement": acknowledgement}
    order = np.argsort(time_s, kind="stable")
    table = make_table(
        time_s[order],
        flows=[{"flow": 0, "protocol": "tcp", "server": "192.0.2.1", "server_port": 80}],
        ip_bytes=np.where(is_data, payload + 40, 40)[order],
        header_bytes=40,
        to_client=is_data[order],
        **{name: values[order] % (1 << 32) for name, values in columns.items() if numbered},
    )
    return describe_transport(table, table.to_client, flow=0)


@pytest.mark.parametrize(("at_server", "numbered"), [(False, False), (False, True), (True, True)])
def test_what_a_receiver_acknowledges_at_once_is_counted_at_both_ends(
    make_table: TableMaker, *, at_server: bool, numbered: bool
) -> None:
    groups = ((1,) * 8 + (2,) * 16 + (4,) * 8) * 20
    found = acknowledged(
        make_table, at_server=at_server, numbered=numbered, groups=groups
    ).acknowledgements
    assert found is not None
    # The first ones have none before them to be counted from.
    assert found.packet_shares == pytest.approx((0.25, 0.5, 0.0, 0.25), abs=2.5 / len(groups))
    # Of 32, three steps of 1, 2 and 3: the variance is 1.1875, half their mean square 7 / 32.
    assert found.repeat_probability == pytest.approx(1 - 7 / 32 / 1.1875, abs=0.01)


def test_few_acknowledgements_give_no_law(make_table: TableMaker) -> None:
    transport = acknowledged(make_table, at_server=False, numbered=True, groups=(2,) * 40)
    assert transport.acknowledgements is None


@pytest.mark.parametrize(("server_port", "counts"), [(443, True), (5004, False)])
def test_only_over_quic_datagrams_of_the_client_acknowledge(
    make_table: TableMaker, *, server_port: int, counts: bool
) -> None:
    count = 600
    table = make_table(
        np.arange(count) * 0.001,
        flows=[{"flow": 0, "protocol": "udp", "server_port": server_port}],
        to_client=np.arange(count) % 3 != 2,
    )
    found = describe_transport(table, table.to_client, flow=0).acknowledgements
    assert (found is not None) == counts
    if found is not None:
        assert found.packet_shares == (0.0, 1.0)


@pytest.mark.parametrize("ip_bytes", [65_535, 70_000])
def test_the_largest_datagrams_of_a_client_over_quic_are_in_the_model(
    make_table: TableMaker, ip_bytes: int
) -> None:
    to_client = np.tile([True, True, False], 200)
    table = make_table(
        np.arange(to_client.size) * 0.001,
        flows=[{"flow": 0, "protocol": "udp", "server_port": 443}],
        ip_bytes=np.where(to_client, 1200, ip_bytes),
        to_client=to_client,
    )
    found = describe_transport(table, table.to_client, flow=0).acknowledgements
    assert found is not None
    assert found.ip_bytes == 65_535


def test_packets_over_quic_that_acknowledge_nothing_new_count_too(make_table: TableMaker) -> None:
    to_client = np.tile([True] * 4 + [False, True, True, False, False], 100)
    table = make_table(
        np.arange(to_client.size) * 0.001,
        flows=[{"flow": 0, "protocol": "udp", "server_port": 443}],
        to_client=to_client,
    )
    found = describe_transport(table, table.to_client, flow=0).acknowledgements
    assert found is not None
    assert found.mean_packets == pytest.approx(2, rel=0.01)
    assert found.packet_shares[3] > found.packet_shares[2] == 0


def test_duplicate_acknowledgements_and_requests_count_too(make_table: TableMaker) -> None:
    # Four packets, a duplicate acknowledgement and one of four packets; then the same, a request.
    to_client = np.tile([True, True, True, True, False, False] * 2 + [False], 100)
    payload = np.where(to_client, 1000, 0)
    payload[12::13] = 200
    table = make_table(
        np.arange(to_client.size) * 0.001,
        flows=[{"flow": 0, "protocol": "tcp", "server": "192.0.2.1", "server_port": 80}],
        ip_bytes=payload + 40,
        header_bytes=40,
        to_client=to_client,
    )
    found = describe_transport(table, table.to_client, flow=0).acknowledgements
    assert found is not None
    assert found.mean_packets == pytest.approx(8 / 5, rel=0.01)


def test_other_protocols_are_refused(make_table: TableMaker) -> None:
    with pytest.raises(CalibrationError, match="flow 0 is sctp"):
        transport_of(make_table, [0.0, 1.0], {"protocol": "sctp"})
