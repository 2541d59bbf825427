"""RTP and TCP columns of generated packets."""

from __future__ import annotations

import numpy as np

from trafficgen.generation import OpenLoopSessions
from trafficgen.models import Model

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
