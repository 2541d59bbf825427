"""What every reader of foreign traces shares: options, the shape of a reader, what was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from trafficgen.capture.traces.text import TextFile
from trafficgen.errors import PacketTableError
from trafficgen.tables import PacketTable

SizeKind = Literal["ip", "frame", "payload"]
SizeUnit = Literal["bytes", "bits"]
TransportName = Literal["udp", "tcp"]
SIZE_KINDS: tuple[SizeKind, ...] = get_args(SizeKind)
SIZE_UNITS: tuple[SizeUnit, ...] = get_args(SizeUnit)
TRANSPORTS: tuple[TransportName, ...] = get_args(TransportName)

#: Longest packet that is taken for one, bytes: what capture tools take as a whole frame.
LARGEST_PACKET_BYTES = 262_144
#: More packets than a table in memory should have; a frame trace could ask for any number.
MOST_PACKETS = 200_000_000


@dataclass(frozen=True)
class TraceOptions:
    """What a trace does not say; None leaves it to the format.

    Attributes:
        frame_rate_fps: Frames in a second, where the trace has no times.
        payload_bytes: Largest part of a frame that a packet carries, bytes.
        sizes: What the sizes are of: IP packets, frames on the wire or transport payloads.
        size_unit: What the sizes of a frame trace count.
        line_rate_bps: Rate at which packets of a frame follow one another, bit/s of IP bytes; None:
            all at once.
        rtp: Whether frames travel in RTP packets.
        protocol: Transport protocol of the packets.
    """

    frame_rate_fps: float | None = None
    payload_bytes: int | None = None
    sizes: SizeKind | None = None
    size_unit: SizeUnit | None = None
    line_rate_bps: float | None = None
    rtp: bool | None = None
    protocol: TransportName | None = None


@dataclass(frozen=True)
class ReadTrace:
    """A trace that was read.

    Attributes:
        table: Its packets.
        format: Name of its format.
        records: Lines or rows that were understood.
        unread: Lines or rows that were not.
        first_unread: Number of the first of these, from 1; None where there is none.
        doubts: What a reader of results should know, a sentence each.
        assumptions: What was assumed where the trace says nothing, a sentence each.
    """

    table: PacketTable
    format: str
    records: int
    unread: int = 0
    first_unread: int | None = None
    doubts: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


@dataclass
class Notes:
    """Collects what a reader has to say about a trace."""

    doubts: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class TraceFormat:
    """One format of traces.

    Attributes:
        name: Name on the command line.
        description: What is in such a file, for people.
        looks_like: Whether a file is in this format, from its first lines that are neither empty
            nor comments.
        read: The reader.
        takes: Options of :class:`TraceOptions` that it takes.
    """

    name: str
    description: str
    looks_like: Callable[[Sequence[str]], bool]
    read: Callable[[TextFile, TraceOptions], ReadTrace]
    takes: tuple[str, ...] = ()


def nothing_readable(file: TextFile, what: str, remedy: str) -> PacketTableError:
    """Return the error of a file without a single readable line, which names the first line there
    is.
    """
    number, line = file.first_content()
    shown = f"line {number}: {line[:40]!r} is no {what}" if number else "is empty"
    return PacketTableError(file=file.name, problem=shown, remedy=remedy)


def counted(count: int, what: str) -> str:
    """Return a count with its noun: ``1 line``, ``3 lines``."""
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"
