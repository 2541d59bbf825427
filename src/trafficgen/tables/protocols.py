"""Protocols as flow tables label them (IANA registry), and addresses for synthetic flows."""

from __future__ import annotations

from typing import Literal

_NAMES = {
    0: "hopopt",
    1: "icmp",
    2: "igmp",
    4: "ipip",
    6: "tcp",
    17: "udp",
    33: "dccp",
    41: "ipv6",
    44: "ipv6-frag",
    46: "rsvp",
    47: "gre",
    50: "esp",
    51: "ah",
    58: "icmpv6",
    59: "ipv6-nonxt",
    88: "eigrp",
    89: "ospf",
    103: "pim",
    108: "ipcomp",
    112: "vrrp",
    115: "l2tp",
    132: "sctp",
    136: "udplite",
    137: "mpls-in-ip",
}


def protocol_name(number: int) -> str:
    """Return the name of an IP protocol, or ``ip-<number>`` for one without."""
    return _NAMES.get(number, f"ip-{number}")


#: Reserved for experiments by RFC 3692: represents protocols whose number is not known.
EXPERIMENTAL_PROTOCOL = 253
NOT_IP = "non-ip"

_NUMBERS = {protocol_name(number): number for number in range(256)}


def protocol_number(name: str) -> int | None:
    """Return the number of an IP protocol: 253 if the name is unknown, None if it is not IP."""
    return None if name == NOT_IP else _NUMBERS.get(name.lower(), EXPERIMENTAL_PROTOCOL)


def smallest_header_bytes(protocol: Literal["udp", "tcp"], *, ip_version: Literal[4, 6]) -> int:
    """Return the IP and transport header without options, bytes (RFC 791, 8200, 768, 9293)."""
    return {4: 20, 6: 40}[ip_version] + {"udp": 8, "tcp": 20}[protocol]


#: Hosts that a /24 has without its network and broadcast address.
HOSTS_IN_RANGE = 254
#: RFC 5737 has two more networks than that of the servers.
_CLIENT_NETWORKS = ("198.51.100", "203.0.113")
#: Pairs of a server and a client.
PAIRS = HOSTS_IN_RANGE * len(_CLIENT_NETWORKS) * HOSTS_IN_RANGE


def documentation_server(number: int = 0, *, ipv6: bool = False) -> str:
    """Return a server's address in 192.0.2.0/24 or 2001:db8:0:1::/64; numbers wrap at 254."""
    host = number % HOSTS_IN_RANGE + 1
    return f"2001:db8:0:1::{host:x}" if ipv6 else f"192.0.2.{host}"


def documentation_client(number: int = 0, *, ipv6: bool = False) -> str:
    """Return a client's address in 198.51.100.0/24 or 2001:db8:0:2::/64; numbers wrap at 254."""
    host = number % HOSTS_IN_RANGE + 1
    return f"2001:db8:0:2::{host:x}" if ipv6 else f"198.51.100.{host}"


def documentation_pair(number: int, *, ipv6: bool = False) -> tuple[str, str]:
    """Return addresses of a server and a client, which repeat after :data:`PAIRS` numbers."""
    clients = HOSTS_IN_RANGE * len(_CLIENT_NETWORKS)
    host, place = number // clients % HOSTS_IN_RANGE + 1, number % clients
    if ipv6:
        return f"2001:db8::{host:x}", f"2001:db8:1::{place + 1:x}"
    return (
        f"192.0.2.{host}",
        f"{_CLIENT_NETWORKS[place // HOSTS_IN_RANGE]}.{place % HOSTS_IN_RANGE + 1}",
    )
