"""What the first packets of a connection show: QUIC, TLS, HTTP and DNS, and names of servers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import trafficgen
from trafficgen import Inspection
from trafficgen.cli.inspect import _render

Inspect = Callable[..., Inspection]
_NAME = "video.example.com"
_QUIC = bytes([0xC3, 0, 0, 0, 1, 8]) + bytes(60)


def _client_hello(name: str, *, padding: int = 0) -> bytes:
    """A ClientHello whose name comes after so many bytes of another extension."""
    entry = b"\0" + struct.pack(">H", len(name)) + name.encode()
    names = struct.pack(">H", len(entry)) + entry
    extensions = struct.pack(">HH", 21, padding) + bytes(padding)
    extensions += struct.pack(">HH", 0, len(names)) + names
    body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\1" + b"\1\0"
    body += struct.pack(">H", len(extensions)) + extensions
    handshake = b"\1" + len(body).to_bytes(3, "big") + body
    return b"\x16\3\1" + struct.pack(">H", len(handshake)) + handshake


def _answer(name: str, address: bytes) -> bytes:
    question = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    question += b"\0\0\1\0\1"
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + address
    return struct.pack(">HHHHHH", 7, 0x8180, 1, 1, 0, 0) + question + record


def _request(host: str) -> bytes:
    return f"GET /clip HTTP/1.1\r\nAccept: */*\r\nHost: {host}\r\n\r\n".encode()


class _Sender:
    """Frames of one connection, from the client."""

    def __init__(self, made: SimpleNamespace, port: int) -> None:
        self._made, self._ports, self._sequence = made, (50_000, port), 2**32 - 100

    def tcp(self, *payloads: bytes) -> list[bytes]:
        frames = []
        for payload in payloads:
            segment = self._made.tcp(payload, ports=self._ports, sequence=self._sequence)
            frames.append(self._frame(segment, protocol=6))
            self._sequence = (self._sequence + len(payload)) % 2**32
        return frames

    def udp(self, payload: bytes) -> list[bytes]:
        return [self._frame(self._made.udp(payload, ports=self._ports), protocol=17)]

    def _frame(self, upper: bytes, *, protocol: int) -> bytes:
        ends = (self._made.CLIENT, self._made.SERVER)
        return bytes(self._made.ethernet(self._made.ipv4(upper, protocol=protocol, ends=ends)))


def _only(found: Inspection) -> tuple[object, object, str]:
    (flow,) = found.describe_flows()
    return flow["application"], flow["name"], found.sessions[0].kind


@pytest.mark.parametrize(
    ("port", "payloads", "expected"),
    [
        (443, [_client_hello(_NAME)], ("tls", _NAME, "http")),
        (443, [_client_hello(_NAME, padding=1700)[:1400]], ("tls", None, "http")),
        (5000, [_request(f"{_NAME}:5000")], ("http", _NAME, "http")),
        (80, [_request("192.0.2.7")], ("http", None, "http")),
        (80, [_request("evil\x1b[31m\u202e.example")], ("http", None, "http")),
        (443, [b"\0\1\2\3"], (None, None, "http")),
    ],
)
def test_tls_and_http_name_the_server_over_tcp(
    made: SimpleNamespace,
    inspect_bytes: Inspect,
    port: int,
    payloads: list[bytes],
    expected: tuple[object, object, str],
) -> None:
    frames = _Sender(made, port).tcp(*payloads)
    assert _only(inspect_bytes(made.pcap(made.packets(frames)))) == expected


def test_a_name_in_the_second_segment_is_found(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    hello = _client_hello(_NAME, padding=1700)
    frames = _Sender(made, 443).tcp(hello[:1400], hello[1400:])
    assert _only(inspect_bytes(made.pcap(made.packets(frames))))[1] == _NAME


@pytest.mark.parametrize(
    ("port", "payload", "expected"),
    [
        (443, _QUIC, ("quic", None, "quic")),
        (4433, _QUIC, ("quic", None, "quic")),
        (443, b"\x16\xfe\xfd" + bytes(60), ("dtls", None, "udp")),
        (443, b"\0\1\0\0\x21\x12\xa4\x42" + bytes(12), ("stun", None, "udp")),
        # Headers of a connection that had begun show nothing: the port decides.
        (443, bytes([0x41]) + bytes(60), (None, None, "quic")),
        (4433, bytes([0x41]) + bytes(60), (None, None, "udp")),
    ],
)
def test_udp_is_quic_by_its_long_header(
    made: SimpleNamespace,
    inspect_bytes: Inspect,
    port: int,
    payload: bytes,
    expected: tuple[object, object, str],
) -> None:
    frames = _Sender(made, port).udp(payload)
    assert _only(inspect_bytes(made.pcap(made.packets(frames)))) == expected


def _dns_then_quic_and_tcp(made: SimpleNamespace) -> bytes:
    answer = made.udp(_answer(_NAME, bytes([192, 0, 2, 1])), ports=(53, 40_000))
    frames = [made.ethernet(made.ipv4(answer, ends=("192.0.2.53", made.CLIENT)))]
    frames += 2 * _Sender(made, 443).udp(_QUIC) + _Sender(made, 443).tcp(b"x" * 900)
    return bytes(made.pcap(made.packets(frames)))


def test_dns_names_later_connections_to_its_addresses(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    found = inspect_bytes(_dns_then_quic_and_tcp(made))
    assert [
        (flow["protocol"], flow["server_port"], flow["application"], flow["name"])
        for flow in found.describe_flows()
    ] == [("tcp", 443, None, _NAME), ("udp", 443, "quic", _NAME), ("udp", 53, "dns", None)]
    assert found.describe_flow(1)["name"] == _NAME


def test_a_session_over_tcp_and_quic_shows_each_flow_as_what_it_is(
    made: SimpleNamespace, inspect_bytes: Inspect, capsys: pytest.CaptureFixture[str]
) -> None:
    found = inspect_bytes(_dns_then_quic_and_tcp(made))
    assert [(session.kind, session.flows) for session in found.sessions] == [
        ("http", (0, 1)),
        ("udp", (2,)),
    ]
    _render(found, found.describe_flows())
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[-1] == "name"
    assert [line.split()[2] for line in lines[2:5]] == ["tls", "quic", "udp"]
    assert lines[3].split()[-1] == _NAME


def test_a_packet_table_has_no_names(made: SimpleNamespace, tmp_path: Path) -> None:
    path, table = tmp_path / "a.pcap", tmp_path / "a.parquet"
    path.write_bytes(_dns_then_quic_and_tcp(made))
    trafficgen.convert(path, table)
    assert {flow["name"] for flow in trafficgen.inspect(table).describe_flows()} == {None}
