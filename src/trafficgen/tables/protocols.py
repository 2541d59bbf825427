"""Names and numbers of IP protocols (IANA registry), as flow tables label flows."""

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
