"""Addresses of sessions lie in the ranges that were given, and no two sessions could be taken for
one.
"""

from __future__ import annotations

import ipaddress

import pytest

from trafficgen.errors import GenerationError
from trafficgen.generation.addresses import AddressPlan, AddressRange
from trafficgen.tables.protocols import PAIRS, documentation_pair


def ranges(*texts: str) -> dict[int, AddressRange]:
    networks = [ipaddress.ip_network(text) for text in texts]
    versions = {network.version for network in networks}
    return {
        version: AddressRange(tuple(one for one in networks if one.version == version))
        for version in versions
    }


def plan(
    clients: str | None, servers: str | None, *, sessions: int = 10, flows_each: int = 2
) -> AddressPlan:
    return AddressPlan(
        clients=ranges(clients) if clients else {},
        servers=ranges(servers) if servers else {},
        flows_each=flows_each,
        sessions=sessions,
    )


@pytest.mark.parametrize(
    ("text", "hosts", "first", "last"),
    [
        ("10.1.0.0/16", 65_534, "10.1.0.1", "10.1.255.254"),
        ("192.0.2.4/30", 2, "192.0.2.5", "192.0.2.6"),
        ("192.0.2.4/31", 2, "192.0.2.4", "192.0.2.5"),
        ("192.0.2.4/32", 1, "192.0.2.4", "192.0.2.4"),
        ("2001:db8::/64", 2**64 - 1, "2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff"),
    ],
)
def test_a_range_has_the_hosts_of_its_network(text: str, hosts: int, first: str, last: str) -> None:
    (one,) = ranges(text).values()
    assert one.hosts == hosts
    assert (one.address(0), one.address(hosts - 1)) == (first, last)
    with pytest.raises(ValueError, match="only"):
        one.address(hosts)


def test_several_networks_are_one_range() -> None:
    one = ranges("192.0.2.0/30", "198.51.100.0/30")[4]
    assert [one.address(number) for number in range(4)] == [
        "192.0.2.1",
        "192.0.2.2",
        "198.51.100.1",
        "198.51.100.2",
    ]


@pytest.mark.parametrize(
    ("clients", "servers", "version"),
    [
        ("10.0.0.0/29", "192.0.2.0/30", 4),
        ("10.0.0.0/29", None, 4),
        (None, "192.0.2.8/30", 4),
        ("2001:db8:9::/125", "2001:db8:8::/126", 6),
    ],
)
def test_no_two_sessions_share_addresses_and_a_client_port(
    clients: str | None, servers: str | None, version: int
) -> None:
    tried = plan(clients, servers, sessions=4000)
    seen: set[tuple[str, str, int]] = set()
    for session in range(4000):
        server, client = tried.pair(session, version=version)
        for text, given in ((server, servers), (client, clients)):
            assert given is None or ipaddress.ip_address(text) in ipaddress.ip_network(given)
        ports = tried.client_ports(session, [40_000, 1030], version=version)
        assert len(set(ports)) == 2
        seen |= {(server, client, port) for port in ports}
    assert len(seen) == 2 * 4000


def test_every_pair_is_taken_before_one_comes_again() -> None:
    tried = plan("10.0.0.0/29", "192.0.2.0/29", sessions=100)
    pairs = [tried.pair(session, version=4) for session in range(37)]
    assert len(set(pairs[:36])) == 36
    assert pairs[36] == pairs[0]
    assert (
        len({server for server, _ in pairs[:6]}) == 6
    )  # and sessions that follow each other have other servers


def test_ports_are_those_of_the_model_where_there_is_an_address_for_each_session() -> None:
    assert plan("10.0.0.0/16", None).client_ports(9, [1030, 40_000], version=4) == [1030, 40_000]


def test_without_ranges_addresses_are_those_of_documentation() -> None:
    tried = plan(None, None, sessions=PAIRS + 5)
    assert tried.pair(1234, version=4) == documentation_pair(1234)
    assert tried.pair(1234, version=6) == documentation_pair(1234, ipv6=True)
    assert tried.client_ports(PAIRS + 1, [40_000], version=4) != tried.client_ports(
        1, [40_000], version=4
    )


def test_a_range_without_room_is_refused() -> None:
    plan("10.0.0.0/30", "192.0.2.1/32", sessions=2 * 15_873).check(4)
    with pytest.raises(GenerationError, match="give a larger range"):
        plan("10.0.0.0/30", "192.0.2.1/32", sessions=2 * 15_873 + 1).check(4)


def test_more_flows_than_planned_are_refused_where_addresses_come_again() -> None:
    tried = plan("10.0.0.0/30", "192.0.2.1/32", sessions=5)
    assert tried.client_ports(1, [40_000, 40_001, 40_002], version=4) == [40_000, 40_001, 40_002]
    with pytest.raises(GenerationError, match="3 flows"):
        tried.client_ports(2, [40_000, 40_001, 40_002], version=4)


@pytest.mark.parametrize(
    ("other", "overlaps"),
    [
        (("10.0.0.0/16", "192.0.2.0/28"), False),  # the same: sessions differ by their number
        (("10.0.1.0/24", "192.0.2.0/28"), True),
        (("10.0.1.0/24", "192.0.2.16/28"), False),
        (("10.1.0.0/16", "192.0.2.0/28"), False),
        ((None, None), False),
    ],
)
def test_ranges_that_overlap_in_part_are_found(
    other: tuple[str | None, str | None], *, overlaps: bool
) -> None:
    assert plan("10.0.0.0/16", "192.0.2.0/28").overlaps(plan(*other)) is overlaps
