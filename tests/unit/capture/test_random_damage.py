"""Captures damaged at random: a result with warnings or a `CaptureError`, no other exception, no
panic, no hang.
"""

from __future__ import annotations

import contextlib
import gzip
import lzma
import random
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trafficgen import inspect
from trafficgen.errors import CaptureError

_PLAY = (
    b"PLAY rtsp://host/clip RTSP/1.0\r\nCSeq: 4\r\nTransport: RTP/AVP;client_port=5000-5001\r\n\r\n"
)
#: Far above what one of these takes (a few milliseconds), so that only a hang is slower.
_LONGEST_S = 20.0


def _frames(made: SimpleNamespace) -> list[bytes]:
    interleaved = b"".join(b"$\x00\x00\x70" + made.rtp(index, index * 90) for index in range(3))
    inner = made.ipv4(made.udp(), ends=("10.0.0.1", "10.0.0.2"))
    networks = [
        made.ipv4(made.tcp(_PLAY, sequence=1), protocol=6),
        made.ipv4(
            made.tcp(interleaved, sequence=1, ports=(554, 40_000)),
            protocol=6,
            ends=(made.CLIENT, made.SERVER),
        ),
        made.ipv4(made.tcp(flags=2, options=b"\x03\x03\x07\x00"), protocol=6),
        made.ipv4(made.udp(bytes(100))[:48], more=True),
        made.ipv4(bytes(60), fragment=48),
        made.ipv6(b"\x11\x00" + bytes(6) + made.udp(), following=0),
        made.ipv4(b"\x30\x00\x08\x00" + bytes(8) + inner, protocol=47),
        made.ipv4(made.udp(b"\x08" + bytes(7) + made.ethernet(inner), ports=(50_000, 4789))),
        *(made.ipv4(made.udp(made.rtp(index, index * 90))) for index in range(8)),
    ]
    tagged = made.ethernet(networks[0], tags=[(0x8100, 5), (0x88A8, 6)])
    return [*(made.ethernet(network) for network in networks), tagged]


def _seeds(made: SimpleNamespace) -> list[bytes]:
    frames = _frames(made)
    blocks = (
        made.section() + made.interface(options=made.option(9, b"\x09")) + made.interface(link=101)
    )
    blocks += b"".join(
        made.enhanced(made.START_NS + index, frame) for index, frame in enumerate(frames)
    )
    blocks += (
        made.section(order=">") + made.interface(order=">") + made.simple(frames[0], order=">")
    )
    blocks += made.obsolete(5, frames[1], order=">")
    return [
        made.pcap(made.packets(frames)),
        made.pcap(made.packets(frames), order=">", magic=0xA1B23C4D),
        made.pcap(made.packets(frames), magic=0xA1B2CD34),
        blocks,
    ]


def _damage(seeds: list[bytes], dice: random.Random) -> bytes:
    data = bytearray(dice.choice(seeds))
    for _ in range(dice.choice([1, 1, 2, 5, 20])):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(5):
            case 0:
                data[at : at + 1] = dice.randbytes(1)
            case 1:
                data[at : at + 1] = dice.choice([b"\0", b"\x7f", b"\x80", b"\xff"])
            case 2:
                del data[at : at + dice.randrange(40)]
            case 3:
                other = dice.choice(seeds)
                data[at:] = other[dice.randrange(len(other)) :]
            case _:
                del data[at:]
    return bytes(data)


def _packed(data: bytes, dice: random.Random) -> bytes:
    way = dice.randrange(4)
    if way < 2:
        return data
    packed = bytearray(gzip.compress(data) if way == 2 else lzma.compress(data))
    if dice.random() < 0.7:
        packed[dice.randrange(len(packed))] ^= 1 << dice.randrange(8)
    return bytes(packed)


def _attack(seeds: list[bytes], path: Path, *, seed: int, rounds: int) -> int:
    dice, read = random.Random(seed), 0
    for number in range(rounds):
        path.write_bytes(_packed(_damage(seeds, dice), dice))
        began_s = time.monotonic()
        with contextlib.suppress(CaptureError):
            found = inspect(
                path, decapsulate=dice.random() < 0.5, idle_timeout_s=dice.choice([None, 1e-9, 5.0])
            )
            flows: list[Any] = found.describe_flows()
            assert sum(flow["packets"] for flow in flows) == found.ip_packets
            read += 1
        assert time.monotonic() - began_s < _LONGEST_S, f"round {number}"
    return read


def test_random_damage_is_survived(made: SimpleNamespace, tmp_path: Path) -> None:
    assert _attack(_seeds(made), tmp_path / "damaged", seed=1, rounds=400) > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_much_random_damage_is_survived(made: SimpleNamespace, tmp_path: Path, seed: int) -> None:
    assert _attack(_seeds(made), tmp_path / "damaged", seed=seed, rounds=20_000) > 5000
