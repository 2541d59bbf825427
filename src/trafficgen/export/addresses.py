"""Addresses and ports of flows to be sent: documentation ranges unless the caller has others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from trafficgen.tables.addresses import documentation_client, documentation_server

_LOWEST_FREE_PORT = 1024
_HIGHEST_PORT = 65535


def with_addresses(
    flows: pa.Table,
    *,
    server: str | None = None,
    client: str | None = None,
    server_port: int | None = None,
    client_port: int | None = None,
) -> pa.Table:
    """Return a flow table whose hosts are documentation addresses or those given.

    Hosts stay apart and IPv4 and IPv6 stay what they are: the k-th server becomes 192.0.2.k or
    2001:db8:0:1::k, the k-th client 198.51.100.k or 2001:db8:0:2::k (RFC 5737, RFC 3849). Where two
    flows would get the same 5-tuple, the later one's client port moves up to the next even free one
    (even as RTP's ports, RFC 3550 section 11). Flows without IP keep what they have.

    Args:
        flows: Flow table.
        server: Address for all servers.
        client: Address for all clients; of the same IP version as ``server``.
        server_port: Server port for all flows that have ports.
        client_port: First client port for all flows that have ports.
    """
    if (server is None) != (client is None):
        ipv6 = ":" in (server or client or "")
        server = server or documentation_server(ipv6=ipv6)
        client = client or documentation_client(ipv6=ipv6)
    servers = _Renaming(documentation_server)
    clients = _Renaming(documentation_client)
    ports = _ClientPorts()
    rows = flows.to_pylist()
    for row in rows:
        if row["protocol"] == "non-ip":
            continue
        row["server"] = server or servers(row["server"])
        row["client"] = client or clients(row["client"])
        if row["server_port"] or row["client_port"]:
            row["server_port"] = row["server_port"] if server_port is None else server_port
            row["client_port"] = row["client_port"] if client_port is None else client_port
            row["client_port"] = ports.free(row)
    return pa.Table.from_pylist(rows, schema=flows.schema)


class _Renaming:
    """New addresses for old ones, numbered in order of appearance within their IP version."""

    def __init__(self, make: Callable[..., str]) -> None:
        self._make = make
        self._known: dict[bool, dict[str, str]] = {False: {}, True: {}}

    def __call__(self, address: str) -> str:
        ipv6 = ":" in address
        known = self._known[ipv6]
        return known.setdefault(address, self._make(len(known), ipv6=ipv6))


class _ClientPorts:
    """Client ports that keep 5-tuples apart."""

    def __init__(self) -> None:
        self._taken: set[tuple[object, ...]] = set()
        # Where the search for a wanted port last ended, so that many flows wanting the same do not
        # search it all again.
        self._reached: dict[tuple[object, ...], int] = {}

    def free(self, row: dict[str, Any]) -> int:
        """Return the first client port from the row's on, by twos, that makes its 5-tuple new."""
        ends = (row["protocol"], row["server"], row["server_port"], row["client"])
        wanted = (*ends, row["client_port"])
        port = self._reached.get(wanted, int(row["client_port"]))
        for _ in range(_HIGHEST_PORT):
            if (*ends, port) not in self._taken:
                self._taken.add((*ends, port))
                self._reached[wanted] = port
                return port
            port = port + 2 if port + 2 <= _HIGHEST_PORT else _LOWEST_FREE_PORT + port % 2
        raise ValueError("more flows between two hosts than they have ports")
