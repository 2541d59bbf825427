"""What a capture tells of people and machines, found with dpkt and by hand, so that our own reader
is not the judge.
"""

from __future__ import annotations

import gzip
import ipaddress
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dpkt

#: Words that are planted in blocks of a pcapng file beside its packets, and in a datagram of a name
#: server.
COMMENT = "recorded for Erika Mustermann"
HARDWARE = "Workstation-4711"
CARD_NAME = "wlan-erika"
CARD_ADDRESS = bytes.fromhex("02a1b2c3d4e5")
HOST_NAME = "laptop.mustermann.example"
TLS_SECRET = "CLIENT_RANDOM 00112233445566778899aabbccddeeff"
PACKET_COMMENT = "here she pressed play"
PLANTED = (COMMENT, HARDWARE, CARD_NAME, HOST_NAME, TLS_SECRET, PACKET_COMMENT)
#: The capture is kept under the address of its client and that of its owner's mail.
FILE_NAME = "21.0.0.12 erika@mustermann.example.pcapng"
NAMES = ("21.0.0.12", "erika@mustermann.example")

_TELLING_LINES = re.compile(
    rb"(?im)^(?:host|user-agent|server|session|set-cookie|cookie|referer|content-base|cname"
    rb"|[oisuce]=|a=control)[:\s]*([^\r\n]{6,})"
)
_URIS = re.compile(rb"(?:rtsp|rtspu|http|https)://[^\s\"'<>;,]{3,}")
#: Texts that stand for nobody.
_NOTHING = {b"-- None --", b"http://", b"0 0"}
_PAYLOAD_BYTES = 16


@dataclass
class Secrets:
    """What must not be found outside of a capture.

    Attributes:
        texts: Addresses, names and numbers as they are written.
        octets: Addresses and SSRCs as they stand in frames.
        payloads: Beginnings of payloads.
    """

    texts: set[str] = field(default_factory=set)
    octets: set[bytes] = field(default_factory=set)
    payloads: set[bytes] = field(default_factory=set)

    def found_in(self, content: bytes, *, binary: bool = False) -> list[str]:
        """Return what of it is in some bytes; ``binary`` looks for what stands in frames as
        well.
        """
        lowered = content.lower()
        found = [text for text in sorted(self.texts) if text.lower().encode() in lowered]
        if binary:
            found += [
                octets.hex() for octets in sorted(self.octets | self.payloads) if octets in content
            ]
        return found


def records(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield time, ns, and frame of each record of a classic pcap file."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        for time_s, frame in dpkt.pcap.Reader(stream):
            yield int(time_s * 10**6) * 1000, bytes(frame)


def secrets_of(frames: Iterable[bytes]) -> Secrets:
    """Return what the frames of an Ethernet capture tell."""
    secrets = Secrets()
    for frame in frames:
        ethernet = dpkt.ethernet.Ethernet(frame)
        for card in (ethernet.src, ethernet.dst):
            secrets.texts |= {card.hex(":"), card.hex("-"), card.hex()} if any(card) else set()
        if not isinstance(ethernet.data, dpkt.ip.IP):
            continue
        packet = ethernet.data
        for packed in (packet.src, packet.dst):
            address = ipaddress.ip_address(packed)
            secrets.texts |= {str(address), address.reverse_pointer}
            secrets.octets.add(packed)
        payload = bytes(getattr(packet.data, "data", b""))
        if len(payload) >= _PAYLOAD_BYTES and len(set(payload[:_PAYLOAD_BYTES])) > 4:
            secrets.payloads.add(payload[:_PAYLOAD_BYTES])
        secrets.texts |= set(_telling_texts(payload))
        if (
            isinstance(packet.data, dpkt.udp.UDP)
            and len(payload) > 12
            and payload[0] >> 6 == 2
            and payload[1] < 192
        ):
            ssrc = payload[8:12]
            secrets.octets.add(ssrc)
            secrets.texts |= {str(int.from_bytes(ssrc, "big")), ssrc.hex()}
    return secrets


def _telling_texts(payload: bytes) -> Iterator[str]:
    for found in (*_URIS.findall(payload), *_TELLING_LINES.findall(payload)):
        text = found.strip()
        if text not in _NOTHING and len(text) > 5 and text.isascii():
            yield text.decode()


def telling_pcapng(frames: Iterable[tuple[int, bytes]]) -> bytes:
    """Return a pcapng file with the given frames and everything else that such a file can tell."""
    parts = [
        _block(
            0x0A0D0D0A,
            struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
            + _options((1, COMMENT), (2, HARDWARE), (3, HARDWARE)),
        ),
        _block(
            1,
            struct.pack("<HHI", 1, 0, 0)
            + _options(
                (1, COMMENT), (2, CARD_NAME), (3, CARD_NAME), (6, CARD_ADDRESS), (9, b"\x09")
            ),
        ),
        _block(4, _name_record() + _options((1, COMMENT))),
        _block(10, struct.pack("<II", 0x544C534B, len(TLS_SECRET)) + _padded(TLS_SECRET.encode())),
    ]
    for time_ns, frame in frames:
        head = struct.pack("<IIIII", 0, time_ns >> 32, time_ns & 0xFFFFFFFF, len(frame), len(frame))
        parts.append(_block(6, head + _padded(frame) + _options((1, PACKET_COMMENT))))
    return b"".join(parts)


def _name_record() -> bytes:
    record = bytes([192, 0, 2, 1]) + HOST_NAME.encode() + b"\0"
    return struct.pack("<HH", 1, len(record)) + _padded(record) + bytes(4)


def _options(*options: tuple[int, str | bytes]) -> bytes:
    values = [
        (code, value.encode() if isinstance(value, str) else value) for code, value in options
    ]
    return b"".join(
        struct.pack("<HH", code, len(value)) + _padded(value) for code, value in values
    ) + bytes(4)


def _padded(value: bytes) -> bytes:
    return value + bytes(-len(value) % 4)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length
