"""Addresses of the sessions of a workload: computed from the number of the session, never kept."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import cached_property

from trafficgen.errors import GenerationError
from trafficgen.tables.addresses import PAIRS, documentation_pair

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Client ports below this one are for sessions whose pair of addresses was taken before; the first
#: of a pair has its model's ports, or such as are above.
_FIRST_OWN_PORT = 32_768
_FIRST_PORT = 1024
_LAST_PORT = 65_535


@dataclass(frozen=True)
class AddressRange:
    """Hosts of some networks of one IP version, counted from 0.

    Attributes:
        networks: The networks.
    """

    networks: tuple[Network, ...]

    @cached_property
    def hosts(self) -> int:
        """Number of hosts: an IPv4 network keeps its first and last address, an IPv6 one its first
        (RFC 4291).
        """
        return sum(_hosts(network) for network in self.networks)

    def address(self, number: int) -> str:
        """Return the address of a host, 0 <= number < hosts."""
        for network in self.networks:
            if number < _hosts(network):
                return str(
                    network[number + (0 if network.prefixlen >= network.max_prefixlen - 1 else 1)]
                )
            number -= _hosts(network)
        raise ValueError(f"there are only {self.hosts} hosts")

    def overlaps(self, other: AddressRange) -> bool:
        """Return whether a host is in both."""
        return any(
            one.version == two.version and one.overlaps(two)
            for one in self.networks
            for two in other.networks
        )


#: Clients and servers that :func:`~trafficgen.tables.addresses.documentation_pair` takes in turn,
#: by IP version.
DOCUMENTATION = {
    4: (("198.51.100.0/24", "203.0.113.0/24"), ("192.0.2.0/24",)),
    6: (("2001:db8:1::/119",), ("2001:db8::/120",)),
}


@dataclass(frozen=True)
class AddressPlan:
    """Pairs of a client and a server, taken in turn by sessions; no two sessions share a pair and a
    client port.

    Attributes:
        clients: Ranges of the clients by IP version; versions without one have addresses reserved
            for documentation.
        servers: Ranges of the servers likewise.
        flows_each: Flows that a session has at most.
        sessions: Number of sessions of the workload.
    """

    clients: dict[int, AddressRange]
    servers: dict[int, AddressRange]
    flows_each: int
    sessions: int

    def check(self, version: int) -> None:
        """Refuse ranges that are too small for the sessions of the workload.

        Raises:
            GenerationError: If they are.
        """
        pairs = self._pairs(version)
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
        turn, client = divmod(session % self._pairs(version), clients.hosts)
        return servers.address((turn + client) % servers.hosts), clients.address(client)

    def client_ports(self, session: int, ports: list[int], *, version: int) -> list[int]:
        """Return the client ports of a session's flows, all different.

        Args:
            session: Number of the session.
            ports: Those of its model, all different.
            version: IP version.

        Raises:
            GenerationError: If the session has more flows than were planned for and its pair was
                taken before.
        """
        if self.sessions <= self._pairs(version):
            return ports
        before = session // self._pairs(version)
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
        """Return whether sessions of two plans could share a pair although they share no number."""
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

    def _pairs(self, version: int) -> int:
        return self._known_pairs[version]

    @cached_property
    def _known_pairs(self) -> dict[int, int]:
        known = {}
        for version in DOCUMENTATION:
            clients, servers = self._known_ranges[version]
            known[version] = clients.hosts * servers.hosts if self._is_given(version) else PAIRS
        return known


def _hosts(network: Network) -> int:
    kept = 0 if network.prefixlen >= network.max_prefixlen - 1 else 2 if network.version == 4 else 1
    return network.num_addresses - kept


def _own_ports(ports: list[int]) -> list[int]:
    """Return ports above those that later sessions of a pair take; what is below moves up to the
    next free one.
    """
    taken = {port for port in ports if port >= _FIRST_OWN_PORT}
    own = []
    for port in ports:
        free = port if port >= _FIRST_OWN_PORT else _FIRST_OWN_PORT + port
        while port < _FIRST_OWN_PORT and free in taken:
            free = free + 1 if free < _LAST_PORT else _FIRST_OWN_PORT
        taken.add(free)
        own.append(free)
    return own
