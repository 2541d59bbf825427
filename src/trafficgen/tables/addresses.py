"""Addresses for synthetic flows from the documentation ranges of RFC 5737 and RFC 3849."""

from __future__ import annotations

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
