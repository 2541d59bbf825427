from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.export.schedules import steady

import trafficgen
from trafficgen.errors import ExportError
from trafficgen.export.epochs import Limits, epochs_of, plan_flow
from trafficgen.export.flow_schedule import (
    FlowSchedule,
    Schedules,
    raise_payloads,
    refuse_large,
    rising_us,
    schedule_report,
    schedules_of,
    seconds_text,
    split_large,
)
from trafficgen.tables import PacketTable

_LIMITS = Limits(low_bytes=1, high_bytes=65_507)


def flow_of(time_ns: list[int], payload_bytes: list[int]) -> FlowSchedule:
    payload = np.array(payload_bytes, dtype=np.int64)
    times = np.array(time_ns, dtype=np.int64)
    return FlowSchedule(3, "udp", "video", "192.0.2.1", times, payload, payload + 28)


def test_media_to_the_client_are_exported_and_the_rest_is_counted(table: PacketTable) -> None:
    found = schedules_of(table, target="tool")
    assert [(flow.flow, flow.protocol) for flow in found.flows] == [(0, "udp"), (1, "tcp")]
    assert found.flows[0].time_ns.tolist() == [0, 4000]
    assert found.flows[0].payload_bytes.tolist() == [172, 1472]
    assert found.flows[1].time_ns.tolist() == [5000]
    assert found.flows[0].source == "192.0.2.1"
    assert (found.packets, found.ip_bytes, found.duration_s) == (3, 200 + 1500 + 540, 5e-6)
    assert found.left_out == (
        "packets of the other direction were left out (2 packets, 80 IP bytes)",
        "TCP segments without payload were left out (1 packet, 40 IP bytes)",
    )


def test_flows_share_the_origin_of_the_first_packet_that_is_exported(table: PacketTable) -> None:
    later = replace(table, packets=table.packets.slice(3))
    found = schedules_of(later, target="tool")
    assert [flow.time_ns.tolist() for flow in found.flows] == [[0], [1000]]


def test_other_protocols_are_left_out_and_told(table: PacketTable) -> None:
    found = schedules_of(table, target="tool", protocols=["udp"])
    assert [flow.flow for flow in found.flows] == [0]
    assert (
        "packets of tcp (UDP alone can be sent) were left out (2 packets, 580 IP bytes)"
        in found.left_out
    )


def test_a_tcp_table_is_refused_where_udp_alone_can_be_sent(table: PacketTable) -> None:
    with pytest.raises(ExportError, match="tool sends UDP and the packets to the client are TCP"):
        schedules_of(table.select_flows([1]), target="tool", protocols=["udp"])


def test_nothing_to_send_is_refused_with_the_reason(table: PacketTable) -> None:
    with pytest.raises(ExportError, match="there are no packets to send"):
        schedules_of(table.select_flows([]), target="tool")
    turned = r"; choose another flow, or add settings=\{'direction': 'to_client'\}"
    with pytest.raises(ExportError, match=f"no packet goes to the server{turned}"):
        schedules_of(table.select_flows([0]), target="tool", direction="to_server")
    with pytest.raises(ExportError, match=f"no packet to the server carries payload{turned}"):
        schedules_of(table.select_flows([1]), target="tool", direction="to_server")
    bare = table.select(~table.to_client)
    with pytest.raises(ExportError, match=r"carries payload; choose another flow$"):
        schedules_of(bare.select_flows([1]), target="tool", direction="to_server")


def test_small_payloads_are_raised_and_counted() -> None:
    flow, count = raise_payloads(flow_of([0, 1, 2], [5, 28, 100]), low_bytes=28)
    assert flow.payload_bytes.tolist() == [28, 28, 100]
    assert count == 1


def test_large_payloads_are_refused_with_their_place() -> None:
    with pytest.raises(
        ExportError, match=r"flow 3, packet 1 at 0\.002000 s: tool sends at most 1000 .* not 1001"
    ):
        refuse_large(
            flow_of([0, 2_000_000], [1000, 1001]),
            high_bytes=1000,
            target="tool",
            remedy="split them",
        )


@given(st.lists(st.integers(0, 70_000), min_size=1, max_size=30), st.integers(1, 9000))
def test_splitting_keeps_payload_and_times(payload_bytes: list[int], high_bytes: int) -> None:
    flow = flow_of(list(range(len(payload_bytes))), payload_bytes)
    split, count = split_large(flow, high_bytes=high_bytes)
    assert split.payload_bytes.max() <= high_bytes
    assert count == sum(size > high_bytes for size in payload_bytes)
    for time_ns, size in enumerate(payload_bytes):
        pieces = split.payload_bytes[split.time_ns == time_ns]
        assert pieces.sum() == size
        assert np.ptp(pieces) <= 1


def test_the_report_counts_what_was_changed_and_by_how_much() -> None:
    flow = flow_of([0, 1_000_000, 2_000_000], [10, 100, 100])
    sent = replace(
        flow,
        time_ns=flow.time_ns + np.array([0, 0, 500_000]),
        payload_bytes=np.array([28, 100, 100]),
    )
    report = schedule_report(
        Schedules((flow,), ("a",)), [sent], target="tool", files=["x"], cannot_express=["b"]
    )
    assert (report.packets, report.packets_changed) == (3, 1)
    assert (report.bytes_before, report.bytes_after) == (294, 312)
    assert report.timing_error_s is not None
    assert report.timing_error_s.max == pytest.approx(0.0005)
    assert report.timing_error_s.mean == pytest.approx(0.0005 / 3)
    assert report.cannot_express == ("a", "b")


@given(
    st.lists(
        st.tuples(st.integers(0, 20_000_000_000), st.integers(1, 1472)), min_size=1, max_size=200
    ),
    st.floats(0.01, 10),
)
def test_epochs_conserve_packets_and_bytes_and_stay_within_themselves(
    packets: list[tuple[int, int]], epoch_s: float
) -> None:
    packets = sorted(packets)
    flow = flow_of([time for time, _ in packets], [size for _, size in packets])
    epochs = epochs_of(flow, epoch_s=epoch_s)
    assert epochs.packets.sum() == len(flow)
    assert epochs.payload_bytes.sum() == flow.payload_bytes.sum()
    times = plan_flow(flow, _LIMITS, epoch_s=epoch_s).sent.time_ns
    assert times.size == len(flow)
    assert np.all(np.diff(times) >= 0)
    assert np.abs(times - flow.time_ns).max() <= epochs.length_ns[0]
    assert np.array_equal(times // epochs.length_ns[0], flow.time_ns // epochs.length_ns[0])


@pytest.mark.parametrize("name", ["iperf2", "iperf3", "mgen", "ditg", "ns3"])
def test_what_a_foreign_table_calls_its_media_gets_into_no_script(
    tmp_path: Path, name: str
) -> None:
    table = steady()
    place = table.flows.schema.get_field_index("media")
    flows = table.flows.set_column(
        place, table.flows.schema.field(place), pa.array(["video)\ntouch broken\n# ("])
    )
    trafficgen.export(replace(table, flows=flows), to=name, directory=tmp_path)
    assert not any("broken" in path.read_text() for path in tmp_path.iterdir())


_TIMES = st.lists(st.integers(0, 10**12), min_size=1, max_size=50).map(sorted)


@given(_TIMES)
def test_times_rise_and_are_late_by_as_few_microseconds_as_that_takes(time_ns: list[int]) -> None:
    times = np.array(time_ns, dtype=np.int64)
    found = rising_us(times)
    assert np.all(np.diff(found) >= 1)
    late = found - np.floor_divide(times + 500, 1000)
    assert np.all(late >= 0)
    assert late[0] == 0
    pushed = np.flatnonzero(late > 0)
    assert np.all(np.diff(found)[pushed - 1] == 1)


@given(st.integers(0, 10**15))
def test_seconds_are_written_exactly(time_us: int) -> None:
    whole, _, rest = seconds_text(time_us).partition(".")
    assert int(whole) * 1_000_000 + int(rest) == time_us
    assert len(rest) == 6
