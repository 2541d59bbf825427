"""Addresses and ports of sessions, computed from the number of the session."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import cached_property

from trafficgen.errors import GenerationError
from trafficgen.models import Stream
from trafficgen.tables.protocols import PAIRS, documentation_pair

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Client ports below this one are for sessions whose pair of addresses is in use already; the first
#: session of a pair has its model's ports, or higher ones.
_FIRST_OWN_PORT = 32_768
_FIRST_PORT = 1024
_LAST_PORT = 65_535
_PORTS = 65_536 - _FIRST_PORT
_DEFAULT_SERVER_PORT = 5004
_DEFAULT_CLIENT_PORT = 40_000


@dataclass(frozen=True)
class AddressRange:
    """Hosts of some networks of one IP version, counted from 0."""

    networks: tuple[Network, ...]

    @cached_property
    def hosts(self) -> int:
        """Number of hosts: IPv4 reserves first and last address, IPv6 the first (RFC 4291)."""
        return sum(_hosts(network) for network in self.networks)

    def address(self, number: int) -> str:
        """Return the address of a host, 0 <= number < hosts."""
        for network in self.networks:
            if number < _hosts(network):
                return str(network[number + (network.prefixlen < network.max_prefixlen - 1)])
            number -= _hosts(network)
        raise ValueError(f"there are only {self.hosts} hosts")

    def overlaps(self, other: AddressRange) -> bool:
        """Return whether a host is in both."""
        return any(
            one.version == two.version and one.overlaps(two)
            for one in self.networks
            for two in other.networks
        )


#: Clients and servers that :func:`documentation_pair` uses in turn, by IP version.
DOCUMENTATION = {
    4: (("198.51.100.0/24", "203.0.113.0/24"), ("192.0.2.0/24",)),
    6: (("2001:db8:1::/119",), ("2001:db8::/120",)),
}


@dataclass(frozen=True)
class AddressPlan:
    """Pairs of a client and a server, used in turn; sessions that share one have other ports.

    Attributes:
        clients: Ranges of the clients by IP version; versions without one have addresses reserved
            for documentation.
        servers: Ranges of the servers likewise.
        flows_each: Most flows of a session.
    """

    clients: dict[int, AddressRange]
    servers: dict[int, AddressRange]
    flows_each: int
    sessions: int

    def check(self, version: int) -> None:
        """Raise GenerationError if ranges are too small for the sessions of the workload."""
        pairs = self._pairs[version]
        room = pairs * (1 + (_FIRST_OWN_PORT - _FIRST_PORT) // self.flows_each)
        if room < self.sessions:
            raise GenerationError(
                f"{self.sessions:,} sessions do not fit in {pairs:,} pairs of a client and a server"
                f" with their ports ({room:,} do); give a larger range of clients or servers"
            )

    def pair(self, session: int, *, version: int) -> tuple[str, str]:
        """Return addresses of the server and the client of a session."""
        if not self._is_given(version):
            return documentation_pair(session, ipv6=version == 6)
        clients, servers = self._known_ranges[version]
        turn, client = divmod(session % self._pairs[version], clients.hosts)
        return servers.address((turn + client) % servers.hosts), clients.address(client)

    def client_ports(self, session: int, ports: list[int], *, version: int) -> list[int]:
        """Return the client ports of a session's flows, all different.

        ``ports`` are those of its model, all different too.

        Raises:
            GenerationError: If the session has more flows than planned and its pair is in use.
        """
        if self.sessions <= self._pairs[version]:
            return ports
        before = session // self._pairs[version]
        if before == 0:
            return _own_ports(ports)
        if len(ports) > self.flows_each:
            raise GenerationError(
                f"session {session} has {len(ports)} flows, more than the {self.flows_each} ports"
                " that are left to it; give a larger range of clients or servers"
            )
        first = _FIRST_PORT + (before - 1) * self.flows_each
        return list(range(first, first + len(ports)))

    def overlaps(self, other: AddressPlan) -> bool:
        """Return whether sessions of two plans could share a pair."""
        for version in DOCUMENTATION:
            own, others = self._known_ranges[version], other._known_ranges[version]
            if own != others and all(
                one.overlaps(two) for one, two in zip(own, others, strict=True)
            ):
                return True
        return False

    def _is_given(self, version: int) -> bool:
        return version in self.clients or version in self.servers

    @cached_property
    def _known_ranges(self) -> dict[int, tuple[AddressRange, AddressRange]]:
        known = {}
        for version, names in DOCUMENTATION.items():
            clients, servers = (
                AddressRange(tuple(map(ipaddress.ip_network, each))) for each in names
            )
            known[version] = self.clients.get(version, clients), self.servers.get(version, servers)
        return known

    @cached_property
    def _pairs(self) -> dict[int, int]:
        known = {}
        for version in DOCUMENTATION:
            clients, servers = self._known_ranges[version]
            known[version] = clients.hosts * servers.hosts if self._is_given(version) else PAIRS
        return known


def _hosts(network: Network) -> int:
    kept = 0 if network.prefixlen >= network.max_prefixlen - 1 else 2 if network.version == 4 else 1
    return network.num_addresses - kept


def _own_ports(ports: list[int]) -> list[int]:
    """Return ports above those of later sessions of a pair; lower ones move to the next free."""
    taken = {port for port in ports if port >= _FIRST_OWN_PORT}
    own = []
    for port in ports:
        free = port if port >= _FIRST_OWN_PORT else _FIRST_OWN_PORT + port
        while port < _FIRST_OWN_PORT and free in taken:
            free = free + 1 if free < _LAST_PORT else _FIRST_OWN_PORT
        taken.add(free)
        own.append(free)
    return own


@dataclass(frozen=True)
class Endpoints:
    """The 5-tuple of a flow without its protocol."""

    server: str
    server_port: int
    client: str
    client_port: int


def session_endpoints(
    streams: tuple[Stream, ...], *, session: int, addresses: AddressPlan | None = None
) -> tuple[Endpoints, ...]:
    """Return the endpoints of a session's streams; no two flows of a run share a 5-tuple.

    Without a plan sessions differ by the pair of client and server address, so that tools which
    group flows by hosts keep them apart. After 129,032 sessions, when all pairs are in use, the
    client ports change.
    """
    ports = _client_ports(streams)
    if addresses is not None:
        return _planned_endpoints(streams, ports, session=session, addresses=addresses)
    stride = max(ports) - min(ports) + 1
    shift = session // PAIRS * stride
    endpoints = []
    for stream, port in zip(streams, ports, strict=True):
        server, client = documentation_pair(session, ipv6=stream.transport.ip_version == 6)
        endpoints.append(
            Endpoints(
                server=server,
                server_port=stream.transport.server_port or _DEFAULT_SERVER_PORT,
                client=client,
                client_port=port if shift == 0 else _FIRST_PORT + (port + shift) % _PORTS,
            )
        )
    return tuple(endpoints)


def _planned_endpoints(
    streams: tuple[Stream, ...], ports: list[int], *, session: int, addresses: AddressPlan
) -> tuple[Endpoints, ...]:
    versions = [stream.transport.ip_version for stream in streams]
    planned: dict[int, Endpoints] = {}
    for version in sorted(set(versions)):
        places = [place for place, found in enumerate(versions) if found == version]
        server, client = addresses.pair(session, version=version)
        own = addresses.client_ports(session, [ports[place] for place in places], version=version)
        for place, port in zip(places, own, strict=True):
            server_port = streams[place].transport.server_port or _DEFAULT_SERVER_PORT
            planned[place] = Endpoints(server, server_port, client, port)
    return tuple(planned[place] for place in range(len(streams)))


def _client_ports(streams: tuple[Stream, ...]) -> list[int]:
    """Return the model's client ports, or the next free one if two streams share a 5-tuple."""
    taken: list[int] = []
    for stream in streams:
        port = stream.transport.client_port or _DEFAULT_CLIENT_PORT
        while port in taken:
            port = port + 1 if port < _LAST_PORT else _FIRST_PORT
        taken.append(port)
    return taken
