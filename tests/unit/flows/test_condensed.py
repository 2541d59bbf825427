"""Stretches of a long session, joined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.conftest import TableMaker

from trafficgen.flows import CondensedSession, Stretches, condense, media_packets, rate_curve
from trafficgen.flows.sketch import MediaSketch, gap_bins, largest_distance
from trafficgen.tables import PacketTable
from trafficgen.tables.stream import PacketStream, stream_of

STRETCHES = Stretches(np.array([0, 40, 70, 90]), np.array([20, 50, 75, 100]), 100)


def pieces_of(table: PacketTable, rows: int) -> PacketStream:
    stream = stream_of(table)

    def pieces() -> Iterator[pa.Table]:
        for start in range(0, len(table), rows):
            yield table.packets.slice(start, rows)

    return PacketStream(stream.head, pieces(), stream.columns)


def condensed(
    table: PacketTable, *, rows: int = 7, stretches: Stretches = STRETCHES
) -> CondensedSession:
    return condense(pieces_of(table, rows), stretches, rtp_flows={0})


@pytest.fixture
def rtp(make_table: TableMaker) -> PacketTable:
    time_s = np.cumsum(np.random.default_rng(1).exponential(0.02, 100))
    return make_table(
        time_s,
        ip_bytes=np.arange(100) + 500,
        rtp_ssrc=7,
        rtp_sequence=(65_500 + np.arange(100)) % 65_536,
        rtp_timestamp=(4_294_960_000 + (time_s * 90_000).astype(np.int64)) % 2**32,
        flows=[{"flow": 0, "clock_hz": 90_000, "ssrc": 7}],
    )


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_kept_packets_and_their_gaps_are_those_of_the_session(rtp: PacketTable, rows: int) -> None:
    found = condensed(rtp, rows=rows)
    kept = np.concatenate(
        [np.arange(0, 20), np.arange(40, 50), np.arange(70, 75), np.arange(90, 100)]
    )
    assert found.table.ip_bytes.tolist() == rtp.ip_bytes[kept].tolist()
    assert np.diff(found.table.time_ns).tolist() == np.diff(rtp.time_ns)[kept[1:] - 1].tolist()
    assert found.bounds.tolist() == [0, 20, 30, 35, 45]


def test_times_go_back_to_the_clock_of_the_session(rtp: PacketTable) -> None:
    found = condensed(rtp)
    kept = np.concatenate(
        [np.arange(0, 20), np.arange(40, 50), np.arange(70, 75), np.arange(90, 100)]
    )
    back = [found.clock.real(int(time_ns)) for time_ns in found.table.time_ns]
    assert back == rtp.time_ns[kept].tolist()
    assert [found.clock.stretch(int(found.table.time_ns[row])) for row in (0, 19, 20, 44)] == [
        0,
        0,
        1,
        3,
    ]


def test_rtp_numbers_and_timestamps_go_on_over_joints_and_wraps(rtp: PacketTable) -> None:
    found = condensed(rtp).table
    sequence = found.values("rtp_sequence").astype(np.int64)
    assert (np.diff(sequence) % 65_536 == 1).all()
    ticks = np.mod(np.diff(found.values("rtp_timestamp").astype(np.int64)), 2**32)
    # Timestamps were cut to whole ticks, at both ends of a gap.
    np.testing.assert_allclose(ticks, np.diff(found.time_ns) * 9e-5, atol=2)


def test_tcp_numbers_go_on_and_acknowledgements_follow_them(make_table: TableMaker) -> None:
    to_client = np.arange(100) % 2 == 0
    sent = np.where(to_client, 1000, 0).cumsum()
    start = 2**32 - 20_000
    table = make_table(
        np.arange(100) * 0.01,
        ip_bytes=np.where(to_client, 1040, 40),
        header_bytes=40,
        to_client=to_client,
        tcp_sequence=np.where(to_client, (start + sent - 1000) % 2**32, 77),
        tcp_acknowledgement=np.where(to_client, 77, (start + sent) % 2**32),
    )
    found = condensed(table).table
    data = found.to_client
    sequence = found.values("tcp_sequence").astype(np.int64)
    assert (np.diff(sequence[data]) % 2**32 == 1000).all()
    acknowledged = found.values("tcp_acknowledgement").astype(np.int64)[~data]
    # Each acknowledgement is of the packet before it, as in the session.
    assert ((acknowledged - sequence[np.flatnonzero(~data) - 1]) % 2**32 == 1000).all()
    assert (found.values("tcp_sequence")[~data] == 77).all()


def test_all_media_packets_are_counted_whatever_is_kept(rtp: PacketTable) -> None:
    whole = condensed(rtp).whole
    assert (whole.packets, whole.ip_bytes) == (100, int(rtp.ip_bytes.sum()))
    assert whole.duration_s == pytest.approx(float(rtp.time_s[-1] - rtp.time_s[0]))
    assert (whole.gaps, whole.gap_sum_ns) == (99, int(rtp.time_ns[-1] - rtp.time_ns[0]))
    assert whole.rate.size_bytes.sum() == rtp.ip_bytes.sum()


def test_other_packets_than_were_announced_are_refused(rtp: PacketTable) -> None:
    with pytest.raises(ValueError, match="99 packets were announced, 100 came"):
        condensed(rtp, stretches=Stretches(np.array([0]), np.array([99]), 99))


def test_a_sketch_does_not_depend_on_how_packets_come(make_table: TableMaker) -> None:
    rng = np.random.default_rng(2)
    time_s = np.cumsum(rng.exponential(1.0, 5000))
    columns: dict[str, Any] = {
        "ip_bytes": rng.integers(60, 70_000, 5000),
        "flow": rng.integers(0, 3, 5000),
    }
    table = make_table(time_s, flows=[{"flow": number} for number in range(3)], **columns)
    sketches = []
    for rows in (5000, 11):
        sketch = MediaSketch()
        for start in range(0, 5000, rows):
            part = slice(start, start + rows)
            sketch.add(table.time_ns[part], table.flow[part], table.ip_bytes[part])
        sketches.append(sketch)
    one, other = sketches
    assert (one.packets, one.gaps, one.gap_sum_ns) == (other.packets, other.gaps, other.gap_sum_ns)
    assert one.gaps == 5000 - 3
    assert (one.gap_counts == other.gap_counts).all()
    assert (one.size_counts == other.size_counts).all()
    assert one.rate.size_bytes.tolist() == other.rate.size_bytes.tolist()
    exact = rate_curve(table.time_ns, table.ip_bytes).rate_kbps(10)
    np.testing.assert_allclose(one.rate.rate_kbps(10), exact, rtol=0.05)


def test_bins_of_gaps_are_one_percent_wide_and_distances_of_histograms_those_of_samples() -> None:
    gaps = np.array([0, 1, 1000, 1012, 10**9, 2 * 10**9])
    assert gap_bins(gaps).tolist() == [0, 1, *(1 + (64 * np.log2(gaps[2:])).astype(int)).tolist()]
    assert largest_distance(np.array([1, 0, 3]), np.array([1, 1, 0])) == pytest.approx(0.75)
    assert largest_distance(np.zeros(3, dtype=np.int64), np.array([1, 1, 0])) == 0


def test_a_piece_without_rtp_of_an_rtp_flow_has_no_media(make_table: TableMaker) -> None:
    table = make_table([0.0, 1.0])
    assert media_packets(table).all()
    assert not media_packets(table, rtp_flows={0}).any()
