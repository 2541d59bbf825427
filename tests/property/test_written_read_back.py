"""Random tables written as captures and read back by our own reader: the same flows, counts and
columns.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trafficgen import inspect, read_packets
from trafficgen.packet_files.writing import write_packets
from trafficgen.tables import FLOW_SCHEMA, PACKET_SCHEMA, PacketTable

_ORIGIN_NS = 1_700_000_000_000_000_000
#: The server's port is a service's, so that the direction does not depend on what was sent.
_ENDS = [
    ("udp", "192.0.2.1", 443, "198.51.100.2", 40_000),
    ("tcp", "192.0.2.1", 443, "198.51.100.2", 40_000),
    ("udp", "2001:db8::1", 443, "2001:db8::2", 40_001),
    ("tcp", "2001:db8::1", 80, "2001:db8::2", 40_001),
    ("udp", "192.0.2.7", 53, "198.51.100.2", 40_002),
]
_NAMES = ("time_ns", "flow", "to_client", "frame_bytes", "ip_bytes", "payload_bytes")


def _flows() -> pa.Table:
    base: dict[str, Any] = {field.name: None if field.nullable else 0 for field in FLOW_SCHEMA} | {
        "media": "unknown"
    }
    names = ("protocol", "server", "server_port", "client", "client_port")
    rows = [
        base | {"flow": flow} | dict(zip(names, ends, strict=True))
        for flow, ends in enumerate(_ENDS)
    ]
    return pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)


@st.composite
def _tables(draw: st.DrawFn) -> PacketTable:
    count = draw(st.integers(1, 60))
    gaps = draw(st.lists(st.integers(0, 10**9), min_size=count, max_size=count))
    flow = np.array(draw(st.lists(st.integers(0, len(_ENDS) - 1), min_size=count, max_size=count)))
    payload = np.array(draw(st.lists(st.integers(0, 1400), min_size=count, max_size=count)))
    is_tcp = np.array([_ENDS[number][0] == "tcp" for number in flow])
    is_v6 = np.array([":" in _ENDS[number][1] for number in flow])
    ip_bytes = payload + np.where(is_v6, 40, 20) + np.where(is_tcp, 20, 8)
    columns = {
        "time_ns": np.cumsum(gaps),
        "flow": flow,
        "to_client": np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count))),
        "frame_bytes": ip_bytes + 14,
        "ip_bytes": ip_bytes,
        "payload_bytes": payload,
    }
    schema = pa.schema([PACKET_SCHEMA.field(name) for name in _NAMES])
    arrays = [pa.array(columns[name]).cast(schema.field(name).type) for name in _NAMES]
    return PacketTable(
        packets=pa.table(arrays, schema=schema), flows=_flows(), origin_ns=_ORIGIN_NS
    )


def _rows(table: PacketTable) -> list[tuple[Any, ...]]:
    """Packets with absolute times and the ends of their flows, as flow numbers differ."""
    ends = {row["flow"]: tuple(row[name] for name in _END_NAMES) for row in table.flows.to_pylist()}
    packets = table.packets.select(list(_NAMES)).to_pylist()
    return [
        (table.origin_ns + row["time_ns"], ends[row["flow"]], *(row[name] for name in _NAMES[2:]))
        for row in packets
    ]


_END_NAMES = ("protocol", "server", "server_port", "client", "client_port")


@pytest.mark.parametrize("suffix", [".pcap", ".pcapng"])
@given(table=_tables())
@settings(max_examples=40, deadline=None)
def test_a_written_table_is_read_back_equal(suffix: str, table: PacketTable) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"out{suffix}"
        write_packets(table, path)
        found, back = inspect(path), read_packets(path)
    assert _rows(back) == _rows(table)
    assert (found.packets, found.ip_packets, found.warnings) == (len(table), len(table), ())
    assert found.frame_bytes == int(table.frame_bytes.sum())
    counted = {tuple(flow[name] for name in _END_NAMES): flow for flow in found.describe_flows()}
    assert len(counted) == len(set(table.flow.tolist()))
    for number in set(table.flow.tolist()):
        flow: Any = counted[_ENDS[number]]
        for way, to_client in (("to_client", True), ("to_server", False)):
            chosen = (table.flow == number) & (table.to_client == to_client)
            sums = {
                "packets": int(chosen.sum()),
                "frame_bytes": int(table.frame_bytes[chosen].sum()),
            }
            assert flow[way] == sums
