"""Addresses that no real host has, for synthetic flows: the documentation ranges of RFC 5737 and RFC 3849."""

from __future__ import annotations

#: Hosts that a /24 has without its network and broadcast address.
HOSTS_IN_RANGE = 254


def documentation_server(number: int = 0, *, ipv6: bool = False) -> str:
    """Return a server's address: 192.0.2.0/24, or 2001:db8:0:1::/64; ``number`` starts at 0 and wraps at 254."""
    host = number % HOSTS_IN_RANGE + 1
    return f"2001:db8:0:1::{host:x}" if ipv6 else f"192.0.2.{host}"


def documentation_client(number: int = 0, *, ipv6: bool = False) -> str:
    """Return a client's address: 198.51.100.0/24, or 2001:db8:0:2::/64; ``number`` starts at 0 and wraps at 254."""
    host = number % HOSTS_IN_RANGE + 1
    return f"2001:db8:0:2::{host:x}" if ipv6 else f"198.51.100.{host}"
