"""Hostile text in every text field of a capture, through every command and to every target.

Of what a capture says only names of hosts are shown, so that none of the texts here may reach
anything that is printed or written. A packet table in Parquet keeps RTSP messages, as data.
"""

from __future__ import annotations

import struct
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Command
from tests.unit.capture import conftest as made

import trafficgen
from trafficgen.export.targets import TARGETS

pytestmark = pytest.mark.filterwarnings("ignore::trafficgen.errors.TrafficgenWarning")

#: Each has the word that is looked for.
TEXTS = (
    "precious\r\nAll files: `owned`\r\n.example",
    "precious\x1b[31m\x1b]0;title\x07.example",
    "precious\u202egnp\u2066.example",
    "precious`touch owned`$(touch owned).example",
    "precious<img src=x onerror=c>.example",
    "![precious](https://precious.example/i)",
    "precious\x00\x9b\x85.example",
    "precious" * 7_500,
)
#: Those with which a fit is drawn, which takes long.
DRAWN = (4,)
_HOST = "video.example.com"
#: Packets of a reassembled message are larger than those of an interface.
_SPLIT = ("--set", "oversize=split")


def _client_hello(name: bytes) -> bytes:
    entry = b"\0" + struct.pack(">H", len(name)) + name
    names = struct.pack(">H", len(entry)) + entry
    extensions = struct.pack(">HH", 0, len(names)) + names
    body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\1" + b"\1\0"
    body += struct.pack(">H", len(extensions)) + extensions
    handshake = b"\1" + len(body).to_bytes(3, "big") + body
    return b"\x16\3\1" + struct.pack(">H", len(handshake)) + handshake


def _dns_answer(name: bytes) -> bytes:
    labels = [name[at : at + 63] for at in range(0, min(len(name), 1000), 63)]
    question = b"".join(bytes([len(label)]) + label for label in labels) + b"\0\0\1\0\1"
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + bytes((192, 0, 2, 1))
    return struct.pack(">HHHHHH", 7, 0x8180, 1, 1, 0, 0) + question + record


def _rtcp(text: bytes) -> bytes:
    """A report of the receiver, and a description of the source with all of its texts."""
    items = b"".join(bytes([kind, len(text[:200])]) + text[:200] for kind in range(1, 9))
    items += bytes(4 - len(items) % 4)
    described = struct.pack(">BBHI", 0x81, 202, len(items) // 4 + 1, 7) + items
    return struct.pack(">BBHI", 0x80, 201, 1, 7) + described


def _rtsp(text: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield messages, and whether they are the client's."""
    sdp = b"v=0\r\ns=%s\r\ni=%s\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 %s/90000\r\na=control:%s\r\n"
    sdp %= text, text, text, text
    described = b"RTSP/1.0 200 %s\r\nCSeq: 1\r\nServer: %s\r\nContent-Length: %d\r\n\r\n%s"
    transport = b"RTP/AVP;unicast;client_port=6000-6001;%sserver_port=7000-7001"
    names = b"CSeq: 2\r\nSession: %s\r\nUser-Agent: %s\r\nTransport: " % (text, text)
    yield described % (text, text, len(sdp), sdp), False
    yield (
        b"SETUP rtsp://%s/%s RTSP/1.0\r\n%s%s\r\n\r\n" % (text, text, names, transport % b""),
        True,
    )
    yield b"RTSP/1.0 200 OK\r\n%s%s\r\n\r\n" % (names, transport % b""), False
    yield b"PLAY rtsp://%s/%s RTSP/1.0\r\nCSeq: 3\r\n\r\n" % (text, text), True


def _frames(number: int, text: bytes) -> Iterator[bytes]:
    """Yield a client's frames: names, signalling and media, all with the text."""
    client = f"198.51.100.{number + 2}"

    def frame(upper: bytes, protocol: int, *, up: bool) -> bytes:
        ends = (client, made.SERVER) if up else (made.SERVER, client)
        return made.ethernet(made.ipv4(upper, protocol=protocol, ends=ends))

    def segments(data: bytes, port: int, *, up: bool, begin: int) -> Iterator[bytes]:
        ports = (40_000, port) if up else (port, 40_000)
        for at in range(0, len(data), 1400):
            part = made.tcp(data[at : at + 1400], ports=ports, sequence=begin + at)
            yield frame(part, 6, up=up)

    yield frame(made.udp(_dns_answer(text), ports=(53, 40_053)), 17, up=False)
    yield from segments(_client_hello(text[:16_000]), 443, up=True, begin=1)
    request = b"GET /%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n\r\n" % (text, text, text)
    yield from segments(request, 80, up=True, begin=1)
    place = {True: 1, False: 1}
    for message, up in _rtsp(text):
        yield from segments(message, 554, up=up, begin=place[up])
        place[up] += len(message)
    for index in range(300):
        media = made.rtp(index, index * 3000, ssrc=7 + number)
        yield frame(made.udp(media, ports=(7000, 6000)), 17, up=False)
        if index % 50 == 0:
            yield frame(made.udp(_rtcp(text), ports=(7001, 6001)), 17, up=False)


def _names_of(text: bytes) -> bytes:
    record = struct.pack(">4B", 192, 0, 2, 1) + text + b"\0"
    padded = record + bytes(-len(record) % 4)
    return made.block(4, struct.pack("<HH", 1, len(record)) + padded + bytes(4))


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture with every text in every field that has one, and one name that is a host's."""
    parts = []
    for number, text in enumerate(one.encode() for one in TEXTS):
        options = b"".join(made.option(code, text) for code in (1, 2, 3, 12, 15)) + bytes(4)
        head = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + options
        parts += [made.block(0x0A0D0D0A, head), made.interface(options=options), _names_of(text)]
        units = (made.START_NS + number * 10**10) // 1000
        comment = made.option(1, text) + bytes(4)
        for index, frame in enumerate(_frames(number, text)):
            parts.append(made.enhanced(units + index * 10_000, frame, options=comment))
    hello = made.tcp(_client_hello(_HOST.encode()), ports=(40_001, 443), sequence=1)
    ends = ("198.51.100.2", made.SERVER)
    named = made.ethernet(made.ipv4(hello, protocol=6, ends=ends))
    parts.append(made.enhanced(made.START_NS // 1000 + 10**8, named))
    path = tmp_path_factory.mktemp("capture") / "hostile.pcapng"
    path.write_bytes(b"".join(parts))
    return path


def _assert_unseen(command: Command, folder: Path, *arguments: str) -> str:
    """Run a command, which must succeed; return what it said."""
    before = set(folder.rglob("*"))
    result = command(*arguments)
    assert result.code == 0, result.err
    for line in (result.out + result.err).split("\n"):
        assert line.isprintable()
    new = [path for path in set(folder.rglob("*")) - before if path.is_file()]
    written = [path for path in new if path.suffix != ".parquet"]
    for text in (
        result.out,
        result.err,
        *(path.read_bytes().decode("latin-1") for path in written),
    ):
        assert "precious" not in text.lower(), arguments
        assert "onerror" not in text, arguments
    return result.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "{0}", "--flows", "0"),
        ("inspect", "{0}", "--json"),
        *(("convert", "{0}", "-o", f"table{ending}") for ending in (".csv", ".parquet", ".pcapng")),
        ("compare", "{0}", "{0}", "--all", "--report", "compared.html", "--interactive"),
        ("compare", "{0}", "{0}", "--json"),
    ],
)
def test_no_text_of_a_capture_is_shown(
    command: Command, capture: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    said = _assert_unseen(command, tmp_path, *(one.format(capture) for one in arguments))
    if arguments[0] == "inspect":
        assert _HOST in said


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_no_text_of_a_capture_reaches_a_model(
    command: Command, capture: Path, tmp_path: Path, number: int
) -> None:
    flows = trafficgen.inspect(capture).describe_flows()
    media = [flow["session"] for flow in flows if flow["server_port"] == 7000]
    assert len(media) == len(TEXTS)
    chosen = ("--session", str(media[number]))
    drawn = ("--report", "fit.html", "--plots", "plots") if number in DRAWN else ()
    _assert_unseen(command, tmp_path, "fit", str(capture), *chosen, "-o", "model.json", *drawn)
    _assert_unseen(command, tmp_path, "models", "show", "model.json")
    _assert_unseen(command, tmp_path, "models", "diff", "model.json", "model.json")
    _assert_unseen(command, tmp_path, "generate", "model.json", "-o", "generated.csv")


@pytest.mark.parametrize("target", TARGETS)
def test_no_text_of_a_capture_reaches_an_export(
    command: Command, capture: Path, tmp_path: Path, target: str
) -> None:
    settings = {"mahimahi": ("--flow", "5"), "tcpreplay": _SPLIT, "trex": _SPLIT}.get(target, ())
    _assert_unseen(
        command, tmp_path, "export", str(capture), "--to", target, "-o", "out", *settings
    )


def test_no_text_of_a_capture_reaches_the_page(capture: Path) -> None:
    pytest.importorskip("starlette")
    with trafficgen.explore(capture, port=0) as page, urllib.request.urlopen(page.url) as answer:
        assert b"precious" not in answer.read().lower()
