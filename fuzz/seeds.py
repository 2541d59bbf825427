"""Make the seeds of the fuzz targets: small pieces of captures, and rare cases."""

from __future__ import annotations

import gzip
import json
import lzma
import struct
from collections.abc import Iterator
from pathlib import Path

SHIPPED = ("examples/captures", "tests/golden/trex_stateless")
_MOST_BYTES = 6000
_OPTIONS = (0, 1 | 4 | 8, 2 | 8 | 16, 5 << 5 | 4)
_LINK_TYPES = (0, 1, 9, 12, 14, 50, 51, 101, 104, 108, 113, 204, 228, 229, 276, 147)

Frame = tuple[int, bytes]
"""Link type and bytes."""


def write_seeds(corpus: Path, root: Path, more: list[Path]) -> None:
    """Write the seeds of each target into a folder of its name."""
    captures = [
        path
        for folder in (*(root / name for name in SHIPPED), *more)
        for path in sorted(folder.rglob("*"))
    ]
    pieces = [
        piece for path in captures if path.is_file() and (piece := _beginning(path)) is not None
    ]
    frames = [*_made_frames(), *(frame for piece in pieces for frame in _frames(piece)[:40])]
    made = [_pcap(frames[:12]), _pcapng(frames[:12]), _pcapng(frames[:12], order=">")]
    made += [
        gzip.compress(made[0], mtime=0),
        lzma.compress(made[1]),
        gzip.compress(made[0][:60], mtime=0) * 2,
    ]
    _write(
        corpus / "ingest",
        (bytes([option]) + data for data in (*made, *pieces) for option in _OPTIONS),
    )
    known = [(link, data) for link, data in frames if link in _LINK_TYPES]
    _write(corpus / "frames", (bytes([_LINK_TYPES.index(link), 0]) + data for link, data in known))
    _write(corpus / "signalling", _conversations(frames))
    _write(corpus / "writer", (bytes(range(first, first + 200)) for first in range(0, 56, 4)))
    _write(corpus / "scenario", (json.dumps(one).encode() for one in _scenarios()))


def _write(folder: Path, seeds: Iterator[bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (folder / f"seed-{number:04}").write_bytes(seed)


def _beginning(path: Path) -> bytes | None:
    """Return the first records of a capture, unpacked; None if it is not understood."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            head = stream.read(4 * _MOST_BYTES)
    except OSError:
        return None
    if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        at = 24
        while at + 16 <= len(head) and at < _MOST_BYTES:
            at += 16 + struct.unpack_from("<I", head, at + 8)[0]
        return head[:at]
    return (
        head[:_MOST_BYTES]
        if head[:4] in (b"\x0a\x0d\x0d\x0a", b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d")
        else None
    )


def _frames(piece: bytes) -> list[Frame]:
    if len(piece) < 24 or piece[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        return []
    link, at, found = struct.unpack_from("<I", piece, 20)[0] & 0xFFFF, 24, []
    while at + 16 <= len(piece):
        length = struct.unpack_from("<I", piece, at + 8)[0]
        found.append((link, piece[at + 16 : at + 16 + length]))
        at += 16 + length
    return found


def _pcap(frames: list[Frame]) -> bytes:
    records = b"".join(
        struct.pack("<IIII", 1_700_000_000, 1000 * number, len(data), len(data)) + data
        for number, (_, data) in enumerate(frames)
    )
    return struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, frames[0][0]) + records


def _pcapng(frames: list[Frame], order: str = "<") -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = 12 + len(body)
        return struct.pack(order + "II", kind, length) + body + struct.pack(order + "I", length)

    options = struct.pack(order + "HHB3xHHqHH", 9, 1, 9, 14, 8, 5, 0, 0)
    blocks = [block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    blocks += [block(1, struct.pack(order + "HHI", link, 0, 0) + options) for link in (1, 101)]
    for number, (_, data) in enumerate(frames):
        blocks.append(
            block(6, struct.pack(order + "IIIII", 0, 0, number, len(data), len(data)) + data)
        )
    _, data = frames[0]
    blocks.append(block(3, struct.pack(order + "I", len(data)) + data))
    blocks.append(block(2, struct.pack(order + "HHIIII", 1, 0, 0, 9, len(data), len(data)) + data))
    return b"".join([*blocks, block(0xBAD, b"custom")])


def _made_frames() -> list[Frame]:
    """Return frames of every link layer, tunnel and extension that is decoded."""
    rtp = struct.pack(">BBHII", 0x80, 96, 7, 9000, 0xDEADBEEF) + bytes(20)
    udp = _udp(rtp, 5004)
    inner = _ipv4(udp)
    ethernet = bytes(12) + b"\x08\x00" + inner
    gre = struct.pack(">HHII", 0x3000, 0x6558, 1, 2) + ethernet
    erspan = struct.pack(">HHIQ", 0x1000, 0x88BE, 1, 2) + ethernet
    vxlan = _udp(b"\x08" + bytes(7) + ethernet, 4789)
    geneve = _udp(b"\x01\x00\x65\x58" + bytes(4) + bytes(4) + ethernet, 6081)
    ipv6 = struct.pack(">IHBB", 6 << 28, 16 + len(udp), 0, 64) + bytes(32)
    ipv6 += b"\x2c\x00" + bytes(6) + b"\x11\x00\x00\x01\x00\x00\x00\x05" + udp
    teredo = _udp(b"\x00\x01\x00\x00" + bytes(9) + bytes(8) + ipv6, 3544)
    mpls = b"\x88\x47\x00\x01\x00\x40\x00\x02\x01\x40"
    ip = [
        inner,
        ipv6,
        *(
            _ipv4(data, protocol)
            for data, protocol in (
                (gre, 47),
                (erspan, 47),
                (vxlan, 17),
                (geneve, 17),
                (teredo, 17),
                (inner, 4),
                (ipv6, 41),
                (mpls[2:] + inner, 137),
            )
        ),
    ]
    frames = [
        (1, bytes(12) + (b"\x86\xdd" if data[0] >> 4 == 6 else b"\x08\x00") + data) for data in ip
    ]
    frames += [(1, bytes(12) + b"\x81\x00\x00\x05\x88\xa8\x00\x06" + mpls + inner)]
    frames += [
        (1, bytes(12) + mpls + bytes(4) + ethernet),
        (1, bytes(12) + b"\x00\x40\xaa\xaa\x03\0\0\0\x08\0" + inner),
    ]
    frames += [
        (1, bytes(12) + b"\x88\x64" + bytes(6) + b"\x00\x21" + inner),
        (0, b"\x02\0\0\0" + inner),
    ]
    frames += [
        (9, b"\xff\x03\x00\x21" + inner),
        (50, b"\x21" + inner),
        (51, bytes(6) + b"\x00\x57" + ipv6),
    ]
    frames += [
        (101, inner),
        (228, inner),
        (229, ipv6),
        (12, inner),
        (14, ipv6),
        (104, b"\x0f\0\x08\0" + inner),
    ]
    frames += [
        (108, b"\0\0\0\x1e" + ipv6),
        (113, bytes(14) + b"\x08\0" + inner),
        (204, b"\x01\x00\x21" + inner),
    ]
    return [
        *frames,
        (276, b"\x86\xdd" + bytes(18) + ipv6),
        (1, bytes(12) + b"\x08\x00" + _ipv4(_tcp(b"OPTIONS * RTSP/1.0\r\n\r\n"), 6)),
    ]


def _udp(payload: bytes, port: int) -> bytes:
    return struct.pack(">HHHH", 40_000, port, 8 + len(payload), 0) + payload


def _tcp(payload: bytes) -> bytes:
    return (
        struct.pack(">HHIIBBHHH", 40_000, 554, 1, 1, 0x60, 0x12, 1000, 0, 0)
        + b"\x03\x03\x07\x00"
        + payload
    )


def _ipv4(upper: bytes, protocol: int = 17) -> bytes:
    return (
        struct.pack(
            ">BBHHHBBHII", 0x45, 0, 20 + len(upper), 7, 0, 64, protocol, 0, 0xC0000201, 0xC6336402
        )
        + upper
    )


def _conversations(frames: list[Frame]) -> Iterator[bytes]:
    """Yield payloads as the target `signalling` takes them: two bytes of how, then the payload."""
    play = (
        b"PLAY rtsp://host/clip RTSP/1.0\r\nCSeq: 4\r\nTransport:"
        b" RTP/AVP/TCP;interleaved=0-1\r\n\r\n"
    )
    answer = (
        b"RTSP/1.0 200 OK\r\nCSeq: 4\r\nContent-Length: 38\r\n\r\nm=video 0 RTP/AVP"
        b" 96\r\na=rtpmap:96 H264/"
    )
    media = [
        b"$\x00\x00\x20" + struct.pack(">BBHII", 0x80, 96, number, 90 * number, 5) + bytes(20)
        for number in range(9)
    ]
    reports = struct.pack(">BBH14I", 0x81, 200, 12, *range(13), 9)[:52] + struct.pack(
        ">BBHI", 0x80, 202, 1, 7
    )
    yield _payload(1, play) + _payload(0, answer) + b"".join(_payload(0, one) for one in media)
    yield (
        _payload(1, play[:30])
        + _payload(1, play[30:])
        + _payload(0xA1, play)
        + _payload(0xC1, play + play)
    )
    yield (
        _payload(0, b"".join(media)[:150])
        + _payload(1 | 16, play)
        + _payload(0, b"".join(media)[150:300])
    )
    yield (
        _payload(2, reports)
        + _payload(3, reports[:40])
        + b"".join(_payload(2, one[4:]) for one in media)
    )
    texts = [data for _, data in frames if b"RTSP/1.0" in data]
    for text in texts[:20]:
        at = (
            max(text.find(b"RTSP/1.0 "), 0)
            if text.find(b" rtsp://") < 0
            else text.find(b" rtsp://") - 8
        )
        yield _payload(0, text[at:].lstrip())


def _payload(choice: int, data: bytes) -> bytes:
    shift = next(shift for shift in range(4) if len(data) >> shift < 256)
    padded = data + b"\n" * (-len(data) % (1 << shift))
    return (
        bytes([choice | shift << 2, len(padded) >> shift]) + padded
        if len(padded) >> shift < 256
        else b""
    )


def _scenarios() -> Iterator[dict[str, object]]:
    link = {
        "name": "line",
        "capacity": {"constant": {"rate_bps": 1e6}},
        "delay_s": 0.02,
        "queue": {"packets": 80},
    }
    link |= {
        "loss": None,
        "reorder": {"share": 0.1, "delay_s": 0.01},
        "hold_in_flight": True,
        "overhead_bytes": 14,
    }
    sources = {
        "cbr": {"rate_bps": 2e5, "packet_bytes": 500, "duration_s": None},
        "ping": {},
        "poisson": {"rate_bps": 1e5, "packet_bytes": 500},
        "bulk_tcp": {"bytes": 1000, "tcp": {"congestion_control": "cubic"}, "start_spread_s": 0.5},
        **{
            kind: {}
            for kind in ("chunked", "realvideo10", "realplayer8", "twostream", "wmedia9", "fitted")
        },
    }
    for kind, parameters in sources.items():
        agent = {
            "name": "a",
            "kind": kind,
            "parameters": parameters,
            "start_s": 0.0,
            "awaited": True,
        }
        agent |= {"stop_s": 9.0, "forward": [0], "reverse": []}
        yield {
            "seed": 1,
            "links": [link],
            "agents": [agent],
            "run_on_s": 1.0,
            "end_s": 10.0,
            "most_packets": 1000,
        }
