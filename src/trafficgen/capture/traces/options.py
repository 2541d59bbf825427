"""Options of `trafficgen convert` that say what a trace does not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from trafficgen.options import list_options, option
from trafficgen.units import parse_positive, rate_from_text

SizeKind = Literal["ip", "frame", "payload"]
SizeUnit = Literal["bytes", "bits"]
TransportName = Literal["udp", "tcp"]
SIZE_KINDS: tuple[SizeKind, ...] = get_args(SizeKind)
SIZE_UNITS: tuple[SizeUnit, ...] = get_args(SizeUnit)
TRANSPORTS: tuple[TransportName, ...] = get_args(TransportName)


def parse_line_rate(text: str) -> float:
    """Return the bit/s of a rate such as ``10Mbps``; raise ValueError for any other text."""
    rate_bps = rate_from_text(text)
    if rate_bps is None or math.isinf(rate_bps):
        raise ValueError(f"Invalid rate {text!r}. Use a rate such as 10Mbps.")
    return rate_bps


@dataclass(frozen=True, kw_only=True)
class TraceOptions:
    """What a trace does not say; None leaves it to the format."""

    frame_rate_fps: float | None = option(
        None,
        "--frame-rate",
        help="Frames per second, for traces without times.",
        metavar="FPS",
        parse=parse_positive,
    )
    payload_bytes: int | None = option(
        None,
        "--payload-bytes",
        help="Most bytes of a frame in one packet; default: fills IP packets of 1500 bytes.",
        metavar="BYTES",
        low=0,
    )
    sizes: SizeKind | None = option(
        None,
        "--sizes",
        help="Part of a packet that sizes count, if a list does not say it; default: ip.",
        metavar="|".join(SIZE_KINDS),
        parse=str,
    )
    size_unit: SizeUnit | None = option(
        None,
        "--size-unit",
        help="Unit of frame sizes; default: bytes.",
        metavar="|".join(SIZE_UNITS),
        parse=str,
    )
    line_rate_bps: float | None = option(
        None,
        "--line-rate",
        help="Rate at which the packets of a frame are sent, such as 10Mbps; default: all at once.",
        metavar="RATE",
        parse=parse_line_rate,
    )
    rtp: bool | None = option(
        None,
        "--rtp/--no-rtp",
        help="Whether frames travel in RTP packets; default: those of video traces do.",
    )
    protocol: TransportName | None = option(
        None,
        "--protocol",
        help="Protocol of a packet list or D-ITG log that names none; default: udp.",
        metavar="|".join(TRANSPORTS),
        parse=str,
    )


#: Names on the command line of the fields of :class:`TraceOptions`.
OPTION_FLAGS = {
    one.name: declared.flags[0].partition("/")[0] for one, declared in list_options(TraceOptions)
}
