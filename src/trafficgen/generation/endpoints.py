"""Addresses and ports of generated flows, from the ranges that are reserved for documentation."""

from __future__ import annotations

from dataclasses import dataclass

from trafficgen.models import Stream, Transport

#: RFC 5737: 192.0.2.0/24 for servers, 198.51.100.0/24 and 203.0.113.0/24 for clients; RFC 3849: 2001:db8::/32.
_HOSTS = 254
_CLIENT_NETWORKS = ("198.51.100", "203.0.113")
_PAIRS = _HOSTS * len(_CLIENT_NETWORKS) * _HOSTS
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


def session_endpoints(streams: tuple[Stream, ...], *, session: int) -> tuple[Endpoints, ...]:
    """Return the endpoints of a session's streams; no two flows of a run share a 5-tuple.

    Sessions differ by the pair of client and server address, so that each stays a session of its own to whoever groups
    flows by hosts. When all pairs are taken (after 129,032 sessions), the client ports move on.
    """
    ports = _client_ports(streams)
    stride = max(ports) - min(ports) + 1
    shift = session // _PAIRS * stride
    return tuple(
        Endpoints(
            server=_server(stream.transport, session),
            server_port=stream.transport.server_port or _DEFAULT_SERVER_PORT,
            client=_client(stream.transport, session),
            client_port=port if shift == 0 else _FIRST_PORT + (port + shift) % _PORTS,
        )
        for stream, port in zip(streams, ports, strict=True)
    )


def _client_ports(streams: tuple[Stream, ...]) -> list[int]:
    """Return the model's client ports, the next free one where two streams would share a 5-tuple."""
    taken: list[int] = []
    for stream in streams:
        port = stream.transport.client_port or _DEFAULT_CLIENT_PORT
        while port in taken:
            port = port + 1 if port < 65_535 else _FIRST_PORT
        taken.append(port)
    return taken


def _server(transport: Transport, session: int) -> str:
    host = session // (_HOSTS * len(_CLIENT_NETWORKS)) % _HOSTS + 1
    return f"192.0.2.{host}" if transport.ip_version == 4 else f"2001:db8::{host:x}"


def _client(transport: Transport, session: int) -> str:
    place = session % (_HOSTS * len(_CLIENT_NETWORKS))
    if transport.ip_version == 4:
        return f"{_CLIENT_NETWORKS[place // _HOSTS]}.{place % _HOSTS + 1}"
    return f"2001:db8:1::{place + 1:x}"
