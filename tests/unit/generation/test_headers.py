"""RTP and TCP columns of generated packets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trafficgen.calibration.streams import describe_transport
from trafficgen.generation import OpenLoopSessions
from trafficgen.generation.tcp import draw_acknowledged
from trafficgen.models import Acknowledgements, AcknowledgementsAtPace, Model
from trafficgen.tables import PacketTable
from trafficgen.units import ns_array_from_s

TableMaker = Callable[..., PacketTable]
SYN, ACK, PSH, FIN = 0x02, 0x10, 0x08, 0x01


def test_rtp_sequence_is_consecutive_and_starts_anywhere(rtp_model: Model) -> None:
    table = OpenLoopSessions(model=rtp_model, count=2).make_table()
    for flow in (0, 1):
        own = table.select_flows([flow])
        own = own.select(own.to_client)
        sequence = own.values("rtp_sequence").astype(np.int64)
        assert np.all(np.diff(sequence) % (1 << 16) == 1)
        assert len(set(own.values("rtp_ssrc").tolist())) == 1
        assert own.flows.column("ssrc")[flow].as_py() == own.values("rtp_ssrc")[0]
    ssrcs = table.flows.column("ssrc").to_pylist()
    assert ssrcs[0] != ssrcs[1]


def test_rtp_sequence_and_timestamp_wrap_around(rtp_model: Model) -> None:
    table = OpenLoopSessions(model=rtp_model, duration_s=500.0).make_table()
    media = table.select(table.to_client)
    sequence = media.values("rtp_sequence").astype(np.int64)
    assert len(media) > 1 << 16
    assert sequence.max() == (1 << 16) - 1
    assert np.all(np.diff(sequence) % (1 << 16) == 1)


def test_packets_of_a_burst_share_a_timestamp_and_the_last_is_marked(rtp_model: Model) -> None:
    table = OpenLoopSessions(model=rtp_model).make_table()
    media = table.select(table.to_client)
    timestamp, marker = media.values("rtp_timestamp"), media.values("rtp_marker")
    changes = np.diff(timestamp) != 0
    assert np.array_equal(marker[:-1], changes)
    assert marker[-1]
    # Frames are whole steps of 3600 ticks apart, and 90,000 ticks are a second.
    frames = timestamp[np.append(True, changes)].astype(np.int64)
    steps = np.mod(np.diff(frames), 1 << 32)
    assert not np.any(np.mod(steps, 3600))
    assert np.all(steps > 0)
    span_s = media.time_s[np.flatnonzero(np.append(True, changes))[-1]] - media.time_s[0]
    assert abs(steps.sum() / 90_000 - span_s) < 0.5


def test_rtp_timestamp_follows_the_time_where_packets_stand_alone(mixed_model: Model) -> None:
    table = OpenLoopSessions(model=mixed_model).make_table().select_flows([0])
    media = table.select(table.to_client)
    ticks = np.mod(np.diff(media.values("rtp_timestamp").astype(np.int64)), 1 << 32)
    np.testing.assert_allclose(
        np.cumsum(ticks) / 8000, media.time_s[1:] - media.time_s[0], atol=1 / 8000
    )
    assert not media.values("rtp_marker").any()


def test_columns_of_other_transports_are_null(mixed_model: Model) -> None:
    table = OpenLoopSessions(model=mixed_model).make_table()
    assert np.array_equal(table.is_known("tcp_sequence"), table.flow == 2)
    assert np.array_equal(table.is_known("rtp_sequence"), (table.flow == 0) & table.to_client)


def test_media_has_room_for_its_headers(rtp_model: Model) -> None:
    table = OpenLoopSessions(model=rtp_model).make_table()
    assert table.payload_bytes[table.to_client].min() >= 12


def test_tcp_flow_opens_with_a_handshake_and_a_request(tcp_model: Model) -> None:
    table = OpenLoopSessions(model=tcp_model).make_table()
    flags, sequence = table.values("tcp_flags"), table.values("tcp_sequence").astype(np.int64)
    acknowledgement = table.values("tcp_acknowledgement").astype(np.int64)
    assert flags[:4].tolist() == [SYN, SYN | ACK, ACK, PSH | ACK]
    assert table.to_client[:4].tolist() == [False, True, False, False]
    assert table.payload_bytes[:3].tolist() == [0, 0, 0]
    assert table.payload_bytes[3] > 0
    assert acknowledgement[1] == (sequence[0] + 1) % (1 << 32)
    assert acknowledgement[2] == (sequence[1] + 1) % (1 << 32)


def test_tcp_numbers_of_each_end_grow_by_what_it_sends(tcp_model: Model) -> None:
    table = OpenLoopSessions(model=tcp_model, seed=4).make_table()
    flags = table.values("tcp_flags").astype(np.int64)
    taken = table.payload_bytes + (flags & SYN > 0) + (flags & FIN > 0)
    for to_client in (True, False):
        rows = table.to_client == to_client
        sequence = table.values("tcp_sequence").astype(np.int64)[rows]
        assert np.array_equal(np.diff(sequence) % (1 << 32), taken[rows][:-1])


def test_client_acknowledges_every_second_segment_and_never_what_was_not_sent(
    tcp_model: Model,
) -> None:
    table = OpenLoopSessions(model=tcp_model, seed=4).make_table()
    sequence, flags = (
        table.values("tcp_sequence").astype(np.int64),
        table.values("tcp_flags").astype(np.int64),
    )
    data = table.to_client & (table.payload_bytes > 0)
    first = int(sequence[data][0])
    end = np.where(data, (sequence - first) % (1 << 32) + table.payload_bytes, 0)
    sent = np.maximum.accumulate(end)
    pure = ~table.to_client & (flags == ACK) & (table.time_s >= 2.0)
    acknowledged = (table.values("tcp_acknowledgement").astype(np.int64)[pure] - first) % (1 << 32)
    assert np.all(acknowledged <= sent[pure])
    assert np.all(np.diff(acknowledged) > 0)
    # Every second segment, and one more at most for each pause: between a half and one
    # acknowledgement a segment.
    assert 0.5 * data.sum() - 1 <= pure.sum() <= 0.6 * data.sum()


def acknowledging(model: Model, law: Acknowledgements) -> Model:
    """Return a model whose only stream acknowledges by a law."""
    (stream,) = model.streams
    transport = stream.transport.model_copy(update={"acknowledgements": law})
    return model.model_copy(
        update={"streams": (stream.model_copy(update={"transport": transport}),)}
    )


@pytest.mark.parametrize(
    ("shares", "repeat"), [((0.3, 0.7), 0.8), ((0.1, 0.5, 0.0, 0.4), 0.0), ((1.0,), 0.5)]
)
def test_a_receiver_acknowledges_by_the_law_of_the_model_which_a_fit_finds_again(
    tcp_model: Model, shares: tuple[float, ...], repeat: float
) -> None:
    law = Acknowledgements(packet_shares=shares, repeat_probability=repeat)
    sessions = OpenLoopSessions(model=acknowledging(tcp_model, law), seed=4, duration_s=600.0)
    table = sessions.make_table()
    found = describe_transport(
        table, table.to_client & (table.payload_bytes > 0), flow=0
    ).acknowledgements
    assert found is not None
    # Pauses between bursts cut what is acknowledged together, and add nothing on the whole.
    assert found.mean_packets == pytest.approx(law.mean_packets, rel=0.04)


def test_a_receiver_over_quic_acknowledges_by_its_law_and_the_media_stay(udp_model: Model) -> None:
    law = Acknowledgements(packet_shares=(0.2, 0.8), repeat_probability=0.5, ip_bytes=70)
    (stream,) = acknowledging(udp_model, law).streams
    transport = stream.transport.model_copy(update={"server_port": 443})
    streams = (stream.model_copy(update={"transport": transport}),)
    model = udp_model.model_copy(update={"streams": streams})
    table = OpenLoopSessions(model=model, seed=4, duration_s=600.0).make_table()
    before = OpenLoopSessions(model=udp_model, seed=4, duration_s=600.0).make_table()
    assert table.time_ns[table.to_client].tolist() == before.time_ns[before.to_client].tolist()
    assert (np.diff(table.time_ns) >= 0).all()
    found = describe_transport(table, table.to_client, flow=0).acknowledgements
    assert found is not None
    assert found.ip_bytes == 70
    assert found.mean_packets == pytest.approx(law.mean_packets, rel=0.02)
    assert found.repeat_probability == pytest.approx(law.repeat_probability, abs=0.05)


def test_numbers_of_packets_acknowledged_are_a_chain_with_the_shares_of_the_law(
    tcp_model: Model,
) -> None:
    law = Acknowledgements(packet_shares=(0.1, 0.5, 0.0, 0.4), repeat_probability=0.7)
    (stream,) = acknowledging(tcp_model, law).streams
    found = draw_acknowledged(
        stream.transport, np.arange(400_000) * 1_000_000, generator=np.random.default_rng(1)
    )
    packets = np.diff(found.rows)
    assert not found.late.any()
    shares = np.bincount(packets)[1:] / packets.size
    np.testing.assert_allclose(shares, law.packet_shares, atol=0.01)
    for lag in (1, 2, 4):
        correlation = np.corrcoef(packets[:-lag], packets[lag:])[0, 1]
        assert correlation == pytest.approx(law.repeat_probability**lag, abs=0.02)


def test_a_fit_finds_what_is_acknowledged_one_by_one_and_what_goes_by_the_pace(
    tcp_model: Model, make_table: TableMaker
) -> None:
    by_two, by_four = (0.0, 1.0), (0.0, 0.0, 0.0, 1.0)
    law = Acknowledgements(
        packet_shares=by_two,
        repeat_probability=0.0,
        singly_at_start=300,
        singly_after_pause=16,
        at_paces=(
            AcknowledgementsAtPace(packet_shares=by_four, repeat_probability=0.0, up_to_gap_s=3e-3),
            AcknowledgementsAtPace(packet_shares=by_two, repeat_probability=0.0, up_to_gap_s=None),
        ),
    )
    transport = acknowledging(tcp_model, law).streams[0].transport
    # Ten rates in turn, fast and slow, each after a pause.
    gap_s = np.tile(np.repeat([1e-3, 9e-3], 500), 10)
    gap_s[::500] = 1.0
    time_ns = ns_array_from_s(np.cumsum(gap_s))
    found = draw_acknowledged(transport, time_ns, generator=np.random.default_rng(1))
    alone = np.flatnonzero(np.diff(found.rows, prepend=-1) == 1)
    assert found.rows[alone[:300]].tolist() == list(range(300))
    after = found.rows[(found.rows >= 1500) & (found.rows < 2000)]
    assert after[:16].tolist() == list(range(1500, 1516))
    assert np.median(np.diff(after[16:])) == 2
    fast = found.rows[(found.rows >= 1016) & (found.rows < 1480)]
    assert np.median(np.diff(fast)) == 4
    later = draw_acknowledged(transport, time_ns, generator=np.random.default_rng(1), begins=False)
    assert np.count_nonzero(later.rows < 300) < 100
    all_ns = np.concatenate((time_ns, time_ns[found.rows] + found.late * 200_000_000 + 1))
    order = np.argsort(all_ns, kind="stable")
    to_client = order < time_ns.size
    table = make_table(
        all_ns[order] / 1e9,
        flows=[{"flow": 0, "protocol": "tcp", "server": "192.0.2.1", "server_port": 80}],
        ip_bytes=np.where(to_client, 1500, 40),
        header_bytes=40,
        to_client=to_client,
    )
    again = describe_transport(table, table.to_client, flow=0).acknowledgements
    assert again is not None
    assert again.singly_at_start == pytest.approx(300, abs=2)
    assert again.singly_after_pause == pytest.approx(16, abs=1)
    assert [one.mean_packets for one in again.at_paces] == pytest.approx([4, 2], rel=0.05)
    assert 2e-3 < (again.at_paces[0].up_to_gap_s or 0) < 5e-3


@pytest.mark.parametrize("count", [1, 2, 3])
def test_fewer_packets_than_are_acknowledged_at_once_wait(tcp_model: Model, count: int) -> None:
    law = Acknowledgements(packet_shares=(0.0, 0.0, 0.0, 1.0), repeat_probability=0.0)
    (stream,) = acknowledging(tcp_model, law).streams
    times_ns = np.append(np.arange(count), 1000) * 1_000_000
    found = draw_acknowledged(stream.transport, times_ns, generator=np.random.default_rng(1))
    # What stands before the pause is acknowledged late, the very last with the FIN.
    assert found.late[found.rows == count - 1].all()
    assert (found.rows[0], found.late[0]) == (count - 1, True)


def test_acknowledgements_by_a_law_leave_the_media_as_they_are_and_none_before_a_pause_out(
    tcp_model: Model,
) -> None:
    law = Acknowledgements(packet_shares=(0.0,) * 19 + (1.0,), repeat_probability=0.9)
    plain = OpenLoopSessions(model=tcp_model, seed=4).make_table()
    table = OpenLoopSessions(model=acknowledging(tcp_model, law), seed=4).make_table()

    def data_of(one: PacketTable) -> PacketTable:
        return one.select(one.to_client & (one.payload_bytes > 0))

    data = data_of(table)
    for column in ("time_ns", "ip_bytes", "tcp_sequence"):
        np.testing.assert_array_equal(data.values(column), data_of(plain).values(column))
    ends = data.values("tcp_sequence").astype(np.int64) + data.payload_bytes
    pure = ~table.to_client & (table.payload_bytes == 0)
    heard = set(table.values("tcp_acknowledgement").astype(np.int64)[pure].tolist())
    pauses = np.flatnonzero(np.diff(data.time_s) > 0.2)
    assert pauses.size > 5
    assert set((ends[pauses] % (1 << 32)).tolist()) <= heard


def test_tcp_flow_ends_with_fin_from_both_ends(tcp_model: Model) -> None:
    table = OpenLoopSessions(model=tcp_model).make_table()
    closing = np.flatnonzero(np.array(table.column("phase").to_pylist()) == "end")
    assert table.values("tcp_flags")[closing].tolist() == [FIN | ACK, FIN | ACK, ACK]
    assert table.to_client[closing].tolist() == [True, False, True]
    assert closing[-1] == len(table) - 1
    assert not np.any(
        table.to_client[closing[0] + 1 : -1]
    )  # only acknowledgements that were under way


def test_last_segment_of_a_burst_is_pushed(tcp_model: Model) -> None:
    table = OpenLoopSessions(model=tcp_model).make_table()
    data = table.select(table.to_client & (table.payload_bytes > 0))
    pushed = data.values("tcp_flags") == PSH | ACK
    assert np.array_equal(pushed[:-1], np.diff(data.time_s) > 0.01)
