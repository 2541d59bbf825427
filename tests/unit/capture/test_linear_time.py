"""Captures of all kinds of contents: eight times as many packets take some eight times as long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from trafficgen.capture.reading import read_capture

Frames = Callable[[SimpleNamespace, int], bytes]


def _datagram(made: SimpleNamespace, number: int, *, flows: int = 1) -> bytes:
    ports = (5004 + number % flows // 50_000, 10_000 + number % flows % 50_000)
    return bytes(made.ethernet(made.ipv4(made.udp(ports=ports))))


def _media(made: SimpleNamespace, number: int, *, ssrcs: int = 1) -> bytes:
    head = b"\x80\x60" + (number & 0xFFFF).to_bytes(2) + (90 * number).to_bytes(4)
    payload = head + (number % ssrcs).to_bytes(4) + bytes(40)
    return bytes(made.ethernet(made.ipv4(made.udp(payload))))


def _segment(made: SimpleNamespace, number: int, *, text: bytes, back: int = 0) -> bytes:
    """Return a piece of a connection to a server of streams; ``back`` are bytes sent again."""
    sequence = number * (len(text) - back)
    upper = made.tcp(text, sequence=sequence % 2**32)
    return bytes(made.ethernet(made.ipv4(upper, protocol=6, ends=("198.51.100.2", "192.0.2.1"))))


def _fragment(made: SimpleNamespace, number: int) -> bytes:
    """Return a fragment of a datagram whose others never come."""
    upper = made.udp(bytes(64))
    return bytes(made.ethernet(made.ipv4(upper, more=True, identification=number & 0xFFFF)))


#: What packets hold -> the packet of a number.
KINDS: dict[str, Frames] = {
    "one flow": _datagram,
    "a flow a packet": lambda made, number: _datagram(made, number, flows=10**6),
    "media": _media,
    "a source a packet": lambda made, number: _media(made, number, ssrcs=10**6),
    "requests": lambda made, number: _segment(
        made, number, text=b"OPTIONS rtsp://a/ RTSP/1.0\r\nCSeq: %d\r\n\r\n" % (number % 10)
    ),
    "a request without end": lambda made, number: _segment(
        made, number, text=b"OPTIONS " + b"a" * 40
    ),
    "HTTP": lambda made, number: _segment(made, number, text=b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "retransmissions": lambda made, number: _segment(made, number, text=b"a" * 40, back=39),
    "gaps": lambda made, number: _segment(made, number, text=b"a" * 40, back=-7),
    "fragments": _fragment,
}
_FEW, _TIMES = 5_000, 8


def _least_cpu_s(path: Path) -> float:
    def measured() -> Iterator[float]:
        for _ in range(3):
            start_s = time.process_time()
            read_capture([path])
            yield time.process_time() - start_s

    return min(measured())


@pytest.mark.filterwarnings("ignore::trafficgen.CaptureWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_time_grows_with_the_length_of_a_capture(
    made: SimpleNamespace, tmp_path: Path, kind: str
) -> None:
    """A square would take 64 times as long; what is there for each file is left out."""
    taken_s = []
    for count in (1, _FEW, _FEW * _TIMES):
        path = tmp_path / f"{count}.pcap"
        path.write_bytes(made.pcap(made.packets([KINDS[kind](made, one) for one in range(count)])))
        taken_s.append(_least_cpu_s(path))
    alone_s, few_s, many_s = taken_s
    assert many_s - alone_s < 3 * _TIMES * max(few_s - alone_s, 1e-3)
