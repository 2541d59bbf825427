"""Ways to damage a capture: bits, lengths, records; with and without a look at its structure."""

from __future__ import annotations

import gzip
import lzma
import random
import struct
from pathlib import Path

import pyarrow as pa

#: What lengths, counts and times are set to.
_EXTREMES = (
    0,
    1,
    3,
    15,
    0x7F,
    0xFF,
    0x7FFF,
    0xFFFF,
    262_144,
    262_145,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFC,
    0xFFFF_FFFF,
)
_PCAP = {
    b"\xd4\xc3\xb2\xa1": "<",
    b"\x4d\x3c\xb2\xa1": "<",
    b"\xa1\xb2\xc3\xd4": ">",
    b"\xa1\xb2\x3c\x4d": ">",
}
_PCAPNG = b"\x0a\x0d\x0d\x0a"


def beginning(path: Path, most_bytes: int) -> bytes:
    """Return the unpacked beginning of a capture."""
    with path.open("rb") as stream:
        magic = stream.read(6)
    if magic.startswith(b"\x1f\x8b"):
        with gzip.open(path) as packed:
            return packed.read(most_bytes)
    if magic == b"\xfd7zXZ\x00":
        with lzma.open(path) as packed:
            return packed.read(most_bytes)
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as packed:
            return bytes(packed.read(most_bytes))
    with path.open("rb") as plain:
        return plain.read(most_bytes)


def damaged(data: bytes, dice: random.Random) -> bytes:
    """Return a capture with some damage, perhaps packed and damaged again."""
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        data = dice.choice(_WAYS)(data, dice)
    if dice.random() < 0.9:
        return data
    packed = dice.choice((_gzip, lzma.compress, _zstd))(data)
    return _flip(packed, dice) if dice.random() < 0.5 else packed


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0)


def _zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True)) or b"\x28\xb5\x2f\xfd"


def _flip(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(dice.choice((1, 4, 30))):
        if changed:
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def _cut(data: bytes, dice: random.Random) -> bytes:
    return data[: dice.randrange(len(data) + 1)]


def _swap(data: bytes, dice: random.Random) -> bytes:
    a, b, c, d = sorted(dice.randrange(len(data) + 1) for _ in range(4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _extreme(data: bytes, dice: random.Random) -> bytes:
    """Set a number anywhere to an extreme."""
    if len(data) < 4:
        return data
    at, size = dice.randrange(len(data) - 3), dice.choice((1, 2, 4))
    value = (dice.choice(_EXTREMES) & ((1 << 8 * size) - 1)).to_bytes(
        size, dice.choice(("little", "big"))
    )
    return data[:at] + value + data[at + size :]


def _records(data: bytes) -> tuple[str, list[tuple[int, int]]]:
    """Return the byte order and where the records or blocks begin and end."""
    order, at, found = _PCAP.get(data[:4]), 24, []
    if order is not None:
        while at + 16 <= len(data):
            end = at + 16 + struct.unpack_from(order + "I", data, at + 8)[0]
            if end > len(data):
                break
            found.append((at, end))
            at = end
        return order, found
    order, at = ("<" if data[8:12] == b"\x4d\x3c\x2b\x1a" else ">"), 0
    while data.startswith(_PCAPNG) and at + 12 <= len(data):
        end = at + struct.unpack_from(order + "I", data, at + 4)[0]
        if end <= at or end > len(data):
            break
        found.append((at, end))
        at = end
    return order, found


def _record_field(data: bytes, dice: random.Random) -> bytes:
    """Set a field of a record's header (time, lengths, interface) to an extreme."""
    order, records = _records(data)
    if not records:
        return _extreme(data, dice)
    start, end = dice.choice(records)
    at = start + 4 * dice.randrange(max(1, min(7, (end - start) // 4)))
    value = struct.pack(order + "I", dice.choice(_EXTREMES))
    return data[:at] + value + data[at + 4 :]


def _record_order(data: bytes, dice: random.Random) -> bytes:
    """Repeat, drop or exchange records."""
    _, records = _records(data)
    if len(records) < 2:
        return _swap(data, dice)
    pieces = [data[start:end] for start, end in records]
    one, other = dice.randrange(len(pieces)), dice.randrange(len(pieces))
    match dice.randrange(4):
        case 0:
            pieces[one : one + 1] = [pieces[one]] * dice.choice((2, 2, 100))
        case 1:
            del pieces[min(one, other) : max(one, other)]
        case 2:
            pieces[one], pieces[other] = pieces[other], pieces[one]
        case _:
            dice.shuffle(pieces)
    return data[: records[0][0]] + b"".join(pieces) + data[records[-1][1] :]


def _header_byte(data: bytes, dice: random.Random) -> bytes:
    """Change bytes of packets' headers: EtherTypes, lengths, protocols, ports, flags, RTP fields,
    texts.
    """
    _, records = _records(data)
    changed = bytearray(data)
    for start, end in dice.sample(records, min(len(records), dice.choice((1, 5, 50)))):
        at = start + 16 + dice.randrange(80)
        if at < end:
            changed[at] = dice.choice((0, 1, 0x45, 0x7F, 0x80, 0xFF, dice.randrange(256)))
    return bytes(changed)


_WAYS = (
    _flip,
    _cut,
    _swap,
    _extreme,
    _record_field,
    _record_field,
    _record_order,
    _header_byte,
    _header_byte,
)
