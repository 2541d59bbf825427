"""A capture whose bytes are mostly in tunnels is said to be one, with the option that helps."""

from __future__ import annotations

import pyarrow as pa
import pytest

from trafficgen.capture.warnings import describe_tunnels
from trafficgen.tables import FLOW_SCHEMA


def _flows(*rows: tuple[str, int, int, int]) -> pa.Table:
    """Make flows of a protocol, the ports of both ends, and frame bytes to the client."""
    columns = ("protocol", "server_port", "client_port", "frame_bytes_to_client")
    given = [dict(zip(columns, row, strict=True)) | {"frame_bytes_to_server": 0} for row in rows]
    return pa.Table.from_pylist(given, pa.schema([FLOW_SCHEMA.field(name) for name in given[0]]))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("gre", 0, 0, 600), ("udp", 5004, 5004, 400)], "60% of the bytes are in tunnels"),
        ([("udp", 40_000, 4789, 900), ("tcp", 80, 40_000, 100)], "90% of the bytes are in tunnels"),
        ([("ipv6", 0, 0, 400), ("udp", 5004, 5004, 600)], None),
        ([("tcp", 4789, 40_000, 1000)], None),
    ],
)
def test_tunnels_that_carry_most_bytes_are_named(
    rows: list[tuple[str, int, int, int]], said: str | None
) -> None:
    texts = describe_tunnels(_flows(*rows), name="a.pcap")
    assert [said is not None and said in text for text in texts] == [True] * (said is not None)
    assert all(text.startswith("a.pcap: ") and "decapsulate" in text for text in texts)


def test_a_capture_without_flows_has_no_tunnels() -> None:
    assert describe_tunnels(_flows(("gre", 0, 0, 1)).slice(0, 0), name="a.pcap") == []
