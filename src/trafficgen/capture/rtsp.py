"""Parse RTSP messages (RFC 2326, RFC 7826) and the clocks that an SDP names (RFC 8866)."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache

# Untrusted text is read in bounded lengths: one number or name from end to end costs no more.
_REQUEST = re.compile(r"^([A-Z_]{1,32}) (\S{1,4096})")
_RESPONSE = re.compile(r"^RTSP/\S{1,16} (\d{3})")
_RTPMAP = re.compile(r"^a=rtpmap:(\d{1,3}) [^/\s]{1,64}/(\d{1,10})(?!\d)")
_MEDIA = re.compile(r"^m=(\w{1,32}) \d{1,6}(?:/\d{1,6})? \S{1,64} ?(.{0,1024})")
#: Clocks that one description may name; those of real ones are fewer than 30.
_MOST_CLOCKS = 256

#: Clocks of the static payload types (RFC 3551, tables 4 and 5), Hz.
STATIC_CLOCK_HZ = {
    **dict.fromkeys((0, 3, 4, 5, 7, 8, 9, 12, 13, 15, 18), 8000),
    **dict.fromkeys((14, 25, 26, 28, 31, 32, 33, 34), 90_000),
    **dict.fromkeys((10, 11), 44_100),
    **{6: 16_000, 16: 11_025, 17: 22_050},
}


@dataclass(frozen=True)
class MediaClock:
    """A payload type that an SDP describes."""

    media: str
    payload_type: int
    clock_hz: int


@dataclass
class Descriptions:
    """What the session descriptions between two hosts say of the streams that SETUP named.

    A stream on ports that no SETUP named is not described. Where none of the messages names a port
    (a capture that begins after SETUP), every stream between the hosts is.

    Attributes:
        ports: Ports of the Transport headers.
        clocks: Descriptions of the payload types; two media of a session may share one.
    """

    ports: set[int] = field(default_factory=set)
    clocks: dict[int, dict[MediaClock, None]] = field(default_factory=dict)

    def add(self, message: RtspMessage) -> None:
        """Add what a message says."""
        self.ports.update(message.client_ports, message.server_ports)
        for clock in message.media_clocks:
            self.clocks.setdefault(clock.payload_type, {})[clock] = None

    def find(
        self, payload_type: int, measured_clock_hz: int | None, ports: Collection[int] | None
    ) -> MediaClock | None:
        """Return the description of a stream, or None.

        Of several, the one with the measured clock is taken. A stream within the RTSP connection
        has no ``ports``.
        """
        if ports is not None and self.ports and self.ports.isdisjoint(ports):
            return None
        found = list(self.clocks.get(payload_type, ()))
        agreeing = [clock for clock in found if clock.clock_hz == measured_clock_hz] or found
        return agreeing[-1] if agreeing else None


@dataclass(frozen=True)
class RtspMessage:
    """What is used of a request or a response.

    Attributes:
        method: Method of a request; None for a response.
        status: Status code of a response; None for a request.
        sequence: CSeq, which joins a response to its request.
        media_clocks: Payload types of an SDP body.
    """

    method: str | None = None
    status: int | None = None
    sequence: int | None = None
    uri: str | None = None
    client_ports: tuple[int, ...] = ()
    server_ports: tuple[int, ...] = ()
    interleaved_channels: tuple[int, ...] = ()
    media_clocks: tuple[MediaClock, ...] = field(default=())


def parse_rtsp(text: bytes) -> RtspMessage | None:
    """Parse a message as far as it was captured; None if its first line is not RTSP's."""
    head, _, body = text.decode("utf-8", errors="replace").partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    request, response = _REQUEST.match(first), _RESPONSE.match(first)
    if not (request or response):
        return None
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    transport = headers.get("transport", "")
    return RtspMessage(
        method=request.group(1) if request and not response else None,
        status=int(response.group(1)) if response else None,
        sequence=_whole_number(headers.get("cseq", ""), maximum=0xFFFFFFFF),
        uri=request.group(2) if request and not response else None,
        client_ports=_range(transport, "client_port", maximum=0xFFFF),
        server_ports=_range(transport, "server_port", maximum=0xFFFF),
        interleaved_channels=_range(transport, "interleaved", maximum=0xFF),
        media_clocks=parse_media_clocks(body),
    )


def _whole_number(text: str, *, maximum: int) -> int | None:
    """Return a number that a header holds, or None if it is invalid or out of range."""
    if not text.isascii() or not text.isdigit() or len(text) > 20 or int(text) > maximum:
        return None
    return int(text)


def _range(transport: str, name: str, *, maximum: int) -> tuple[int, ...]:
    """Return the numbers of a parameter such as ``client_port=5000-5001``."""
    found = re.search(rf"\b{name}=(\d{{1,6}})(?:-(\d{{1,6}}))?", transport)
    if not found:
        return ()
    return tuple(
        number for number in (int(part) for part in found.groups() if part) if number <= maximum
    )


def parse_media_clocks(sdp: str) -> tuple[MediaClock, ...]:
    """Return the payload types that a session description names, with their clocks."""
    clocks: dict[MediaClock, None] = {}
    media, formats, mapped = "unknown", list[int](), set[int]()
    for line in [*sdp.splitlines(), "m=end 0 x"]:
        if found := _MEDIA.match(line):
            unmapped = [
                number for number in formats if number not in mapped and number in STATIC_CLOCK_HZ
            ]
            clocks.update(
                (_clock(media, number, STATIC_CLOCK_HZ[number]), None) for number in unmapped
            )
            media, mapped = found.group(1), set()
            formats = [
                int(part)
                for part in found.group(2).split()
                if part.isascii() and part.isdigit() and len(part) < 4
            ]
        elif (
            (found := _RTPMAP.match(line))
            and int(found.group(1)) < 128
            and 0 < int(found.group(2)) <= 0xFFFFFFFF
        ):
            clocks[_clock(media, int(found.group(1)), int(found.group(2)))] = None
            mapped.add(int(found.group(1)))
        if len(clocks) > _MOST_CLOCKS:
            break
    return tuple(clocks)


@lru_cache(maxsize=4096)
def _clock(media: str, payload_type: int, clock_hz: int) -> MediaClock:
    """Return a clock, the same one for the same values: a capture says them again and again."""
    return MediaClock(media, payload_type, clock_hz)
