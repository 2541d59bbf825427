"""Protocol numbers of the IP header by the names that flow tables use (IANA, Assigned Internet Protocol Numbers)."""

from __future__ import annotations

import re

#: Reserved for experiments by RFC 3692: stands for protocols whose number is not known.
EXPERIMENTAL_PROTOCOL = 253
NOT_IP = "non-ip"

_NUMBERS = {
    "icmp": 1,
    "igmp": 2,
    "ipip": 4,
    "ipv4": 4,
    "tcp": 6,
    "egp": 8,
    "udp": 17,
    "dccp": 33,
    "ipv6": 41,
    "rsvp": 46,
    "gre": 47,
    "esp": 50,
    "ah": 51,
    "icmpv6": 58,
    "icmp6": 58,
    "ipv6-icmp": 58,
    "eigrp": 88,
    "ospf": 89,
    "pim": 103,
    "vrrp": 112,
    "l2tp": 115,
    "sctp": 132,
    "udplite": 136,
}


def protocol_number(name: str) -> int | None:
    """Return the number of a protocol such as ``"udp"`` or ``"ip-47"``; 253 if unknown, ``None`` if it is not IP."""
    name = name.lower()
    if name == NOT_IP:
        return None
    if name in _NUMBERS:
        return _NUMBERS[name]
    digits = re.search(r"(\d+)$", name)
    if digits and int(digits[1]) <= 255:
        return int(digits[1])
    return EXPERIMENTAL_PROTOCOL
