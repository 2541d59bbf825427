"""Addresses and ports of generated flows, from the ranges that are reserved for documentation."""

from __future__ import annotations

from dataclasses import dataclass

from trafficgen.generation.address_plan import AddressPlan
from trafficgen.models import Stream
from trafficgen.tables.addresses import PAIRS, documentation_pair

_FIRST_PORT = 1024
_PORTS = 65_536 - _FIRST_PORT
_DEFAULT_SERVER_PORT = 5004
_DEFAULT_CLIENT_PORT = 40_000


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

    Without a plan sessions differ by the pair of client and server address, so that each stays a
    session of its own to whoever groups flows by hosts. When all pairs are taken (after 129,032
    sessions), the client ports move on.
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
    """Return the model's client ports, the next free one where two streams would share a
    5-tuple.
    """
    taken: list[int] = []
    for stream in streams:
        port = stream.transport.client_port or _DEFAULT_CLIENT_PORT
        while port in taken:
            port = port + 1 if port < 65_535 else _FIRST_PORT
        taken.append(port)
    return taken
