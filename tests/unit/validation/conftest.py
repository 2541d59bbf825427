"""Sessions made by hand, for the tests of validation."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa
import pytest

from trafficgen.flows import SessionView, choose_session
from trafficgen.tables import FLOW_SCHEMA, PacketTable
from trafficgen.units import FloatArray, IntArray, ns_array_from_s


class ViewOf(Protocol):
    """Makes a session of one or more UDP flows to one client."""

    def __call__(self, *flows: tuple[FloatArray, IntArray]) -> SessionView: ...


def _flow_row(flow: int, time_ns: IntArray) -> dict[str, object]:
    counters = {
        f"{quantity}_{direction}": 0
        for quantity in ("packets", "frame_bytes", "payload_bytes")
        for direction in ("to_client", "to_server")
    }
    return {
        **counters,
        "flow": flow,
        "session": 0,
        "protocol": "udp",
        "server": "192.0.2.1",
        "server_port": 5004 + flow,
        "client": "198.51.100.1",
        "client_port": 40_000 + flow,
        "media": "video",
        "first_time_ns": int(time_ns[0]),
        "last_time_ns": int(time_ns[-1]),
        "packets_to_client": time_ns.size,
    }


@pytest.fixture
def view_of() -> ViewOf:
    """Return a function that makes a session from times (s) and IP sizes (bytes) of its flows."""

    def make(*flows: tuple[FloatArray, IntArray]) -> SessionView:
        parts, rows = [], []
        for flow, (time_s, ip_bytes) in enumerate(flows):
            time_ns, size = ns_array_from_s(time_s), ip_bytes.astype(np.uint32)
            columns = {
                "time_ns": time_ns,
                "flow": np.full(size.size, flow, dtype=np.uint32),
                "to_client": np.ones(size.size, dtype=np.bool_),
                "frame_bytes": size + np.uint32(14),
                "ip_bytes": size,
                "payload_bytes": size - np.uint32(28),
            }
            parts.append(pa.table(columns))
            rows.append(_flow_row(flow, time_ns))
        table = PacketTable(
            packets=pa.concat_tables(parts), flows=pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)
        )
        return choose_session(table.sort_by_time())

    return make


@pytest.fixture
def bursty(view_of: ViewOf) -> SessionView:
    """Bursts of 1 to 9 packets every 0.2 s or so for 60 s, sizes from 100 to 1400 bytes."""
    generator = np.random.default_rng(7)
    starts = np.cumsum(generator.normal(0.2, 0.02, 300))
    counts = generator.integers(1, 10, starts.size)
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    times = np.repeat(starts, counts) + place * 0.002
    return view_of((times, generator.integers(100, 1400, times.size)))
