"""Rates over time that `inspect` keeps: those of the packets themselves, from captures and tables
alike.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import trafficgen
from trafficgen.packet_files.writing import write_packets
from trafficgen.randomness import random_stream
from trafficgen.tables import PacketTable


@pytest.fixture(params=["pcap", "parquet"])
def inspected(
    request: pytest.FixtureRequest, tmp_path: Path, make_table: Callable[..., PacketTable]
) -> tuple[PacketTable, trafficgen.Inspection]:
    """Two flows of 60 s, the second from 20 s on; a fifth of the packets go to the server."""
    generator = random_stream(3, session=0, purpose="test")
    time_s = np.sort(generator.uniform(0, 60, 5000))
    flow = ((time_s > 20) & (generator.uniform(size=5000) < 0.5)).astype(np.uint32)
    sizes = generator.integers(100, 1400, 5000)
    table = make_table(
        time_s, ip_bytes=sizes, flow=flow, to_client=generator.uniform(size=5000) < 0.8
    )
    write_packets(table, tmp_path / f"a.{request.param}")
    return table, trafficgen.inspect(tmp_path / f"a.{request.param}")


def test_rates_of_flows_are_those_of_their_packets(
    inspected: tuple[PacketTable, trafficgen.Inspection],
) -> None:
    table, found = inspected
    described = {row["client_port"]: row["flow"] for row in found.describe_flows()}
    start_s, end_s, parts = table.time_ns[0] / 1e9, table.time_ns[-1] / 1e9, 12
    for flow in (0, 1):
        number = described[40000 + flow]
        assert isinstance(number, int)
        for to_client in (True, False):
            rates = found.rates[number]
            curve = rates.to_client if to_client else rates.to_server
            packets = (table.flow == flow) & (table.to_client == to_client)
            assert curve.size_bytes.sum() == table.frame_bytes[packets].sum()
            edges = np.linspace(start_s, end_s, parts + 1)
            expected = np.histogram(
                table.time_ns[packets] / 1e9, edges, weights=table.frame_bytes[packets]
            )[0]
            expected_kbps = expected * 8 / 1000 / ((end_s - start_s) / parts)
            found_kbps = curve.rate_kbps(parts, start_s=0.0, end_s=found.duration_s)
            # A packet may lie on the other side of an edge by a bin, which is at most a 64th of the
            # flow's time.
            at_edges_kbps = (
                2 * table.frame_bytes[packets].sum() / 64 * 8 / 1000 / ((end_s - start_s) / parts)
            )
            np.testing.assert_allclose(found_kbps, expected_kbps, atol=at_edges_kbps)


def test_rates_turn_round_with_their_flows(
    inspected: tuple[PacketTable, trafficgen.Inspection],
) -> None:
    found = inspected[1]
    turned = found.swap_ends()
    for flow, rates in found.rates.items():
        assert turned.rates[flow].to_server is rates.to_client
