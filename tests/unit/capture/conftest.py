"""Captures made byte by byte, so that what is read does not depend on what we write."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from trafficgen import Inspection, inspect

ETHERNET = 1
CLIENT, SERVER = "198.51.100.2", "192.0.2.1"
CLIENT6, SERVER6 = "2001:db8::2", "2001:db8::1"


def udp(payload: bytes = b"x" * 40, *, ports: tuple[int, int] = (5004, 40_000)) -> bytes:
    return struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload


def tcp(
    payload: bytes = b"",
    *,
    ports: tuple[int, int] = (40_000, 554),
    sequence: int = 0,
    flags: int = 0x18,
    window: int = 1000,
    options: bytes = b"",
) -> bytes:
    offset = (20 + len(options)) // 4 << 4
    return (
        struct.pack(">HHIIBBHHH", *ports, sequence, 1, offset, flags, window, 0, 0)
        + options
        + payload
    )


def ipv4(
    upper: bytes,
    *,
    ends: tuple[str, str] = (SERVER, CLIENT),
    protocol: int = 17,
    options: bytes = b"",
    fragment: int = 0,
    more: bool = False,
    identification: int = 7,
    total: int | None = None,
) -> bytes:
    """`fragment` is the offset in bytes."""
    head = 20 + len(options)
    field = fragment // 8 | (0x2000 if more else 0)
    total = head + len(upper) if total is None else total
    fixed = struct.pack(
        ">BBHHHBBH", 0x40 | head // 4, 0, total, identification, field, 64, protocol, 0
    )
    return fixed + b"".join(ipaddress.ip_address(end).packed for end in ends) + options + upper


def ipv6(upper: bytes, *, ends: tuple[str, str] = (SERVER6, CLIENT6), following: int = 17) -> bytes:
    fixed = struct.pack(">IHBB", 6 << 28, len(upper), following, 64)
    return fixed + b"".join(ipaddress.ip_address(end).packed for end in ends) + upper


def ethernet(
    network: bytes, *, kind: int | None = None, tags: Iterable[tuple[int, int]] = ()
) -> bytes:
    kind = kind or (0x0800 if network[0] >> 4 == 4 else 0x86DD)
    return (
        bytes(12)
        + b"".join(struct.pack(">HH", *tag) for tag in tags)
        + struct.pack(">H", kind)
        + network
    )


def rtp(
    sequence: int, timestamp: int, *, ssrc: int = 7, payload_type: int = 96, marker: bool = False
) -> bytes:
    second = payload_type | (0x80 if marker else 0)
    return struct.pack(
        ">BBHII", 0x80, second, sequence & 0xFFFF, timestamp & 0xFFFFFFFF, ssrc
    ) + bytes(100)


@dataclass(frozen=True)
class Packet:
    """A frame at a time; `length` is the original one where the snapshot length cut the frame."""

    time_ns: int
    frame: bytes
    length: int | None = None


START_NS = 1_700_000_000_000_000_000


def packets(frames: Iterable[bytes], *, every_ns: int = 1_000_000) -> list[Packet]:
    return [Packet(START_NS + index * every_ns, frame) for index, frame in enumerate(frames)]


def pcap(
    content: Iterable[Packet], *, order: str = "<", magic: int = 0xA1B2C3D4, link: int = ETHERNET
) -> bytes:
    """A classic file; `magic` decides on nanoseconds and on the longer records of the modified
    variant.
    """
    unit_ns = 1 if magic == 0xA1B23C4D else 1000
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262_144, link)]
    for one in content:
        second, rest = divmod(one.time_ns, 1_000_000_000)
        length = len(one.frame) if one.length is None else one.length
        parts.append(struct.pack(order + "IIII", second, rest // unit_ns, len(one.frame), length))
        parts.append(bytes(8) if magic == 0xA1B2CD34 else b"")
        parts.append(one.frame)
    return b"".join(parts)


def block(kind: int, body: bytes, *, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def section(*, order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order=order)


def option(code: int, value: bytes, *, order: str = "<") -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def interface(
    *, order: str = "<", link: int = ETHERNET, snap: int = 0, options: bytes = b""
) -> bytes:
    return block(1, struct.pack(order + "HHI", link, 0, snap) + options, order=order)


def enhanced(
    units: int,
    frame: bytes,
    *,
    order: str = "<",
    at: int = 0,
    length: int | None = None,
    options: bytes = b"",
) -> bytes:
    length = len(frame) if length is None else length
    head = struct.pack(order + "IIIII", at, units >> 32, units & 0xFFFFFFFF, len(frame), length)
    return block(6, head + frame + bytes(-len(frame) % 4) + options, order=order)


def simple(frame: bytes, *, order: str = "<", length: int | None = None) -> bytes:
    return block(
        3, struct.pack(order + "I", len(frame) if length is None else length) + frame, order=order
    )


def obsolete(units: int, frame: bytes, *, order: str = "<", at: int = 0) -> bytes:
    head = struct.pack(
        order + "HHIIII", at, 0, units >> 32, units & 0xFFFFFFFF, len(frame), len(frame)
    )
    return block(2, head + frame, order=order)


_BUILDERS = (
    *(udp, tcp, ipv4, ipv6, ethernet, rtp, packets, pcap),
    *(block, section, option, interface, enhanced, simple, obsolete),
)


@pytest.fixture(scope="session")
def made() -> SimpleNamespace:
    """The builders of this file, by name."""
    constants = {"Packet": Packet, "START_NS": START_NS, "CLIENT": CLIENT, "SERVER": SERVER}
    return SimpleNamespace(**{builder.__name__: builder for builder in _BUILDERS}, **constants)


Inspect = Callable[..., Inspection]


@pytest.fixture
def inspect_bytes(tmp_path: Path) -> Inspect:
    """Return a function that inspects files with the given contents, as one capture."""

    def run(*contents: bytes, suffix: str = ".pcap", **options: object) -> Inspection:
        paths = []
        for index, content in enumerate(contents):
            paths.append(tmp_path / f"made{index}{suffix}")
            paths[-1].write_bytes(content)
        return inspect(paths, **options)  # type: ignore[arg-type]

    return run
