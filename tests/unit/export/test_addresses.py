from __future__ import annotations

import pyarrow as pa
import pytest

from trafficgen.export.frames import set_addresses
from trafficgen.tables import FLOW_SCHEMA


def _flows(*ends: tuple[str, str, int, str, int]) -> pa.Table:
    base = {field.name: None if field.nullable else 0 for field in FLOW_SCHEMA} | {"media": "video"}
    keys = ("protocol", "server", "server_port", "client", "client_port")
    rows = [
        base | {"flow": number} | dict(zip(keys, end, strict=True))
        for number, end in enumerate(ends)
    ]
    return pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)


def _ends(flows: pa.Table) -> list[tuple[object, ...]]:
    names = ("protocol", "server", "server_port", "client", "client_port")
    return list(zip(*(flows.column(name).to_pylist() for name in names), strict=True))


def test_given_addresses_are_used_and_client_ports_move_where_flows_would_collide() -> None:
    flows = _flows(
        ("udp", "10.0.0.1", 7000, "10.1.0.1", 8000),
        ("udp", "10.0.0.2", 7000, "10.1.0.2", 8000),
        ("tcp", "10.0.0.2", 7000, "10.1.0.2", 8000),
    )
    assert _ends(set_addresses(flows, server="203.0.113.5", client="203.0.113.6")) == [
        ("udp", "203.0.113.5", 7000, "203.0.113.6", 8000),
        ("udp", "203.0.113.5", 7000, "203.0.113.6", 8002),
        ("tcp", "203.0.113.5", 7000, "203.0.113.6", 8000),
    ]


def test_one_given_address_takes_the_other_along_to_its_ip_version() -> None:
    flows = _flows(("udp", "10.0.0.1", 5004, "10.1.0.1", 6000))
    assert _ends(set_addresses(flows, server="2001:db8::5"))[0][3] == "2001:db8:0:2::1"


def test_flows_without_ip_and_without_ports_keep_what_they_have() -> None:
    flows = _flows(("non-ip", "", 0, "", 0), ("icmp", "10.0.0.1", 0, "10.1.0.1", 0))
    assert _ends(set_addresses(flows, server="192.0.2.7")) == [
        ("non-ip", "", 0, "", 0),
        ("icmp", "192.0.2.7", 0, "198.51.100.1", 0),
    ]


def test_more_flows_than_ports_between_two_hosts_are_refused() -> None:
    flows = _flows(*([("udp", "10.0.0.1", 5004, "10.1.0.1", 6000)] * 40_000))
    with pytest.raises(ValueError, match="more flows between two hosts"):
        set_addresses(flows, server="203.0.113.5", client="203.0.113.6")
