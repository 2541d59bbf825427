"""What a reader of foreign traces declares, takes and returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.text import TextFile
from trafficgen.errors import PacketTableError
from trafficgen.tables import PacketTable

#: Longest packet that is believed, bytes: what capture tools take as a whole frame.
LARGEST_PACKET_BYTES = 262_144
#: Most packets that a table in memory should have; a frame trace could ask for any number.
MOST_PACKETS = 200_000_000


@dataclass(frozen=True)
class ReadTrace:
    """A trace that was read.

    Attributes:
        table: Its packets.
        format: Name of its format.
        records: Number of lines or rows that were understood.
        unread: Number of lines or rows that were not.
        first_unread: Number of the first of these, from 1; None if all were understood.
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
    """Collects doubts and assumptions of a reader."""

    doubts: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class TraceFormat:
    """One format of traces.

    Attributes:
        name: Name on the command line: that of its module, with hyphens.
        description: What is in such a file, for people.
        looks_like: Whether a file is in this format, from its first lines that are neither empty
            nor comments.
        read: The reader.
        place: Files are tried in ascending order of places: formats whose lines could be those of
            another come later.
        takes: Fields of :class:`TraceOptions` that it takes.
    """

    name: str
    description: str
    looks_like: Callable[[Sequence[str]], bool]
    read: Callable[[TextFile, TraceOptions], ReadTrace]
    place: int
    takes: tuple[str, ...] = ()


def nothing_readable(file: TextFile, what: str, remedy: str) -> PacketTableError:
    """Return the error of a file without a readable line, which shows the first line there is."""
    number, line = file.first_content()
    shown = f"line {number}: {line[:40]!r} is no {what}" if number else "is empty"
    return PacketTableError(file=file.name, problem=shown, remedy=remedy)


def count_text(count: int, what: str) -> str:
    """Return a count with its noun: ``1 line``, ``3 lines``."""
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"
